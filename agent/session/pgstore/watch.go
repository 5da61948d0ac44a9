// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/hear"
)

// watchers holds the watchers of sessions, and the changes to report to other processes.
type watchers struct {
	mu      sync.Mutex
	waiting map[string]*waiter
	changes map[string]bool
	board   hear.Board
	tell    chan struct{} // has an element if there are changes
}

// waiter is shared by the watchers of one session.
type waiter struct {
	watches int
	changed chan struct{} // is closed with the next change
}

// join registers a watcher of a session, until leave is called.
func (w *watchers) join(id string) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.waiting[id]
	if one == nil {
		if w.waiting == nil {
			w.waiting = map[string]*waiter{}
		}
		one = &waiter{changed: make(chan struct{})}
		w.waiting[id] = one
	}
	one.watches++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if one.watches--; one.watches == 0 {
			delete(w.waiting, id)
		}
	}
}

// wait returns a channel that is closed with the next change of a session that this process hears
// of. The caller has joined.
func (w *watchers) wait(id string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting[id].changed
}

// wake wakes those who wait for a session.
func (w *watchers) wake(id string) {
	w.board.Tell(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.waiting[id]; one != nil {
		one.wake()
	}
}

// wakeAll wakes all, because changes may have been missed.
func (w *watchers) wakeAll() {
	w.board.Tell("")
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.waiting {
		one.wake()
	}
}

func (w *waiter) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// changed tells this process of a change, and has the others told.
func (s *Store) changed(id string) {
	s.watchers.wake(id)
	s.watchers.tellOf(id)
}

// tellOf notes sessions of which others are to be told.
func (w *watchers) tellOf(ids ...string) {
	w.mu.Lock()
	if w.changes == nil {
		w.changes = map[string]bool{}
	}
	for _, id := range ids {
		w.changes[id] = true
	}
	w.mu.Unlock()
	select {
	case w.tell <- struct{}{}:
	default:
	}
}

// take returns the sessions of which others are to be told.
func (w *watchers) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := slices.Collect(maps.Keys(w.changes))
	w.changes = nil
	return ids
}

const (
	// quiet is how long changes are collected before others are told.
	quiet = 5 * time.Millisecond
	// again is how long it takes until changes are told again that could not be told.
	again = 100 * time.Millisecond
)

// notify tells other processes of changes until ctx ends, those before that included. Many changes
// share a transaction.
func (s *Store) notify(ctx context.Context) {
	for wait := quiet; ; {
		select {
		case <-s.watchers.tell:
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		ids := s.watchers.take()
		wait = quiet
		if err := s.tell(ctx, ids); err != nil {
			s.watchers.tellOf(ids...)
			wait = again
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// tell tells other processes of changes.
func (s *Store) tell(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = toText(id)
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	// Notifications are not worth a wait for the disk.
	_, err := s.pool.Exec(bounded, "SELECT set_config('synchronous_commit', 'off', true), (SELECT count(pg_notify($1, id)) FROM unnest($2::text[]) id)", s.presence.channel, texts)
	return err
}

// Listen implements [session.Watcher]. If the connection that tells of changes is lost, any
// session may have changed when it is back.
func (s *Store) Listen(ctx context.Context) iter.Seq2[string, error] {
	return s.watchers.board.Listen(ctx, s.closed, func(err error) error {
		return fail("listen", "", cmp.Or(err, session.ErrClosed))
	})
}

// Work implements [session.Watcher].
func (s *Store) Work(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var ids []string
		err := s.read(ctx, func(ctx context.Context) error {
			rows, err := s.pool.Query(ctx, s.sql.work)
			if err == nil {
				ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
			}
			return err
		})
		for _, id := range ids {
			if err == nil && !yield(fromText(id), nil) {
				return
			}
		}
		if err != nil {
			yield("", fail("work", "", err))
		}
	}
}

// Watch implements [session.Watcher].
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		var first int64
		poll := time.NewTicker(s.options.Poll)
		defer poll.Stop()
		defer s.watchers.join(id)()
		for {
			changed := s.watchers.wait(id)
			var num, head int64
			err := s.read(ctx, func(ctx context.Context) (err error) {
				num, head, _, err = s.find(ctx, id, math.MaxInt64)
				return err
			})
			if first == 0 {
				first = num
			}
			if err == nil && num != first {
				err = session.ErrNotFound
			}
			if err != nil {
				yield(session.Entry{}, fail("watch", id, err))
				return
			}
			if head > after {
				for e, err := range s.Load(ctx, id, after) {
					if err != nil {
						err = fail("watch", id, err)
					}
					if !yield(e, err) || err != nil {
						return
					}
					after = e.Seq
				}
			}
			select {
			case <-changed:
			case <-poll.C:
			case <-s.closed:
				yield(session.Entry{}, fail("watch", id, session.ErrClosed))
				return
			case <-ctx.Done():
				yield(session.Entry{}, fail("watch", id, context.Cause(ctx)))
				return
			}
		}
	}
}
