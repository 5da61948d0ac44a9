// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"strings"

	"github.com/ponte-go/ponte/agent/session"
)

// itemColumns are what scanItem scans.
const itemColumns = "id, pos, version, rev, kind, state, time, by, digest, sum, data"

// scanItem reads an item of the session with a number. One with a wrong checksum is an error.
func scanItem(from scanner, num int64) (session.Item, error) {
	var i session.Item
	var at, sum int64
	var data []byte
	err := from.Scan(&i.ID, &i.Pos, &i.Version, &i.Rev, &i.Kind, &i.State, &at, &i.By, &i.Digest, &sum, &data)
	if err != nil {
		return i, err
	}
	i.Time, i.Data = fromNano(at), data
	if itemSum(num, &i) != sum {
		return i, &session.Error{Item: i.ID, Err: fmt.Errorf("%w: the checksum is wrong", session.ErrCorrupt)}
	}
	return i, nil
}

// itemSum covers all of an item, and whose it is.
func itemSum(num int64, i *session.Item) int64 {
	head := fmt.Appendf(
		make([]byte, 0, 128), "%d %q %d %d %d %q %q %d %q %q ", num, i.ID, i.Pos, i.Version, i.Rev,
		i.Kind, i.State, i.Time.UnixNano(), i.By, i.Digest,
	)
	return int64(crc32.Update(crc32.Checksum(head, castagnoli()), castagnoli(), i.Data))
}

// findItem returns an item of a session.
func (q *queries) findItem(num int64, id string) (session.Item, error) {
	i, err := scanItem(q.row("SELECT "+itemColumns+" FROM items WHERE session = ? AND id = ?", num, id), num)
	if errors.Is(err, sql.ErrNoRows) {
		err = &session.Error{Item: id, Err: session.ErrNoItem}
	}
	return i, err
}

// nextRev counts the changes of a session's inbox one on. more is by how much more items wait.
func (q *queries) nextRev(num, more int64) (rev int64, err error) {
	err = q.row(
		"UPDATE sessions SET rev = rev + 1, waiting = waiting + ? WHERE num = ? RETURNING rev",
		more, num,
	).Scan(&rev)
	return rev, err
}

// saveItem stores an item that has changed. more is by how much more items wait then, if it is none
// of the notes.
func (q *queries) saveItem(num int64, i *session.Item, more int64) (err error) {
	if i.Kind == session.ItemNote {
		more = 0
	}
	if i.Rev, err = q.nextRev(num, more); err != nil {
		return err
	}
	return q.exec("UPDATE items SET version = ?, rev = ?, state = ?, sum = ?, data = ? WHERE session = ? AND id = ?",
		i.Version, i.Rev, string(i.State), itemSum(num, i), nullable(i.Data), num, i.ID)
}

// nullable returns data as a value of a row.
func nullable(data []byte) any {
	if data == nil {
		return nil
	}
	return data
}

// consume consumes items of a session, all or none: it changes nothing if it fails because of one
// of them.
func (q *queries) consume(num int64, refs []session.Ref) error {
	all := make([]session.Item, len(refs))
	for n, r := range refs {
		i, err := q.findItem(num, r.ID)
		if err == nil {
			if bad := i.Usable(r.Version, true); bad != nil {
				err = &session.Error{Item: r.ID, Err: bad}
			}
		}
		if err != nil {
			return err
		}
		all[n] = i
	}
	for n := range all {
		all[n].State, all[n].Data = session.ItemConsumed, nil
		if err := q.saveItem(num, &all[n], -1); err != nil {
			return err
		}
	}
	return nil
}

// numOf returns the number of a session's row.
func (q *queries) numOf(id string) (num int64, err error) {
	err = q.row("SELECT num FROM sessions WHERE id = ?", id).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		err = problem(session.ErrNotFound)
	}
	return num, err
}

