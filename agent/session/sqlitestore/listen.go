// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// markChanged notes which sessions the transaction has changed, for other processes.
func (q *queries) markChanged() error {
	if len(q.touched) == 0 {
		return nil
	}
	var n int64
	err := q.row("UPDATE state SET changed = changed + 1 RETURNING changed").Scan(&n)
	if err == nil && q.deleted {
		err = q.exec("UPDATE state SET deleted = ?", n)
	}
	ids := slices.Clone(q.touched)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err == nil {
			err = q.exec("UPDATE sessions SET changed = ? WHERE id = ?", n, id)
		}
	}
	return err
}

// poller looks for changes by other processes while somebody wants to know of them.
type poller struct {
	mu      sync.Mutex
	users   int
	stop    context.CancelFunc
	running sync.WaitGroup
}

// counters are what the table of the state says of changes.
type counters struct{ changed, deleted int64 }

// follow has changes by other processes told, all that come after it has returned, until leave is
// called.
func (s *Store) follow(ctx context.Context) (leave func(), err error) {
	p := &s.polls
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == 0 {
		var at counters
		err := s.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&at.changed, &at.deleted) }, stateQuery)
		if err != nil {
			return nil, err
		}
		background, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p.stop = cancel
		p.running.Go(func() { s.poll(background, at) })
	}
	p.users++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.users--; p.users == 0 {
			p.stop()
		}
	}, nil
}

const stateQuery = "SELECT changed, deleted FROM state"

// poll tells of changes until ctx ends. A connection's data_version says at next to no cost
// whether any other connection has committed something.
func (s *Store) poll(ctx context.Context, at counters) {
	every := time.NewTicker(s.options.Poll)
	defer every.Stop()
	var conn *sql.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	version := int64(-1)
	for {
		select {
		case <-every.C:
		case <-s.closed:
			return
		case <-ctx.Done():
			return
		}
		if conn == nil {
			var err error
			if conn, err = s.readers.Conn(ctx); err != nil {
				conn = nil
				continue
			}
		}
		var now int64
		if err := conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now); err != nil {
			_ = conn.Close()
			conn, version = nil, -1
			continue
		}
		if now == version {
			continue
		}
		if next, err := s.tell(ctx, at); err == nil {
			at, version = next, now
		}
	}
}

// tell tells of the changes after a position, and returns the next one.
func (s *Store) tell(ctx context.Context, at counters) (next counters, err error) {
	err = s.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&next.changed, &next.deleted) }, stateQuery)
	if err != nil || next == at {
		return next, err
	}
	if next.deleted > at.deleted {
		s.changedAll()
		return next, nil
	}
	var ids []string
	err = s.query(ctx, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT id FROM sessions WHERE changed > ? AND id IS NOT NULL", at.changed)
	if err == nil {
		s.changed(ids)
	}
	return next, err
}

// changed tells this process of sessions that have changed.
func (s *Store) changed(ids []string) {
	s.board.Tell(ids...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if w := s.watchers[id]; w != nil {
			w.wake()
		}
	}
}

// changedAll tells this process that any session may have changed.
func (s *Store) changedAll() {
	s.board.Tell("")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchers {
		w.wake()
	}
}

// Listen implements [session.Watcher]. Changes by other processes are found when the options'
// time to poll is over.
func (s *Store) Listen(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		leave, err := s.follow(ctx)
		if err != nil {
			yield("", fail("listen", "", s.dir, err))
			return
		}
		defer leave()
		s.board.Listen(ctx, s.closed, func(err error) error {
			return fail("listen", "", s.dir, cmp.Or(err, session.ErrClosed))
		})(yield)
	}
}

// Work implements [session.Watcher].
func (s *Store) Work(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var ids []string
		alive := map[string]bool{}
		err := s.query(ctx, func(rows *sql.Rows) error {
			var id, instance string
			if err := rows.Scan(&id, &instance); err != nil {
				return err
			}
			there, ok := alive[instance]
			if !ok {
				there = s.holders.alive(instance)
				alive[instance] = there
			}
			if !there {
				ids = append(ids, id)
			}
			return nil
		}, `SELECT id, instance FROM sessions WHERE instance <> '' AND id IS NOT NULL
			UNION SELECT id, instance FROM sessions WHERE waiting > 0 AND id IS NOT NULL`)
		for _, id := range ids {
			if err == nil && !yield(id, nil) {
				return
			}
		}
		if err != nil {
			yield("", fail("work", "", s.dir, err))
		}
	}
}
