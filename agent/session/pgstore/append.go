// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ponte-go/ponte/agent/session"
)

// Acquire implements [session.Store].
func (s *Store) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	s.commits.mu.Lock()
	if err := s.open(ctx); err != nil { // Close waits for those that are in
		s.commits.mu.Unlock()
		return session.Lease{}, fail("acquire", id, err)
	}
	type acquired struct {
		session.Lease
		error
	}
	done := make(chan acquired)
	// A cancelled statement may have been executed. This store would then hold the session without
	// a lease.
	s.ended.Go(func() {
		l, err := s.acquireAgain(s.background, id, c)
		select {
		case done <- acquired{l, err}:
		case <-ctx.Done():
			if err == nil {
				_ = s.giveBack(s.background, l)
			}
		}
	})
	s.commits.mu.Unlock()
	select {
	case a := <-done:
		return a.Lease, fail("acquire", id, a.error)
	case <-ctx.Done():
		return session.Lease{}, fail("acquire", id, context.Cause(ctx))
	}
}

// acquireAgain acquires a session, once more if the connection is lost meanwhile.
func (s *Store) acquireAgain(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	at := s.moment()
	l, err := s.acquire(ctx, id, c, at)
	if err == nil || answered(err) || ctx.Err() != nil {
		return l, err
	}
	// The session may still be held by a lease that was never returned. The moment distinguishes it
	// from all other leases of this store.
	unacquire := func() error {
		return s.read(ctx, func(ctx context.Context) error {
			_, err := s.pool.Exec(ctx, s.sql.unacquire, toText(id), s.presence.lock, at)
			return err
		})
	}
	if lost := unacquire(); lost != nil {
		if !answered(lost) {
			s.debts.owe(unacquire)
		}
		return l, err
	}
	return s.acquire(ctx, id, c, s.moment())
}

func (s *Store) acquire(ctx context.Context, id string, c session.Claim, at int64) (lease session.Lease, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		var token, since *int64
		var head int64
		var holder string
		err := s.pool.QueryRow(
			ctx, s.sql.acquire, toText(id), c.Force, toText(c.Holder), s.presence.lock, at,
		).Scan(&token, &head, &holder, &since)
		if errors.Is(err, pgx.ErrNoRows) {
			return &session.Error{Err: session.ErrNotFound}
		}
		if err == nil && token == nil {
			return &session.Error{Err: session.ErrHeld, Holder: fromText(holder), Since: fromNano(*since)}
		}
		if err == nil {
			lease = session.Lease{Session: id, Token: *token, Holder: c.Holder, Head: head}
			s.changed(id)
		}
		return err
	})
	return lease, err
}

// moment returns the time, but never the same twice.
func (s *Store) moment() int64 {
	for {
		last := s.last.Load()
		if at := max(now().UnixNano(), last+1); s.last.CompareAndSwap(last, at) {
			return at
		}
	}
}

// Release implements [session.Store]. If the server cannot be reached, or ctx ends meanwhile, the
// session is given back as soon as the server can be reached.
func (s *Store) Release(ctx context.Context, l session.Lease) error {
	if err := s.open(ctx); err != nil {
		return fail("release", l.Session, err)
	}
	err := s.giveBack(ctx, l)
	if owed := s.debts.isOwed(l.Token, err); owed && errors.Is(err, session.ErrLeaseLost) {
		err = nil // it was released for a call before, or was free because of that
	}
	return fail("release", l.Session, err)
}

// giveBack releases a session, later if the server does not answer.
func (s *Store) giveBack(ctx context.Context, l session.Lease) error {
	err := s.release(ctx, l)
	if err != nil && !answered(err) {
		s.debts.owe(func() error { return s.release(s.background, l) })
	}
	return err
}

func (s *Store) release(ctx context.Context, l session.Lease) error {
	return s.try(ctx, func(ctx context.Context) error {
		done, err := s.pool.Exec(ctx, s.sql.release, toText(l.Session), l.Token)
		if err != nil || done.RowsAffected() == 1 {
			if err == nil {
				s.changed(l.Session)
			}
			return err
		}
		a := newAddition(l, 0, nil, nil)
		_, err = a.scan(s.pool.QueryRow(ctx, s.sql.appendTo, a.args(false)...)) // says why
		return err
	})
}

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (last int64, err error) {
	made, invalid := b.Prepare(max(head, 0), now())
	if invalid != nil {
		made, b.Consumed = nil, nil // the lease and the head come first
	}
	last, err = s.commit(ctx, newAddition(l, head, made, b.Consumed))
	if err == nil {
		err = invalid
	}
	if err != nil {
		return 0, fail("append", l.Session, err)
	}
	if len(made)+len(b.Consumed) > 0 {
		s.changed(l.Session)
	}
	return last, nil
}

// addition is an append in the form of the database.
type addition struct {
	session                      string
	token, head                  int64
	soft                         bool
	size                         int // of the data
	seqs, times                  []int64
	kinds, runs, keys            []string
	places, clearKeys, clearRuns []*string
	data                         [][]byte
	items                        []string
	versions                     []int64
}

func newAddition(l session.Lease, head int64, entries []session.Entry, consumed []session.Ref) *addition {
	n := len(entries)
	a := &addition{
		session: toText(l.Session), token: l.Token, head: head, soft: n > 0 && len(consumed) == 0,
		seqs: make([]int64, n), times: make([]int64, n), kinds: make([]string, n), runs: make([]string, n), keys: make([]string, n),
		places: make([]*string, n), clearKeys: make([]*string, n), clearRuns: make([]*string, n), data: make([][]byte, n),
	}
	for i := range entries {
		e := &entries[i]
		a.seqs[i], a.times[i], a.data[i] = e.Seq, e.Time.UnixNano(), e.Data
		a.kinds[i], a.runs[i], a.keys[i] = toText(string(e.Kind)), toText(e.Run), toText(e.Key)
		a.places[i] = place(e)
		a.clearKeys[i], a.clearRuns[i] = clears(e)
		a.size += len(e.Data)
		a.soft = a.soft && e.Kind == session.KindView
	}
	for _, r := range consumed {
		a.items, a.versions = append(a.items, toText(r.ID)), append(a.versions, r.Version)
	}
	return a
}

// args are the arguments of the function that appends.
func (a *addition) args(soft bool) []any {
	return []any{
		a.session, a.token, a.head, soft, a.seqs, a.times, a.kinds, a.runs, a.keys, a.places,
		a.clearKeys, a.clearRuns, a.data, a.items, a.versions,
	}
}

// scan reads what the function returns. An error of the session's leaves other appends in the
// transaction alone.
func (a *addition) scan(from pgx.Row) (int64, error) {
	var outcome string
	var last int64
	var holder *string
	var since *int64
	err := from.Scan(&outcome, &last, &holder, &since)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, &session.Error{Err: session.ErrNotFound}
	case err != nil:
		return 0, err
	case outcome == "lost":
		lost := &session.Error{Err: session.ErrLeaseLost}
		if holder != nil {
			lost.Holder, lost.Since = fromText(*holder), fromNano(*since)
		}
		return 0, lost
	case outcome == "moved":
		return 0, &session.Error{Err: session.ErrHeadMoved, Head: last}
	case outcome != "done":
		return 0, &session.Error{Err: itemErrors[outcome], Item: fromText(*holder)}
	}
	return last, nil
}
