// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/internal/stores"
)

// patience is how long a store may take to open. A server that does not answer must not keep an
// editor waiting.
const patience = 10 * time.Second

// lazyStore is the store of a place, which is opened when it is needed first. While it cannot be
// opened, new sessions are kept in memory and everything else fails with the reason. Each request
// tries again.
type lazyStore struct {
	name    string // of the program
	connect func(context.Context) (sessions.Store, func() error, error)
	local   string      // of what this machine keeps beside the sessions, empty if there is none
	tell    func(error) // is called with the reason when a session is kept in memory

	background context.Context // of what goes on without a request
	stop       func()          // ends it
	ended      sync.WaitGroup

	mu      sync.Mutex
	opened  sessions.Store
	done    func() error // closes it
	opening *opening     // nil if nobody waits for the store
	closed  bool
	memory  *sessions.Memory // nil until a session is kept there
}

// opening is an attempt to open the store. Requests that come meanwhile wait for it, too.
type opening struct {
	done  chan struct{}
	store sessions.Store
	err   error
}

var _ sessions.Store = (*lazyStore)(nil)
var _ sessions.Watcher = (*lazyStore)(nil)

// newStore returns a store that is opened by a function, which also returns what closes it.
func newStore(
	name string, open func(context.Context) (sessions.Store, func() error, error),
	local string, tell func(error),
) *lazyStore {
	s := &lazyStore{name: name, connect: open, local: local, tell: tell}
	s.background, s.stop = context.WithCancel(context.Background())
	return s
}

// open returns the store of the place.
func (s *lazyStore) open(ctx context.Context) (sessions.Store, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, &sessions.Error{Op: "open", Err: sessions.ErrClosed}
	}
	if s.opened != nil {
		defer s.mu.Unlock()
		return s.opened, nil
	}
	if s.opening == nil {
		o := &opening{done: make(chan struct{})}
		s.opening = o
		s.ended.Go(func() { s.attempt(o) })
	}
	o := s.opening
	s.mu.Unlock()
	select {
	case <-o.done:
		return o.store, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// attempt opens the store.
func (s *lazyStore) attempt(o *opening) {
	store, done, err := s.connect(s.background)
	s.mu.Lock()
	closed := s.closed
	if err == nil && !closed {
		s.opened, s.done = store, done
	}
	s.opening = nil
	s.mu.Unlock()
	if err == nil && closed {
		_ = done()
		err = &sessions.Error{Op: "open", Err: sessions.ErrClosed}
	}
	o.store, o.err = store, err
	close(o.done)
	if err == nil {
		forgetGone(s.background, store, s.local)
	}
}

// openWithin opens the store of a place, if that does not take too long.
func openWithin(ctx context.Context, place stores.Place) (sessions.Store, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store, err := place.Open(bounded)
	switch {
	case err != nil && ctx.Err() == nil && bounded.Err() != nil:
		err = &sessions.Error{Op: "open", Err: fmt.Errorf(
			"%w: no answer within %v", sessions.ErrUnavailable, patience,
		)}
	case errors.Is(err, sessions.ErrInvalid): // the address is, and not what an editor has asked for
		err = &sessions.Error{Op: "open", Err: errors.New(strings.TrimPrefix(err.Error(), "session: open: "))}
	}
	return store, err
}

// of returns the store that has a session.
func (s *lazyStore) of(ctx context.Context, id string) (sessions.Store, error) {
	s.mu.Lock()
	memory := s.memory
	s.mu.Unlock()
	if memory != nil {
		if _, err := memory.Get(ctx, id); !errors.Is(err, sessions.ErrNotFound) {
			return memory, nil
		}
	}
	return s.open(ctx)
}

// Close closes the store if it has been opened.
func (s *lazyStore) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.ended.Wait()
	if s.opened == nil {
		return nil
	}
	return s.done()
}

