// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"strings"

	"github.com/ponte-go/ponte/agent/session"
)

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	start, err := q.Start()
	if err != nil {
		return session.Page{}, fail("list", "", s.dir, err)
	}
	column := "updated"
	if q.Order == session.OrderCreated {
		column = "created"
	}
	var b strings.Builder
	var args []any
	b.WriteString("SELECT " + infoColumns + " FROM sessions WHERE id IS NOT NULL")
	if q.Dir != "" {
		b.WriteString(" AND dir = ?")
		args = append(args, q.Dir)
	}
	if q.Parent != "" {
		b.WriteString(" AND parent_id = ?")
		args = append(args, q.Parent)
	}
	if start != nil {
		b.WriteString(" AND (" + column + ", id) < (?, ?)")
		args = append(args, start.Time.UnixNano(), start.ID)
	}
	b.WriteString(" ORDER BY " + column + " DESC, id DESC LIMIT ?")
	args = append(args, q.PageSize()+1)
	var rows []*row
	err = s.query(ctx, func(found *sql.Rows) error {
		r, err := scanInfo(found)
		rows = append(rows, r)
		return err
	}, b.String(), args...)
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
	return page, nil
}