// Put implements [session.Inbox].
func (s *Store) Put(ctx context.Context, id string, i session.Item) (put session.Item, err error) {
	made, err := i.Prepare(now())
	if err != nil {
		return session.Item{}, fail("put", id, s.dir, err)
	}
	err = s.do(ctx, "put", id, false, func(q *queries) error {
		num, err := q.numOf(id)
		if err != nil {
			return err
		}
		put, err = q.findItem(num, made.ID)
		if !errors.Is(err, session.ErrNoItem) {
			return err
		}
		put = made
		more := int64(1)
		if put.Kind == session.ItemNote {
			more = 0
		}
		if put.Rev, err = q.nextRev(num, more); err != nil {
			return err
		}
		put.Pos = put.Rev
		q.touched = append(q.touched, id)
		return q.exec("INSERT INTO items (session, "+itemColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			num, put.ID, put.Pos, put.Version, put.Rev, string(put.Kind), string(put.State), put.Time.UnixNano(), put.By, put.Digest, itemSum(num, &put), nullable(put.Data))
	})
	if err != nil {
		return session.Item{}, err
	}
	put.Data = append(json.RawMessage(nil), put.Data...)
	return put, nil
}

// Change implements [session.Inbox].
func (s *Store) Change(
	ctx context.Context, id, item string, version int64, data json.RawMessage,
) (changed session.Item, err error) {
	if err := session.CheckItemData(data); err != nil {
		return session.Item{}, fail("change", id, s.dir, err)
	}
	err = s.do(ctx, "change", id, false, func(q *queries) error {
		num, err := q.numOf(id)
		if err != nil {
			return err
		}
		if changed, err = q.findItem(num, item); err != nil {
			return err
		}
		if bad := changed.Usable(version, false); bad != nil {
			return &session.Error{Item: item, Err: bad}
		}
		more := int64(0)
		if data == nil {
			changed.State, changed.Data, more = session.ItemRemoved, nil, -1
		} else {
			changed.Version, changed.Data = changed.Version+1, data
		}
		q.touched = append(q.touched, id)
		return q.saveItem(num, &changed, more)
	})
	if err != nil && !errors.Is(err, session.ErrChanged) && !errors.Is(err, session.ErrConsumed) {
		return session.Item{}, err
	}
	changed.Data = append(json.RawMessage(nil), changed.Data...)
	return changed, err
}

// Items implements [session.Inbox].
func (s *Store) Items(
	ctx context.Context, id string, after int64, kinds ...session.ItemKind,
) iter.Seq2[session.Item, error] {
	return func(yield func(session.Item, error) bool) {
		var num, last int64
		err := s.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&num, &last) }, "SELECT num, rev FROM sessions WHERE id = ?", id)
		if err == nil && num == 0 {
			err = session.ErrNotFound
		}
		query := "SELECT " + itemColumns + " FROM items WHERE session = ? AND rev > ? AND rev <= ?"
		if after == 0 {
			query += " AND state = ''"
		}
		var selected []any
		for _, kind := range kinds {
			selected = append(selected, string(kind))
		}
		if len(kinds) > 0 {
			query += " AND kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ")"
		}
		query += " ORDER BY rev" + limit
		for more := err == nil; more && err == nil; {
			var page []session.Item
			damaged := map[int]error{} // of the items of the page
			size := 0
			args := append(append([]any{num, after, last}, selected...), loadEntries)
			err = s.query(ctx, func(rows *sql.Rows) error {
				if size > loadBytes {
					return errEnough
				}
				i, err := scanItem(rows, num)
				if errors.Is(err, session.ErrCorrupt) {
					i = session.Item{ID: i.ID, Rev: i.Rev}
					damaged[len(page)], err = fail("items", id, s.dir, err), nil
				}
				page, size = append(page, i), size+len(i.Data)
				return err
			}, query, args...)
			if more = errors.Is(err, errEnough) || len(page) == loadEntries; more && errors.Is(err, errEnough) {
				err = nil
			}
			for n := 0; n < len(page) && err == nil; n++ {
				if err = context.Cause(ctx); err == nil && !yield(page[n], damaged[n]) {
					return
				}
				after = page[n].Rev
			}
		}
		if err != nil {
			yield(session.Item{}, fail("items", id, s.dir, err))
		}
	}
}
