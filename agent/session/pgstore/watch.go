// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// watchers are those who wait for changes of sessions, and the changes that other processes are to be told of.
type watchers struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	changes map[string]bool
	tell    chan struct{} // has an element if there are changes
}

// wait returns a channel that is closed with the next change of a session that this process hears of.
func (w *watchers) wait(id string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.waiting[id]
	if c == nil {
		c = make(chan struct{})
		w.waiting[id] = c
	}
	return c
}

// wake wakes those who wait for a session.
func (w *watchers) wake(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.waiting[id]; c != nil {
		close(c)
		delete(w.waiting, id)
	}
}

// wakeAll wakes all, because changes may have been missed.
func (w *watchers) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, c := range w.waiting {
		close(c)
		delete(w.waiting, id)
	}
}

// changed tells this process of a change, and has the others told.
func (s *Store) changed(id string) {
	s.watchers.wake(id)
	s.watchers.mu.Lock()
	if s.watchers.changes == nil {
		s.watchers.changes = map[string]bool{}
	}
	s.watchers.changes[id] = true
	s.watchers.mu.Unlock()
	select {
	case s.watchers.tell <- struct{}{}:
	default:
	}
}

// quiet is how long changes are collected before others are told.
const quiet = 5 * time.Millisecond

// notify tells other processes of changes until ctx ends. Many changes share a transaction. What cannot be told is found by polling.
func (s *Store) notify(ctx context.Context) {
	for {
		select {
		case <-s.watchers.tell:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(quiet):
		case <-ctx.Done(): // the last changes are told, too
		}
		s.watchers.mu.Lock()
		ids := slices.Collect(maps.Keys(s.watchers.changes))
		s.watchers.changes = nil
		s.watchers.mu.Unlock()
		for i, id := range ids {
			ids[i] = toText(id)
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		// Notifications are not worth a wait for the disk.
		_, _ = s.pool.Exec(bounded, "SELECT set_config('synchronous_commit', 'off', true), (SELECT count(pg_notify($1, id)) FROM unnest($2::text[]) id)", s.presence.channel, ids)
		cancel()
	}
}

// Watch implements [session.Watcher].
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		var first int64
		poll := time.NewTicker(s.options.Poll)
		defer poll.Stop()
		for {
			changed := s.watchers.wait(id)
			var num, head int64
			err := s.try(ctx, func() (err error) {
				num, head, _, err = s.find(ctx, id, 1<<62)
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
