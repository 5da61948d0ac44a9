// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ponte-go/ponte/agent/session"
)

func now() time.Time { return time.Now().UTC().Round(0) }

func fromNano(n int64) time.Time { return time.Unix(0, n).UTC() }

// statements are the statements with the name of the schema in them.
type statements struct {
	create, get, list, listPart, lock, update, fork, remove, acquire, release, appendTo, find, parent, page, unacquire, putBlob, getBlob, removeBlobs, put, change, items, rev, work string
}

// serverNow is the time of the server, in nanoseconds since 1970.
const serverNow = "(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint"

// infoColumns are what scanInfo scans.
const infoColumns = "num, id, title, dir, tenant, owner, vals, created, updated, head, size, parent_id, forked_at, waiting, CASE WHEN SCHEMA.alive(instance) THEN holder ELSE '' END"

func prepared(schema string) statements {
	in := func(s string) string { return inSchema(s, schema) }
	return statements{
		create:    in("SELECT SCHEMA.create($1, $2, $3, $4, $5, $6, $7, $8)"),
		get:       in("SELECT " + infoColumns + " FROM SCHEMA.sessions WHERE id = $1"),
		list:      in("SELECT " + infoColumns + " FROM ("),
		listPart:  in("SELECT * FROM SCHEMA.sessions WHERE id IS NOT NULL"),
		lock:      in("SELECT title, vals, updated FROM SCHEMA.sessions WHERE id = $1 FOR UPDATE"),
		update:    in("UPDATE SCHEMA.sessions SET title = $2, vals = $3, updated = $4 WHERE id = $1"),
		fork:      in("SELECT made, room, last FROM SCHEMA.fork($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"),
		remove:    in("SELECT held, had, had_since FROM SCHEMA.remove($1)"),
		acquire:   in("SELECT new_token, last, had, had_since FROM SCHEMA.acquire($1, $2, $3, $4, $5)"),
		release:   in("UPDATE SCHEMA.sessions SET instance = 0 WHERE id = $1 AND token = $2 AND instance <> 0"),
		unacquire: in("UPDATE SCHEMA.sessions SET instance = 0 WHERE id = $1 AND instance = $2 AND since = $3"),
		appendTo:  in("SELECT outcome, last, had, had_since FROM SCHEMA.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"),
		put:       in("SELECT made, " + itemColumns("(i).") + " FROM SCHEMA.put($1, $2, $3, $4, $5, $6, $7)"),
		change:    in("SELECT outcome, " + itemColumns("(i).") + " FROM SCHEMA.change($1, $2, $3, $4, $5)"),
		work: in(`SELECT id FROM (SELECT id, instance FROM SCHEMA.sessions WHERE instance <> 0 AND id IS NOT NULL
			UNION SELECT id, instance FROM SCHEMA.sessions WHERE waiting > 0 AND id IS NOT NULL) s WHERE NOT SCHEMA.alive(instance)`),
		rev: in("SELECT num, rev FROM SCHEMA.sessions WHERE id = $1"),
		items: in("SELECT " + itemColumns("") + ` FROM (
				SELECT *, sum(octet_length(coalesce(data, ''))) OVER (ORDER BY rev) - octet_length(coalesce(data, '')) AS before FROM (
					SELECT * FROM SCHEMA.items WHERE session = $1 AND rev > $2 AND rev <= $3 AND `),
		find:   in("SELECT num, head, forked_at, parent FROM SCHEMA.sessions WHERE id = $1"),
		parent: in("SELECT forked_at, parent FROM SCHEMA.sessions WHERE num = $1"),
		// Of a page only as much is read as the bound on bytes allows, but at least one entry.
		page: in(`SELECT seq, time, kind, run, key, data FROM (
				SELECT *, sum(octet_length(data)) OVER (ORDER BY seq) - octet_length(data) AS before FROM (
					SELECT seq, time, kind, run, key, data FROM SCHEMA.entries WHERE session = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4) p
			) q WHERE coalesce(before, 0) < $5 ORDER BY seq`),
		// This uses the server's clock, which is the same for all machines.
		putBlob: in("INSERT INTO SCHEMA.blobs AS b (key, data, put) VALUES ($1, $2, " + serverNow + ") ON CONFLICT (key) DO UPDATE SET put = excluded.put WHERE b.put < excluded.put - $3::bigint"),
		getBlob: in("SELECT data FROM SCHEMA.blobs WHERE key = $1"),
		// A clock that is read once leaves the index of use.
		removeBlobs: in("DELETE FROM SCHEMA.blobs WHERE put < (SELECT least($1::bigint, " + serverNow + ") - $2::bigint)"),
	}
}

