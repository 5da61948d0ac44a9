// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"

	"github.com/ponte-go/ponte/agent/session"
)

const (
	// loadEntries and loadBytes bound what is read in one go.
	loadEntries = 256
	loadBytes   = 4 << 20
)

var errEnough = errors.New("enough")

// query calls scan for each row of a query that only reads.
func (s *Store) query(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case <-s.closed:
		return session.ErrClosed
	default:
	}
	var scanned int
	var failed error
	err := s.patiently(ctx, func() error {
		stmt, err := s.read(ctx, query)
		if err != nil {
			return err
		}
		rows, err := stmt.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		err = eachRow(rows, func(rows *sql.Rows) error {
			scanned++
			return scan(rows)
		})
		if scanned > 0 { // it cannot be tried again
			failed = err
			return nil
		}
		return err
	})
	return errors.Join(err, failed)
}

// read prepares a query that only reads.
func (s *Store) read(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	stmt := s.reads[query]
	s.mu.Unlock()
	if stmt != nil {
		return stmt, nil
	}
	stmt, err := s.readers.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads == nil || s.reads[query] != nil { // somebody was faster
		_ = stmt.Close()
		if s.reads == nil {
			return nil, session.ErrClosed
		}
		return s.reads[query], nil
	}
	s.reads[query] = stmt
	return stmt, nil
}

// find returns the row of a session.
func (s *Store) find(ctx context.Context, id string) (found *row, err error) {
	err = s.query(ctx, func(rows *sql.Rows) error {
		found, err = scanInfo(rows)
		return err
	}, "SELECT "+infoColumns+" FROM sessions WHERE id = ?", id)
	if err == nil && found == nil {
		err = session.ErrNotFound
	}
	return found, err
}

// segment is a part of a session's entries: the entries of one row with numbers greater than after
// and at most to.
type segment struct{ num, after, to int64 }

// segments returns where the entries of a session are after a position, the oldest first.
func (s *Store) segments(ctx context.Context, r *row, after int64) (all []segment, err error) {
	num, to, forkedAt := r.num, r.Head, r.ForkedAt
	for {
		if from := max(after, forkedAt); to > from {
			all = append(all, segment{num, from, to})
		}
		if forkedAt <= after {
			slices.Reverse(all)
			return all, nil
		}
		to = min(to, forkedAt)
		var parent sql.NullInt64
		err := s.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&parent) }, "SELECT parent FROM sessions WHERE num = ?", num)
		if err != nil {
			return nil, err
		}
		if !parent.Valid {
			return nil, session.ErrNotFound // it was deleted just now
		}
		num = parent.Int64
		if err := s.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&forkedAt) }, "SELECT forked_at FROM sessions WHERE num = ?", num); err != nil {
			return nil, err
		}
	}
}

// stored is an entry as it is in the database.
type stored struct {
	session.Entry
	num, sum int64
	media    sql.NullString
}

// Load implements [session.Store].
func (s *Store) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		r, err := s.find(ctx, id)
		var all []segment
		if err == nil {
			all, err = s.segments(ctx, r, after)
		}
		for _, part := range all {
			for more := true; more && err == nil; {
				var page []stored
				if page, more, err = s.page(ctx, &part); err != nil {
					break
				}
				for i := range page {
					if !s.yield(ctx, id, &page[i], yield) {
						return
					}
				}
			}
		}
		if err == nil {
			var again *row
			if again, err = s.find(ctx, id); err == nil && again.num != r.num {
				err = session.ErrNotFound // the one that was loaded is gone, and with it perhaps some of its entries
			}
		}
		if err != nil {
			yield(session.Entry{}, fail("load", id, s.dir, err))
		}
	}
}

// page reads entries of a segment, and makes it the rest. It reports whether there may be more.
func (s *Store) page(ctx context.Context, part *segment) (page []stored, more bool, err error) {
	size := 0
	err = s.query(ctx, func(rows *sql.Rows) error {
		if size > loadBytes {
			return errEnough
		}
		e := stored{num: part.num}
		var kind string
		var at int64
		var data []byte
		if err := rows.Scan(&e.Seq, &at, &kind, &e.Run, &e.Key, &e.sum, &e.media, &data); err != nil {
			return err
		}
		e.Time, e.Kind, e.Data = fromNano(at), session.Kind(kind), data
		part.after = e.Seq
		page = append(page, e)
		size += len(data)
		return nil
	}, "SELECT seq, time, kind, run, key, sum, media, data FROM entries WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq"+limit,
		part.num, part.after, part.to, loadEntries)
	if errors.Is(err, errEnough) {
		return page, true, nil
	}
	return page, len(page) == loadEntries, err
}

// yield yields an entry with all of its data. It reports whether the caller wants more.
func (s *Store) yield(ctx context.Context, id string, e *stored, yield func(session.Entry, error) bool) bool {
	if err := context.Cause(ctx); err != nil {
		yield(session.Entry{}, fail("load", id, s.dir, err))
		return false
	}
	err := s.fill(e)
	if err == nil && checksum(e.num, &e.Entry) != e.sum {
		err = errors.New("the checksum is wrong")
	}
	if err != nil {
		return yield(session.Entry{Seq: e.Seq}, &session.Error{
			Op: "load", Session: id, Seq: e.Seq, Err: errors.Join(session.ErrCorrupt, err),
		})
	}
	return yield(e.Entry, nil)
}

// watcher is shared by the watchers of one session.
type watcher struct {
	watches int
	changed chan struct{} // is closed with the next change that this process hears of
}

// join registers a watcher of a session, until leave is called. watched returns the channel that is
// closed with the next change.
func (s *Store) join(id string) (watched func() <-chan struct{}, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watchers[id]
	if w == nil {
		w = &watcher{changed: make(chan struct{})}
		s.watchers[id] = w
	}
	w.watches++
	return func() <-chan struct{} {
			s.mu.Lock()
			defer s.mu.Unlock()
			return w.changed
		}, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if w.watches--; w.watches == 0 {
				delete(s.watchers, id)
			}
		}
}

func (w *watcher) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Watch implements [session.Watcher]. Entries that other processes append are found when the
// options' time to poll is over.
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		r, err := s.find(ctx, id)
		if err != nil {
			yield(session.Entry{}, fail("watch", id, s.dir, err))
			return
		}
		unfollow, err := s.follow(ctx)
		if err != nil {
			yield(session.Entry{}, fail("watch", id, s.dir, err))
			return
		}
		defer unfollow()
		watched, leave := s.join(id)
		defer leave()
		for {
			changed := watched()
			again, err := s.find(ctx, id)
			if err == nil && again.num != r.num {
				err = session.ErrNotFound
			}
			if err != nil {
				yield(session.Entry{}, fail("watch", id, s.dir, err))
				return
			}
			if again.Head > after {
				for e, err := range s.Load(ctx, id, after) {
					if !yield(e, err) || err != nil && e.Seq == 0 {
						return
					}
					after = e.Seq
				}
			}
			select {
			case <-changed:
			case <-s.closed:
				yield(session.Entry{}, fail("watch", id, s.dir, session.ErrClosed))
				return
			case <-ctx.Done():
				yield(session.Entry{}, fail("watch", id, s.dir, context.Cause(ctx)))
				return
			}
		}
	}
}
