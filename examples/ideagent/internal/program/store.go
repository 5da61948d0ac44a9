// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// storeDir returns the directory of the sessions: what the flag says, or a directory for the user's state.
func storeDir(given string, env environment) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) { // the specification has other values ignored
		return filepath.Join(dir, "ideagent", "sessions"), nil
	}
	if dir := env("LocalAppData"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "ideagent", "sessions"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no directory for sessions: %w: use -store DIR", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "ideagent", "sessions"), nil
	}
	return filepath.Join(home, ".local", "state", "ideagent", "sessions"), nil
}

// lazyStore is the store in a directory, which is opened when it is needed first. While it cannot be opened, new sessions are kept in memory
// and everything else fails with the reason. Each request tries again.
type lazyStore struct {
	dir string
	// tell is called with the reason when a session is kept in memory. It may be nil.
	tell func(error)

	mu     sync.Mutex
	opened *sqlitestore.Store
	closed bool
	memory *sessions.Memory // nil until a session is kept there
}

var _ sessions.Store = (*lazyStore)(nil)
var _ sessions.Watcher = (*lazyStore)(nil)

// open returns the store of the directory.
func (s *lazyStore) open() (*sqlitestore.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened != nil {
		return s.opened, nil
	}
	if s.closed {
		return nil, &sessions.Error{Op: "open", Err: sessions.ErrClosed}
	}
	opened, err := sqlitestore.Open(s.dir, sqlitestore.Options{})
	if err != nil {
		return nil, err
	}
	s.opened = opened
	return opened, nil
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
	return s.open()
}

// Close closes the store if it has been opened.
func (s *lazyStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.opened == nil {
		return nil
	}
	return s.opened.Close()
}

// Create implements [sessions.Store].
func (s *lazyStore) Create(ctx context.Context, n sessions.New) (sessions.Info, error) {
	opened, err := s.open()
	if err == nil {
		return opened.Create(ctx, n)
	}
	if errors.Is(err, sessions.ErrClosed) {
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
	opened, err := s.open()
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
	return forgetUndo(s.dir, sessions.Info{ID: id})
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
func (s *lazyStore) Append(ctx context.Context, l sessions.Lease, head int64, entries ...sessions.Entry) (int64, error) {
	store, err := s.of(ctx, l.Session)
	if err != nil {
		return 0, err
	}
	return store.Append(ctx, l, head, entries...)
}

// Load implements [sessions.Store].
func (s *lazyStore) Load(ctx context.Context, id string, after int64) iter.Seq2[sessions.Entry, error] {
	store, err := s.of(ctx, id)
	if err != nil {
		return func(yield func(sessions.Entry, error) bool) { yield(sessions.Entry{}, err) }
	}
	return store.Load(ctx, id, after)
}

// Watch implements [sessions.Watcher].
func (s *lazyStore) Watch(ctx context.Context, id string, after int64) iter.Seq2[sessions.Entry, error] {
	store, err := s.of(ctx, id)
	if watcher, ok := store.(sessions.Watcher); ok && err == nil {
		return watcher.Watch(ctx, id, after)
	}
	if err == nil {
		err = fmt.Errorf("ideagent: session %s cannot be watched", id)
	}
	return func(yield func(sessions.Entry, error) bool) { yield(sessions.Entry{}, err) }
}