// scanInfo scans a description, and the number of the session's row.
func scanInfo(from pgx.Row) (info session.Info, num int64, err error) {
	var values string
	var created, updated int64
	err = from.Scan(
		&num, &info.ID, &info.Title, &info.Dir, &info.Tenant, &info.Owner, &values, &created,
		&updated, &info.Head, &info.Size, &info.Parent, &info.ForkedAt, &info.Waiting, &info.Holder,
	)
	if errors.Is(err, pgx.ErrNoRows) {
		err = session.ErrNotFound
	}
	if err != nil {
		return session.Info{}, 0, err
	}
	for _, text := range []*string{&info.ID, &info.Title, &info.Dir, &info.Tenant, &info.Owner, &info.Parent, &info.Holder} {
		*text = fromText(*text)
	}
	info.Created, info.Updated = fromNano(created), fromNano(updated)
	info.Values, err = decodeValues(values)
	return info, num, err
}

// get returns the description of a session, and the number of its row.
func (s *Store) get(ctx context.Context, id string) (info session.Info, num int64, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		info, num, err = scanInfo(s.pool.QueryRow(ctx, s.sql.get, id))
		return err
	})
	return info, num, err
}

// Create implements [session.Store].
func (s *Store) Create(ctx context.Context, n session.New) (session.Info, error) {
	if err := n.Check(); err != nil {
		return session.Info{}, fail("create", n.ID, err)
	}
	complete(&n)
	values, err := encodeValues(n.Values)
	if err == nil {
		err = s.try(ctx, func(ctx context.Context) error {
			var made bool
			err := s.pool.QueryRow(ctx, s.sql.create, toText(n.ID), toText(n.Title), toText(n.Dir), toText(n.Tenant), toText(n.Owner), n.Limit,
				values, n.Created.UnixNano()).Scan(&made)
			if err == nil && !made {
				return session.ErrTooMany
			}
			return exists(err)
		})
	}
	var info session.Info
	if err == nil {
		s.changed(n.ID)
		info, _, err = s.get(ctx, toText(n.ID))
	}
	return info, fail("create", n.ID, err)
}

// complete gives a new session an id and a time.
func complete(n *session.New) {
	if n.ID == "" {
		n.ID = rand.Text()
	}
	if n.Created.IsZero() {
		n.Created = now()
	}
}

// exists recognises a session whose id is taken.
func exists(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" { // unique_violation
		return session.ErrExists
	}
	return err
}

// Get implements [session.Store].
func (s *Store) Get(ctx context.Context, id string) (session.Info, error) {
	info, _, err := s.get(ctx, toText(id))
	return info, fail("get", id, err)
}

// listQuery returns the statement that reads a page, and one session more.
func (s *Store) listQuery(q *session.Query) (query string, args []any, err error) {
	start, err := q.Start()
	if err != nil {
		return "", nil, err
	}
	column := "updated"
	if q.Order == session.OrderCreated {
		column = "created"
	}
	var where strings.Builder
	whose := q.Owner != nil || q.Tenant != ""
	if q.Dir != "" {
		dir := toText(q.Dir)
		start, cut := prefix(dir)
		if !whose { // the index on directories has the sessions of others
			args = append(args, start)
			fmt.Fprintf(&where, " AND dir_start = $%d", len(args))
		}
		if whose || cut {
			args = append(args, dir)
			fmt.Fprintf(&where, " AND dir = $%d", len(args))
		}
	}
	if q.Parent != "" {
		args = append(args, toText(q.Parent))
		fmt.Fprintf(&where, " AND parent_id = $%d AND parent_id <> ''", len(args)) // the index has only those that have a parent
	}
	if start != nil {
		args = append(args, start.Time.UnixNano(), toText(start.ID))
		fmt.Fprintf(&where, " AND (%s, id) < ($%d, $%d)", column, len(args)-1, len(args))
	}
	order := " ORDER BY " + column + " DESC, id DESC"
	part := func(which string) string { // the sessions of the page, of those with a condition more
		return fmt.Sprintf("%s%s%s%s LIMIT %d", s.sql.listPart, where.String(), which, order, q.PageSize()+1)
	}
	conversations, internals := " AND NOT internal", " AND internal"
	if whose {
		is, key := "org", toText(q.Tenant)
		if q.Owner != nil {
			is, key = "whose", key+"\x01"+toText(*q.Owner)
		}
		args = append(args, "0"+key, "1"+key)
		conversations = fmt.Sprintf(" AND %s = $%d", is, len(args)-1)
		internals = fmt.Sprintf(" AND %s = $%d", is, len(args))
	}
	switch {
	case q.Conversations && whose:
		args = args[:len(args)-1]
		query = part(conversations)
	case q.Conversations && q.Dir != "": // a directory has sessions of one kind
		query = part(fmt.Sprintf(" AND %t", !session.Internal(&session.Info{Dir: q.Dir})))
	case q.Conversations:
		query = part(conversations)
	case whose || q.Dir == "" && q.Parent == "": // the indexes have them apart
		query = fmt.Sprintf(
			"SELECT * FROM ((%s) UNION ALL (%s)) every%s LIMIT %d", part(conversations),
			part(internals), order, q.PageSize()+1,
		)
	default:
		query = part("")
	}
	// The list is made before the holders are looked up, to look up only the holders of the page.
	return s.sql.list + query + ") found" + order, args, nil
}

