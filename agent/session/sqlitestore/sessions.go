// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

func now() time.Time { return time.Now().UTC().Round(0) }

func fromNano(n int64) time.Time { return time.Unix(0, n).UTC() }

// infoColumns are what scanInfo scans.
const infoColumns = "num, id, title, dir, tenant, owner, vals, created, updated, head, size, parent_id, forked_at, holder, instance, since, token, pinned, waiting"

// row is a row of the table of sessions.
type row struct {
	session.Info
	num, since, token, pinned int64
	instance                  string
}

func scanInfo(from scanner) (*row, error) {
	var r row
	var values string
	var created, updated int64
	err := from.Scan(
		&r.num, &r.ID, &r.Title, &r.Dir, &r.Tenant, &r.Owner, &values, &created, &updated, &r.Head,
		&r.Size, &r.Parent, &r.ForkedAt, &r.Holder, &r.instance, &r.since, &r.token, &r.pinned,
		&r.Waiting,
	)
	if err != nil {
		return nil, err
	}
	r.Created, r.Updated = fromNano(created), fromNano(updated)
	r.Values, err = decodeValues(values)
	return &r, err
}

// encodeValues writes values as a JSON object of strings, which keeps every byte of them.
func encodeValues(values map[string]json.RawMessage) (string, error) {
	texts := map[string]string{}
	for name, v := range values {
		if v != nil {
			texts[name] = string(v)
		}
	}
	data, err := json.Marshal(texts)
	return string(data), err
}

func decodeValues(text string) (map[string]json.RawMessage, error) {
	var texts map[string]string
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, problem(errors.Join(session.ErrCorrupt, err))
	}
	if len(texts) == 0 {
		return nil, nil
	}
	values := map[string]json.RawMessage{}
	for name, v := range texts {
		values[name] = json.RawMessage(v)
	}
	return values, nil
}