// closeStore closes a store that can be closed.
func closeStore(store sessions.Store) error {
	if c, ok := store.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// beside returns the directory of what this machine keeps of a session, or "" if the session does
// not outlive the process.
func (s *lazyStore) beside(id string) string {
	s.mu.Lock()
	memory := s.memory
	s.mu.Unlock()
	if s.local == "" {
		return ""
	}
	if memory != nil {
		if _, err := memory.Get(context.Background(), id); err == nil {
			return ""
		}
	}
	return besideDir(s.local, id)
}

// Create implements [sessions.Store].
func (s *lazyStore) Create(ctx context.Context, n sessions.New) (sessions.Info, error) {
	opened, err := s.open(ctx)
	if err == nil {
		return opened.Create(ctx, n)
	}
	if errors.Is(err, sessions.ErrClosed) || ctx.Err() != nil {
		return sessions.Info{}, err
	}
	if s.tell != nil {
		s.tell(err)
	}
	s.mu.Lock()
	if s.memory == nil {
		s.memory = new(sessions.Memory)
	}
	memory := s.memory
	s.mu.Unlock()
	return memory.Create(ctx, n)
}

// List implements [sessions.Store]. Sessions in memory are not listed.
func (s *lazyStore) List(ctx context.Context, q sessions.Query) (sessions.Page, error) {
	opened, err := s.open(ctx)
	if err != nil {
		return sessions.Page{}, err
	}
	return opened.List(ctx, q)
}

// Get implements [sessions.Store].
func (s *lazyStore) Get(ctx context.Context, id string) (sessions.Info, error) {
	store, err := s.of(ctx, id)
	if err != nil {
		return sessions.Info{}, err
	}
	return store.Get(ctx, id)
}

// Update implements [sessions.Store].
func (s *lazyStore) Update(ctx context.Context, id string, c sessions.Change) (sessions.Info, error) {
	store, err := s.of(ctx, id)
	if err != nil {
		return sessions.Info{}, err
	}
	return store.Update(ctx, id, c)
}

// Fork implements [sessions.Store].
func (s *lazyStore) Fork(ctx context.Context, id string, at int64, n sessions.New) (sessions.Info, error) {
	store, err := s.of(ctx, id)
	if err != nil {
		return sessions.Info{}, err
	}
	return store.Fork(ctx, id, at, n)
}

// Delete implements [sessions.Store].
func (s *lazyStore) Delete(ctx context.Context, id string) error {
	store, err := s.of(ctx, id)
	if err != nil {
		return err
	}
	if err := store.Delete(ctx, id); err != nil {
		return err
	}
	return forgetBeside(s.local, sessions.Info{ID: id})
}

// Acquire implements [sessions.Store].
func (s *lazyStore) Acquire(ctx context.Context, id string, c sessions.Claim) (sessions.Lease, error) {
	store, err := s.of(ctx, id)
	if err != nil {
		return sessions.Lease{}, err
	}
	return store.Acquire(ctx, id, c)
}

// Release implements [sessions.Store].
func (s *lazyStore) Release(ctx context.Context, l sessions.Lease) error {
	store, err := s.of(ctx, l.Session)
	if err != nil {
		return err
	}
	return store.Release(ctx, l)
}

// Append implements [sessions.Store].
func (s *lazyStore) Append(ctx context.Context, l sessions.Lease, head int64, b sessions.Batch) (int64, error) {
	store, err := s.of(ctx, l.Session)
	if err != nil {
		return 0, err
	}
	return store.Append(ctx, l, head, b)
}

// Put implements [sessions.Inbox].
func (s *lazyStore) Put(ctx context.Context, id string, i sessions.Item) (sessions.Item, error) {
	store, err := s.of(ctx, id)
	if err != nil {
		return sessions.Item{}, err
	}
	return store.Put(ctx, id, i)
}

// Change implements [sessions.Inbox].
func (s *lazyStore) Change(
	ctx context.Context, id, item string, version int64, data json.RawMessage,
) (sessions.Item, error) {
	store, err := s.of(ctx, id)
	if err != nil {
		return sessions.Item{}, err
	}
	return store.Change(ctx, id, item, version, data)
}

// Items implements [sessions.Inbox].
func (s *lazyStore) Items(
	ctx context.Context, id string, after int64, kinds ...sessions.ItemKind,
) iter.Seq2[sessions.Item, error] {
	store, err := s.of(ctx, id)
	if err != nil {
		return func(yield func(sessions.Item, error) bool) { yield(sessions.Item{}, err) }
	}
	return store.Items(ctx, id, after, kinds...)
}

// Load implements [sessions.Store].
func (s *lazyStore) Load(ctx context.Context, id string, after int64) iter.Seq2[sessions.Entry, error] {
	store, err := s.of(ctx, id)
	if err != nil {
		return func(yield func(sessions.Entry, error) bool) { yield(sessions.Entry{}, err) }
	}
	return store.Load(ctx, id, after)
}

// Work implements [sessions.Watcher]. It opens the store.
func (s *lazyStore) Work(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		store, err := s.open(ctx)
		if watcher, ok := store.(sessions.Watcher); ok && err == nil {
			watcher.Work(ctx)(yield)
		} else if err != nil {
			yield("", err)
		}
	}
}

// Listen implements [sessions.Watcher]. It opens the store.
func (s *lazyStore) Listen(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		store, err := s.open(ctx)
		if err != nil {
			yield("", err)
			return
		}
		watcher, ok := store.(sessions.Watcher)
		if !ok {
			yield("", &sessions.Error{Op: "listen", Err: errors.ErrUnsupported})
			return
		}
		watcher.Listen(ctx)(yield)
	}
}

// Watch implements [sessions.Watcher].
func (s *lazyStore) Watch(ctx context.Context, id string, after int64) iter.Seq2[sessions.Entry, error] {
	store, err := s.of(ctx, id)
	if watcher, ok := store.(sessions.Watcher); ok && err == nil {
		return watcher.Watch(ctx, id, after)
	}
	if err == nil {
		err = fmt.Errorf("%s: session %s cannot be watched", s.name, id)
	}
	return func(yield func(sessions.Entry, error) bool) { yield(sessions.Entry{}, err) }
}
