// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// maxBatch is how many operations share a transaction, and so a sync.
const maxBatch = 256

// op is an operation that writes.
type op struct {
	ctx context.Context
	// soft is set if the operation need not be synced.
	soft bool
	// alone is set if the operation runs outside of a transaction.
	alone bool
	do    func(q *queries) error
	// taken is set once the operation is under way, or its caller has given up.
	taken atomic.Bool
	// waited is set if the writer's last attempt had to wait for another process.
	waited atomic.Bool
	// mine is set once the writer has taken it.
	mine bool
	err  error
	done chan struct{}
}

// do has an operation done by the writer's goroutine, and returns when what it wrote is as durable
// as it must be. fn may be called several times, and only the last call counts.
func (s *Store) do(ctx context.Context, name, id string, soft bool, fn func(q *queries) error) error {
	return s.submit(name, id, &op{ctx: ctx, soft: soft, do: fn, done: make(chan struct{})})
}

func (s *Store) submit(name, id string, o *op) error {
	if err := context.Cause(o.ctx); err != nil {
		return &session.Error{Op: name, Session: id, Err: err}
	}
	select {
	case <-s.closed:
		return &session.Error{Op: name, Session: id, Err: session.ErrClosed}
	default:
	}
	select {
	case s.queue <- o:
	case <-o.ctx.Done():
		return &session.Error{Op: name, Session: id, Err: context.Cause(o.ctx)}
	case <-s.closed:
		return &session.Error{Op: name, Session: id, Err: session.ErrClosed}
	}
	select {
	case <-o.done:
	case <-o.ctx.Done():
		if o.taken.CompareAndSwap(false, true) {
			err := context.Cause(o.ctx)
			if s.busy.Load() || o.waited.Load() {
				err = fmt.Errorf("%w: %w", session.ErrBusy, err)
			}
			return &session.Error{Op: name, Session: id, Err: err}
		}
		<-o.done // it is being written
	}
	return fail(name, id, s.dir, o.err)
}

// write executes operations until the store is closed. Those that come while a transaction is made
// share the next one.
func (s *Store) write() {
	defer close(s.ended)
	w := &batcher{store: s}
	defer w.close()
	for {
		select {
		case o := <-s.queue:
			batch := []*op{o}
			for more := true; more && len(batch) < maxBatch && !o.alone; {
				select {
				case o = <-s.queue:
					batch = append(batch, o)
				default:
					more = false
				}
			}
			w.run(batch)
		case <-s.closed:
			return
		}
	}
}

// batcher is the state of the writer's goroutine.
type batcher struct {
	store *Store
	conn  *sql.Conn
	q     *queries
	soft  bool // whether the connection does not sync
}

// open gets the connection.
func (w *batcher) open() error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.store.writer.Conn(context.Background())
	if err != nil {
		return err
	}
	w.conn, w.soft = conn, false
	w.q = &queries{store: w.store, conn: conn, stmts: map[string]*sql.Stmt{}}
	return nil
}

// close gives the connection back: the next one starts afresh.
func (w *batcher) close() {
	if w.conn == nil {
		return
	}
	w.q.close()
	_ = w.conn.Close()
	w.conn = nil
}

// run executes operations, and tells those who wait for them.
func (w *batcher) run(batch []*op) {
	last := batch[len(batch)-1]
	if last.alone {
		batch = batch[:len(batch)-1]
		defer w.single(last)
	}
	if len(batch) == 0 {
		return
	}
	batch, err := w.transaction(batch)
	if err != nil && len(batch) > 1 && !errors.Is(translate("", err), session.ErrBusy) {
		for _, o := range batch { // perhaps it is for one of them only
			_, o.err = w.transaction([]*op{o})
			close(o.done)
		}
		return
	}
	for _, o := range batch {
		if err != nil {
			o.err = err
		}
		close(o.done)
	}
}

// single executes an operation outside of a transaction.
func (w *batcher) single(o *op) {
	if o.taken.CompareAndSwap(false, true) {
		if o.err = w.open(); o.err == nil {
			o.err = o.do(w.q)
		}
	}
	close(o.done)
}

