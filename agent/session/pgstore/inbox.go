// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ponte-go/ponte/agent/session"
)

// itemErrors are the errors of what the functions find of an item.
var itemErrors = map[string]error{
	"none": session.ErrNoItem, "consumed": session.ErrConsumed, "changed": session.ErrChanged,
	"note": fmt.Errorf("%w: notes are not consumed", session.ErrInvalid),
}

// itemColumns are what itemRow scans. prefix comes before each.
func itemColumns(prefix string) string {
	return prefix + strings.Join(
		[]string{"id", "pos", "version", "rev", "kind", "state", "time", "by", "digest", "data"},
		", "+prefix,
	)
}

// itemRow is a row of the table of items. All of it is nil where there is no item.
type itemRow struct {
	id, kind, state, by, digest *string
	pos, version, rev, at       *int64
	data                        []byte
}

// fields are what the row is scanned into, after others.
func (r *itemRow) fields(before ...any) []any {
	return append(before, &r.id, &r.pos, &r.version, &r.rev, &r.kind, &r.state, &r.at, &r.by, &r.digest, &r.data)
}

func (r *itemRow) item() session.Item {
	if r.id == nil {
		return session.Item{}
	}
	return session.Item{
		ID: fromText(*r.id), Pos: *r.pos, Version: *r.version, Rev: *r.rev, Kind: session.ItemKind(fromText(*r.kind)),
		State: session.ItemState(*r.state), Time: fromNano(*r.at), By: fromText(*r.by), Digest: fromText(*r.digest), Data: r.data,
	}
}

// Put implements [session.Inbox].
func (s *Store) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	made, err := i.Prepare(now())
	if err != nil {
		return session.Item{}, fail("put", id, err)
	}
	var added bool
	var row itemRow
	// It can be done again whatever became of it, because a second time changes nothing.
	err = s.read(ctx, func(ctx context.Context) error {
		row = itemRow{}
		err := s.pool.QueryRow(ctx, s.sql.put, toText(id), toText(made.ID), toText(string(made.Kind)), made.Time.UnixNano(), toText(made.By),
			toText(made.Digest), []byte(made.Data)).Scan(row.fields(&added)...)
		if errors.Is(err, pgx.ErrNoRows) {
			return session.ErrNotFound
		}
		return err
	})
	if err != nil {
		return session.Item{}, fail("put", id, err)
	}
	s.changed(id) // also if it was there: the process that put it may have died before it told
	return row.item(), nil
}

// Change implements [session.Inbox].
func (s *Store) Change(
	ctx context.Context, id, item string, version int64, data json.RawMessage,
) (session.Item, error) {
	if err := session.CheckItemData(data); err != nil {
		return session.Item{}, fail("change", id, err)
	}
	var row itemRow
	var outcome string
	err := s.try(ctx, func(ctx context.Context) error {
		row = itemRow{}
		err := s.pool.QueryRow(
			ctx, s.sql.change, toText(id), toText(item), version, data == nil, []byte(data),
		).Scan(row.fields(&outcome)...)
		if errors.Is(err, pgx.ErrNoRows) {
			return session.ErrNotFound
		}
		return err
	})
	switch {
	case err != nil:
		return session.Item{}, fail("change", id, err)
	case outcome != "done":
		return row.item(), fail("change", id, &session.Error{Err: itemErrors[outcome], Item: item})
	}
	s.changed(id)
	return row.item(), nil
}

// Items implements [session.Inbox].
func (s *Store) Items(
	ctx context.Context, id string, after int64, kinds ...session.ItemKind,
) iter.Seq2[session.Item, error] {
	return func(yield func(session.Item, error) bool) {
		var num, last int64
		err := s.read(ctx, func(ctx context.Context) error {
			err := s.pool.QueryRow(ctx, s.sql.rev, toText(id)).Scan(&num, &last)
			if errors.Is(err, pgx.ErrNoRows) {
				return session.ErrNotFound
			}
			return err
		})
		which := "true"
		if after == 0 {
			which = "state = ''"
		}
		texts := make([]string, len(kinds))
		for i, kind := range kinds {
			texts[i] = toText(string(kind))
		}
		args := []any{num, after, last, loadEntries, loadBytes}
		if len(kinds) > 0 {
			which += " AND kind = ANY($6)"
			args = append(args, texts)
		}
		query := s.sql.items + which + " ORDER BY rev LIMIT $4) p) q WHERE before < $5 ORDER BY rev"
		for err == nil {
			var page []session.Item
			if page, err = s.itemPage(ctx, query, args); err != nil || len(page) == 0 {
				break
			}
			for _, i := range page {
				if err = context.Cause(ctx); err == nil && !yield(i, nil) {
					return
				}
			}
			args[1] = page[len(page)-1].Rev
		}
		if err != nil {
			yield(session.Item{}, fail("items", id, err))
		}
	}
}

func (s *Store) itemPage(ctx context.Context, query string, args []any) (page []session.Item, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		page = nil
		rows, err := s.pool.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var row itemRow
			if err := rows.Scan(row.fields()...); err != nil {
				return err
			}
			page = append(page, row.item())
		}
		return rows.Err()
	})
	return page, err
}
