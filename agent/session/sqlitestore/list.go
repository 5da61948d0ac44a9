// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ponte-go/ponte/agent/session"
)

// limit ends a statement. Without the sum SQLite prepares it again for each execution.
const limit = " LIMIT ? + 0"

// listQuery returns the statement that reads a page, and one session more.
func listQuery(q *session.Query) (query string, args []any, err error) {
	start, err := q.Start()
	if err != nil {
		return "", nil, err
	}
	column := "updated"
	if q.Order == session.OrderCreated {
		column = "created"
	}
	whose := q.Owner != nil || q.Tenant != ""
	found := func(where string) string { // the sessions of the page, of those with a condition
		dir := " AND dir = ?"
		switch {
		case q.Owner != nil:
			where += " AND tenant = ? AND owner = ?"
			args = append(args, q.Tenant, *q.Owner)
		case q.Tenant != "":
			where += " AND tenant = ? AND tenant <> ''"
			args = append(args, q.Tenant)
		}
		if whose {
			dir = " AND +dir = ?" // the index on directories has the sessions of others
		}
		if q.Dir != "" {
			where += dir
			args = append(args, q.Dir)
		}
		if q.Parent != "" {
			where += " AND parent_id = ?"
			args = append(args, q.Parent)
		}
		if start != nil {
			where += " AND (" + column + ", id) < (?, ?)"
			args = append(args, start.Time.UnixNano(), start.ID)
		}
		args = append(args, q.PageSize()+1)
		return "SELECT " + infoColumns + " FROM sessions WHERE id IS NOT NULL" + where + " ORDER BY " + column + " DESC, id DESC" + limit
	}
	switch {
	case q.Conversations && q.Dir != "" && !whose: // which has sessions of one kind only, so the plus keeps SQLite to the index on directories
		query = found(" AND +internal = 0")
	case q.Conversations:
		query = found(" AND internal = 0")
	case !whose && q.Dir != "" || q.Parent != "":
		query = found("")
	default: // the index has them apart
		query = "SELECT * FROM (" + found(" AND internal = 0") + ") UNION ALL SELECT * FROM (" + found(" AND internal = 1") + ")" +
			" ORDER BY " + column + " DESC, id DESC" + limit
		args = append(args, q.PageSize()+1)
	}
	return query, args, nil
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	query, args, err := listQuery(&q)
	if err != nil {
		return session.Page{}, fail("list", "", s.dir, err)
	}
	var rows []*row
	var damaged error
	err = s.query(ctx, func(found *sql.Rows) error {
		r, err := scanInfo(found)
		if rows = append(rows, r); r == nil {
			return err
		}
		if len(rows) <= q.PageSize() {
			damaged = errors.Join(damaged, fail("list", r.ID, s.dir, err))
		}
		return nil
	}, query, args...)
	if err != nil {
		return session.Page{}, fail("list", "", s.dir, err)
	}
	var page session.Page
	alive := map[string]bool{}
	for i, r := range rows {
		if i == q.PageSize() {
			page.Next = q.Next(&page.Sessions[i-1])
			break
		}
		there, ok := alive[r.instance]
		if !ok {
			there = s.holders.alive(r.instance)
			alive[r.instance] = there
		}
		if !there {
			r.Holder = ""
		}
		page.Sessions = append(page.Sessions, r.Info)
	}
	return page, damaged
}