// prefix returns the beginning of a text that indexes have, and whether more follows.
func prefix(text string) (start string, cut bool) {
	n := 0
	for i := range text {
		if n++; n > 256 {
			return text[:i], true
		}
	}
	return text, n == 256
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	query, args, err := s.listQuery(&q)
	if err != nil {
		return session.Page{}, fail("list", "", err)
	}
	var page session.Page
	var damaged error
	err = s.read(ctx, func(ctx context.Context) error {
		page, damaged = session.Page{}, nil
		rows, err := s.pool.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			info, _, err := scanInfo(rows)
			if err != nil && !errors.Is(err, session.ErrCorrupt) {
				return err
			}
			if n := len(page.Sessions); n == q.PageSize() {
				page.Next = q.Next(&page.Sessions[n-1])
				break
			}
			damaged = errors.Join(damaged, fail("list", info.ID, err))
			page.Sessions = append(page.Sessions, info)
		}
		rows.Close()
		return rows.Err()
	})
	if err != nil {
		return session.Page{}, fail("list", "", err)
	}
	return page, damaged
}

// Update implements [session.Store].
func (s *Store) Update(ctx context.Context, id string, c session.Change) (info session.Info, err error) {
	if err := c.Check(); err != nil {
		return info, fail("update", id, err)
	}
	err = s.try(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			var title, text string
			var updated int64
			if err := tx.QueryRow(ctx, s.sql.lock, toText(id)).Scan(&title, &text, &updated); errors.Is(err, pgx.ErrNoRows) {
				return session.ErrNotFound
			} else if err != nil {
				return err
			}
			if c.Title != nil {
				title = toText(*c.Title)
			}
			values, err := decodeValues(text)
			if err != nil {
				return err
			}
			for name, v := range c.Values {
				if values == nil {
					values = map[string]json.RawMessage{}
				}
				values[name] = v // encodeValues leaves out nil
			}
			if text, err = encodeValues(values); err != nil {
				return err
			}
			if _, err = tx.Exec(ctx, s.sql.update, toText(id), title, text, max(updated, now().UnixNano())); err != nil {
				return err
			}
			info, _, err = scanInfo(tx.QueryRow(ctx, s.sql.get, toText(id)))
			return err
		})
	})
	if err != nil {
		return session.Info{}, fail("update", id, err)
	}
	s.changed(id)
	return info, nil
}

// Fork implements [session.Store].
func (s *Store) Fork(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
	if err := n.Check(); err != nil {
		return session.Info{}, fail("fork", id, err)
	}
	complete(&n)
	values, err := encodeChanges(n.Values)
	if err == nil {
		err = s.try(ctx, func(ctx context.Context) error {
			var made, room bool
			var head int64
			err := s.pool.QueryRow(ctx, s.sql.fork, toText(id), at, toText(n.ID), toText(n.Title), toText(n.Dir), toText(n.Tenant), toText(n.Owner), n.Limit,
				values, n.Created.UnixNano()).Scan(&made, &room, &head)
			if errors.Is(err, pgx.ErrNoRows) {
				return session.ErrNotFound
			}
			if err == nil && !room {
				return session.ErrTooMany
			}
			if err == nil && !made {
				return fmt.Errorf("%w: fork at entry %d of %d", session.ErrInvalid, at, head)
			}
			return exists(err)
		})
	}
	var info session.Info
	if err == nil {
		s.changed(n.ID)
		info, _, err = s.get(ctx, toText(n.ID))
	}
	return info, fail("fork", id, err)
}

// Delete implements [session.Store].
func (s *Store) Delete(ctx context.Context, id string) error {
	err := s.try(ctx, func(ctx context.Context) error {
		var held bool
		var holder string
		var since int64
		err := s.pool.QueryRow(ctx, s.sql.remove, toText(id)).Scan(&held, &holder, &since)
		if errors.Is(err, pgx.ErrNoRows) {
			return session.ErrNotFound
		}
		if err == nil && held {
			return &session.Error{Err: session.ErrHeld, Holder: fromText(holder), Since: fromNano(since)}
		}
		return err
	})
	if err == nil {
		s.changed(id)
	}
	return fail("delete", id, err)
}
