// SPDX-License-Identifier: Apache-2.0

// Package mortal has a store for tests whose process ends in the middle of its work. What it has
// written stays in memory, for the processes that come after it.
package mortal

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"

	"github.com/ponte-go/ponte/agent/session"
)

// ErrDead is the error of all methods after the end of the process. It is not
// [session.ErrUnavailable], whose end is waited for.
var ErrDead = fmt.Errorf("mortal: the process has ended: %w", session.ErrClosed)

// Store is the store as one process sees it. Until [Store.Kill] it works like the memory that it is
// for. Its methods are safe for concurrent use.
type Store struct {
	*session.Memory

	mu     sync.Mutex
	armed  bool
	left   int
	leases map[string]session.Lease
	dead   bool
	ended  chan struct{}
}

// New returns the store of a process.
func New(m *session.Memory) *Store {
	return &Store{Memory: m, leases: map[string]session.Lease{}, ended: make(chan struct{})}
}

// Kill ends the process in a later write: the entries, items or values are stored, and nobody
// learns that. 1 is the next one.
func (s *Store) Kill(write int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.left = true, write
}

// Dead returns a channel that is closed when the process ends.
func (s *Store) Dead() <-chan struct{} { return s.ended }

// IsDead reports whether the process has ended.
func (s *Store) IsDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

func (s *Store) check() error {
	if s.IsDead() {
		return ErrDead
	}
	return nil
}

// wrote counts a write. The lease of a process that has ended is free.
func (s *Store) wrote() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.armed || s.dead {
		return nil
	}
	if s.left--; s.left > 0 {
		return nil
	}
	s.dead = true
	close(s.ended)
	for _, l := range s.leases {
		_ = s.Memory.Release(context.Background(), l)
	}
	return ErrDead
}

func written[T any](s *Store, write func() (T, error)) (T, error) {
	if err := s.check(); err != nil {
		var none T
		return none, err
	}
	v, err := write()
	if err == nil {
		err = s.wrote()
	}
	return v, err
}

// Append implements [session.Store].
func (s *Store) Append(
	ctx context.Context, l session.Lease, head int64, b session.Batch,
) (int64, error) {
	return written(s, func() (int64, error) { return s.Memory.Append(ctx, l, head, b) })
}

// Update implements [session.Store].
func (s *Store) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	return written(s, func() (session.Info, error) { return s.Memory.Update(ctx, id, c) })
}

// Put implements [session.Inbox].
func (s *Store) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	return written(s, func() (session.Item, error) { return s.Memory.Put(ctx, id, i) })
}

// Change implements [session.Inbox].
func (s *Store) Change(
	ctx context.Context, id, item string, version int64, data json.RawMessage,
) (session.Item, error) {
	return written(s, func() (session.Item, error) {
		return s.Memory.Change(ctx, id, item, version, data)
	})
}

// Get implements [session.Store].
func (s *Store) Get(ctx context.Context, id string) (session.Info, error) {
	if err := s.check(); err != nil {
		return session.Info{}, err
	}
	return s.Memory.Get(ctx, id)
}

// Acquire implements [session.Store].
func (s *Store) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return session.Lease{}, ErrDead
	}
	l, err := s.Memory.Acquire(ctx, id, c)
	if err == nil {
		s.leases[id] = l
	}
	return l, err
}

// Release implements [session.Store].
func (s *Store) Release(ctx context.Context, l session.Lease) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.Memory.Release(ctx, l)
}

// Work implements [session.Watcher]. It yields every session that nobody holds.
func (s *Store) Work(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if s.IsDead() {
			return
		}
		page, err := s.List(ctx, session.Query{})
		if err != nil {
			yield("", err)
			return
		}
		for i := range page.Sessions {
			if one := &page.Sessions[i]; one.Holder == "" && one.Head > 0 && !yield(one.ID, nil) {
				return
			}
		}
	}
}