// transaction executes operations in a transaction. It returns those whose callers had not given up
// before it began. An error fails the whole transaction, and nothing is written.
func (w *batcher) transaction(batch []*op) ([]*op, error) {
	if err := w.open(); err != nil {
		return batch, err
	}
	soft := true
	for _, o := range batch {
		soft = soft && o.soft
	}
	err := w.sync(soft)
	if err == nil {
		err = w.begin(batch)
	}
	kept := batch[:0]
	for _, o := range batch {
		if o.mine || o.taken.CompareAndSwap(false, true) {
			o.mine = true
			kept = append(kept, o)
		} else {
			close(o.done)
		}
	}
	if err != nil {
		return kept, err
	}
	w.q.touched, w.q.garbage, w.q.deleted = w.q.touched[:0], false, false
	for _, o := range kept {
		touched := len(w.q.touched)
		o.err = o.do(w.q)
		if o.err == nil {
			continue
		}
		w.q.touched = w.q.touched[:touched]
		var known *session.Error
		if !errors.As(o.err, &known) { // SQLite's: what was written is not known
			err = o.err
			break
		}
	}
	if err == nil {
		err = w.q.markChanged()
	}
	if err == nil {
		err = w.q.exec("COMMIT")
	}
	if err != nil {
		_ = w.q.exec("ROLLBACK") // there may be no transaction any more
		return kept, err
	}
	w.store.changed(w.q.touched)
	if w.q.garbage {
		w.sweep()
	}
	return kept, nil
}

// sync sets whether later commits are synced.
func (w *batcher) sync(soft bool) error {
	if soft == w.soft {
		return nil
	}
	how := "PRAGMA synchronous = FULL"
	if soft {
		how = "PRAGMA synchronous = NORMAL"
	}
	err := w.q.exec(how)
	if err == nil {
		w.soft = soft
	}
	return err
}

// begin begins a transaction as soon as no other process has one. It fails when no caller waits any
// longer, or after a timeout.
func (w *batcher) begin(batch []*op) error {
	end := time.Now().Add(w.store.options.Busy)
	defer w.store.busy.Store(false)
	for wait := time.Millisecond; ; wait = min(2*wait, 25*time.Millisecond) {
		err := w.q.exec("BEGIN IMMEDIATE")
		if err == nil {
			if err = w.q.served(); err != nil {
				_ = w.q.exec("ROLLBACK")
			}
			return err
		}
		waiting := false
		for _, o := range batch {
			waiting = waiting || o.ctx.Err() == nil
			o.waited.Store(isBusy(err))
		}
		if !isBusy(err) || !waiting || time.Now().After(end) {
			return err
		}
		w.store.busy.Store(true)
		time.Sleep(wait)
	}
}

// served returns an error if the database does not serve this program any more.
func (q *queries) served() error {
	var version int
	err := q.row("PRAGMA user_version").Scan(&version)
	if err != nil || version <= len(q.store.steps) {
		return err
	}
	_, err = q.store.readVersion(context.Background(), q.conn)
	return err
}

// queries executes statements of the writer's connection, which it prepares once.
type queries struct {
	store *Store
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	// touched are the sessions that have changed. garbage is set if files in media may be unused.
	touched []string
	garbage bool
	deleted bool // one of them is gone
}

func (q *queries) close() {
	for _, stmt := range q.stmts {
		_ = stmt.Close()
	}
}

func (q *queries) prepare(query string) (*sql.Stmt, error) {
	stmt := q.stmts[query]
	if stmt == nil {
		var err error
		if stmt, err = q.conn.PrepareContext(context.Background(), query); err != nil {
			return nil, err
		}
		q.stmts[query] = stmt
	}
	return stmt, nil
}

func (q *queries) exec(query string, args ...any) error {
	_, err := q.count(query, args...)
	return err
}

// count executes a statement and returns how many rows it has changed.
func (q *queries) count(query string, args ...any) (int64, error) {
	stmt, err := q.prepare(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.Exec(args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row returns the first row of a query.
func (q *queries) row(query string, args ...any) scanner {
	stmt, err := q.prepare(query)
	if err != nil {
		return failedRow{err}
	}
	return stmt.QueryRow(args...)
}

// rows calls scan for each row of a query.
func (q *queries) rows(scan func(*sql.Rows) error, query string, args ...any) error {
	stmt, err := q.prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.Query(args...)
	if err != nil {
		return err
	}
	return eachRow(rows, scan)
}

func eachRow(rows *sql.Rows, scan func(*sql.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

type scanner interface{ Scan(into ...any) error }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// problem returns an error of an operation that leaves the others in its transaction alone. The
// operation must not have written anything.
func problem(err error) *session.Error { return &session.Error{Err: err} }

func invalid(format string, args ...any) *session.Error {
	return problem(fmt.Errorf("%w: "+format, append([]any{session.ErrInvalid}, args...)...))
}
