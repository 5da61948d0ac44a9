// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/ponte-go/ponte/agent/session"
)

// Acquire implements [session.Store].
func (s *Store) Acquire(ctx context.Context, id string, c session.Claim) (lease session.Lease, err error) {
	err = s.do(ctx, "acquire", id, false, func(q *queries) error {
		r, err := q.find(id)
		if err != nil {
			return err
		}
		if !c.Force && s.holders.alive(r.instance) {
			return &session.Error{Err: session.ErrHeld, Holder: r.Holder, Since: fromNano(r.since)}
		}
		var token int64
		if err := q.row("UPDATE state SET token = token + 1 RETURNING token").Scan(&token); err != nil {
			return err
		}
		q.touched = append(q.touched, id)
		lease = session.Lease{Session: id, Token: token, Holder: c.Holder, Head: r.Head}
		return q.exec(
			"UPDATE sessions SET token = ?, holder = ?, instance = ?, since = ? WHERE num = ?",
			token, c.Holder, s.holders.name, now().UnixNano(), r.num,
		)
	})
	if err != nil {
		return session.Lease{}, err
	}
	return lease, nil
}

// leased is the state of a session that an append needs.
type leased struct {
	num, head, token, pinned, since, updated int64
	holder, instance                         string
}

// leased returns the session of a lease.
func (q *queries) leased(l session.Lease) (*leased, error) {
	var r leased
	err := q.row("SELECT num, head, token, pinned, holder, instance, since, updated FROM sessions WHERE id = ?", l.Session).
		Scan(&r.num, &r.head, &r.token, &r.pinned, &r.holder, &r.instance, &r.since, &r.updated)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem(session.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if r.token != l.Token || r.instance == "" {
		lost := problem(session.ErrLeaseLost)
		if q.store.holders.alive(r.instance) {
			lost.Holder, lost.Since = r.holder, fromNano(r.since)
		}
		return nil, lost
	}
	return &r, nil
}

// Release implements [session.Store].
func (s *Store) Release(ctx context.Context, l session.Lease) error {
	return s.do(ctx, "release", l.Session, false, func(q *queries) error {
		r, err := q.leased(l)
		if err != nil {
			return err
		}
		q.touched = append(q.touched, l.Session)
		return q.exec("UPDATE sessions SET instance = '' WHERE num = ?", r.num)
	})
}

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	made, err := b.Prepare(max(head, 0), now())
	soft := b.Soft()
	if err != nil { // the lease comes first
		made, soft = nil, false
	}
	var cut []cutEntry
	if err == nil {
		if cut, err = s.cut(made); err != nil {
			return 0, fail("append", l.Session, s.dir, err)
		}
		defer s.discard(cut)
	}
	last := head
	writeErr := s.do(ctx, "append", l.Session, soft, func(q *queries) error {
		r, leaseErr := q.leased(l)
		switch {
		case leaseErr != nil:
			return leaseErr
		case r.head != head:
			return &session.Error{Err: session.ErrHeadMoved, Head: r.head}
		case err != nil:
			return problem(err)
		case len(made)+len(b.Consumed) == 0:
			return nil
		}
		if err := q.consume(r.num, b.Consumed); err != nil {
			return err
		}
		q.touched = append(q.touched, l.Session)
		if len(made) == 0 {
			return nil
		}
		last = made[len(made)-1].Seq
		return q.append(r, made, cut)
	})
	if writeErr != nil {
		return 0, writeErr
	}
	return last, nil
}

// append adds entries to a session.
func (q *queries) append(r *leased, entries []session.Entry, cut []cutEntry) error {
	size, updated := int64(0), r.updated
	for i := range entries {
		e := &entries[i]
		gone, err := q.supersede(r, e)
		if err != nil {
			return err
		}
		size += int64(len(e.Data)) - gone
		updated = max(updated, e.Time.UnixNano())
		if err := q.keepMedia(r.num, e.Seq, &cut[i]); err != nil {
			return err
		}
		err = q.exec("INSERT INTO entries (session, seq, time, kind, run, key, place, size, sum, media, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			r.num, e.Seq, e.Time.UnixNano(), string(e.Kind), e.Run, e.Key, place(e), len(e.Data), checksum(r.num, e), cut[i].holes, cut[i].data)
		if err != nil {
			return err
		}
	}
	return q.exec(
		"UPDATE sessions SET head = ?, size = size + ?, updated = ? WHERE num = ?",
		entries[len(entries)-1].Seq, size, updated, r.num,
	)
}

// place returns the key by which later entries can supersede an entry: a message with the same run
// and key, or the end of the run. It is nil for entries that cannot be superseded.
func place(e *session.Entry) any {
	switch {
	case e.Kind == session.KindStep:
		return "run " + e.Run
	case (e.Kind == session.KindMessage || e.Kind == session.KindView) && e.Key != "":
		return keyPlace(e)
	}
	return nil
}

func keyPlace(e *session.Entry) string { return fmt.Sprintf("key %d %s %s", len(e.Run), e.Run, e.Key) }

// supersede removes the entries that e takes the place of. It returns how much data they had.
func (q *queries) supersede(r *leased, e *session.Entry) (gone int64, err error) {
	var which string
	args := []any{r.num, r.pinned}
	switch {
	case e.Kind == session.KindMessage && e.Key != "":
		which = "session = ? AND seq > ? AND place = ?"
		args = append(args, keyPlace(e))
	case e.Kind == session.KindEnd: // '0' follows '/'
		which = "session = ? AND seq > ? AND (place = ? OR place >= ? AND place < ?)"
		args = append(args, "run "+e.Run, "run "+e.Run+"/", "run "+e.Run+"0")
	default:
		return 0, nil
	}
	media := false
	err = q.rows(func(rows *sql.Rows) error {
		var size int64
		var cut bool
		err := rows.Scan(&size, &cut)
		gone += size
		media = media || cut
		return err
	}, "SELECT size, media IS NOT NULL FROM entries WHERE "+which, args...)
	if err != nil {
		return 0, err
	}
	if media {
		if err := q.dropMedia("(session, seq) IN (SELECT session, seq FROM entries WHERE media IS NOT NULL AND "+which+")", args...); err != nil {
			return 0, err
		}
	}
	return gone, q.exec("DELETE FROM entries WHERE "+which, args...)
}

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// checksum covers all of an entry, and whose it is.
func checksum(num int64, e *session.Entry) int64 {
	head := fmt.Appendf(
		make([]byte, 0, 128), "%d %d %d %q %q %q ", num, e.Seq, e.Time.UnixNano(), e.Kind, e.Run,
		e.Key,
	)
	return int64(crc32.Update(crc32.Checksum(head, castagnoli()), castagnoli(), e.Data))
}