// find returns the row of a session.
func (q *queries) find(id string) (*row, error) {
	r, err := scanInfo(q.row("SELECT "+infoColumns+" FROM sessions WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem(session.ErrNotFound)
	}
	return r, err // both if the values are damaged
}

// describe returns the description of a session. The holder counts if its process is still there.
func (s *Store) describe(r *row) session.Info {
	info := r.Info
	if !s.holders.alive(r.instance) {
		info.Holder = ""
	}
	return info
}

// Create implements [session.Store].
func (s *Store) Create(ctx context.Context, n session.New) (info session.Info, err error) {
	if err := n.Check(); err != nil {
		return info, fail("create", n.ID, s.dir, err)
	}
	if n.ID == "" {
		n.ID = rand.Text()
	}
	err = s.do(ctx, "create", n.ID, false, func(q *queries) error {
		info, err = q.insert(n, nil, 0)
		q.touched = append(q.touched, n.ID)
		return err
	})
	return info, err
}

// insert adds a session, which may be a fork.
func (q *queries) insert(n session.New, parent *row, at int64) (session.Info, error) {
	var there int
	if err := q.row("SELECT count(*) FROM sessions WHERE id = ?", n.ID).Scan(&there); err != nil {
		return session.Info{}, err
	}
	if there > 0 {
		return session.Info{}, problem(session.ErrExists)
	}
	if n.Limit > 0 {
		const own = " WHERE id IS NOT NULL AND tenant = ? AND owner = ? AND internal = 0"
		const count = "SELECT count(*) FROM (SELECT 1 FROM sessions" + own + limit + ")"
		if err := q.row(count, n.Tenant, n.Owner, n.Limit).Scan(&there); err != nil {
			return session.Info{}, err
		}
		if there >= n.Limit {
			return session.Info{}, problem(session.ErrTooMany)
		}
	}
	if n.Created.IsZero() {
		n.Created = now()
	}
	created := n.Created.UnixNano()
	var parentNum any
	var parentID string
	if parent != nil {
		parentNum, parentID = parent.num, parent.ID
	}
	values, err := encodeValues(n.Values)
	if err != nil {
		return session.Info{}, err
	}
	err = q.exec(`INSERT INTO sessions (id, title, dir, tenant, owner, vals, created, updated, head, size, parent, parent_id, forked_at, pinned, token, holder, instance, since)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, 0, 0, '', '', 0)`, n.ID, n.Title, n.Dir, n.Tenant, n.Owner, values, created, created, at, parentNum, parentID, at)
	if err != nil {
		return session.Info{}, err
	}
	r, err := q.find(n.ID)
	if err != nil {
		return session.Info{}, err
	}
	return r.Info, nil
}

// Get implements [session.Store].
func (s *Store) Get(ctx context.Context, id string) (session.Info, error) {
	r, err := s.find(ctx, id)
	if err != nil {
		return session.Info{}, fail("get", id, s.dir, err)
	}
	return s.describe(r), nil
}

// Update implements [session.Store].
func (s *Store) Update(ctx context.Context, id string, c session.Change) (info session.Info, err error) {
	if err := c.Check(); err != nil {
		return info, fail("update", id, s.dir, err)
	}
	err = s.do(ctx, "update", id, false, func(q *queries) error {
		r, err := q.find(id)
		if err != nil {
			return err
		}
		if c.Title != nil {
			r.Title = *c.Title
		}
		for name, v := range c.Values {
			if r.Values == nil {
				r.Values = map[string]json.RawMessage{}
			}
			r.Values[name] = v // encodeValues leaves out nil
		}
		values, err := encodeValues(r.Values)
		if err != nil {
			return err
		}
		q.touched = append(q.touched, id)
		updated := max(r.Updated.UnixNano(), now().UnixNano())
		if err := q.exec("UPDATE sessions SET title = ?, vals = ?, updated = ? WHERE num = ?", r.Title, values, updated, r.num); err != nil {
			return err
		}
		if r, err = q.find(id); err == nil {
			info = s.describe(r)
		}
		return err
	})
	return info, err
}

// Fork implements [session.Store].
func (s *Store) Fork(ctx context.Context, id string, at int64, n session.New) (info session.Info, err error) {
	if err := n.Check(); err != nil {
		return info, fail("fork", id, s.dir, err)
	}
	if n.ID == "" {
		n.ID = rand.Text()
	}
	err = s.do(ctx, "fork", id, false, func(q *queries) error {
		r, err := q.find(id)
		if err != nil {
			return err
		}
		if at < 0 || at > r.Head {
			return invalid("fork at entry %d of %d", at, r.Head)
		}
		fork := n
		if fork.Title == "" {
			fork.Title = r.Title
		}
		if fork.Dir == "" {
			fork.Dir = r.Dir
		}
		if fork.Tenant == "" && fork.Owner == "" {
			fork.Tenant, fork.Owner = r.Tenant, r.Owner
		}
		fork.Values = r.Values
		for name, v := range n.Values {
			if fork.Values == nil {
				fork.Values = map[string]json.RawMessage{}
			}
			fork.Values[name] = v
		}
		if info, err = q.insert(fork, r, at); err != nil {
			return err
		}
		q.touched = append(q.touched, n.ID)
		return q.pin(r.num, at)
	})
	return info, err
}

// pin keeps the entries of a session up to a number, and those that it has from others.
func (q *queries) pin(num, at int64) error {
	for {
		if err := q.exec("UPDATE sessions SET pinned = max(pinned, ?) WHERE num = ?", at, num); err != nil {
			return err
		}
		var parent sql.NullInt64
		var forkedAt int64
		if err := q.row("SELECT parent, forked_at FROM sessions WHERE num = ?", num).Scan(&parent, &forkedAt); err != nil || !parent.Valid {
			return err
		}
		num, at = parent.Int64, min(at, forkedAt)
	}
}

// Delete implements [session.Store].
func (s *Store) Delete(ctx context.Context, id string) error {
	return s.do(ctx, "delete", id, false, func(q *queries) error {
		r, err := q.find(id)
		if r == nil { // what is damaged can be removed
			return err
		}
		if s.holders.alive(r.instance) {
			return &session.Error{Err: session.ErrHeld, Holder: r.Holder, Since: fromNano(r.since)}
		}
		q.touched, q.deleted = append(q.touched, id), true
		if err := q.exec("UPDATE sessions SET id = NULL, instance = '' WHERE num = ?", r.num); err != nil {
			return err
		}
		if err := q.exec("DELETE FROM items WHERE session = ?", r.num); err != nil {
			return err
		}
		return q.bury(r.num)
	})
}

// bury removes the unused data of a deleted session: the entries after those that forks share, or
// everything without forks. Its parent may then be unused too.
func (q *queries) bury(num int64) error {
	for {
		var id sql.NullString
		var parent, last sql.NullInt64
		err := q.row("SELECT id, parent, (SELECT max(forked_at) FROM sessions c WHERE c.parent = s.num) FROM sessions s WHERE num = ?", num).Scan(&id, &parent, &last)
		if err != nil || id.Valid {
			return err
		}
		if err := q.dropMedia("session = ? AND seq > ?", num, last.Int64); err != nil {
			return err
		}
		if err := q.exec("DELETE FROM entries WHERE session = ? AND seq > ?", num, last.Int64); err != nil || last.Valid {
			return err
		}
		if err := q.exec("DELETE FROM sessions WHERE num = ?", num); err != nil || !parent.Valid {
			return err
		}
		num = parent.Int64
	}
}
