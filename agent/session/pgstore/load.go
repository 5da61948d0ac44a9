// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ponte-go/ponte/agent/session"
)

const (
	// loadEntries and loadBytes bound what is read in one go.
	loadEntries = 256
	loadBytes   = 4 << 20
)

// segment is a part of a session's entries: the entries of one row with numbers greater than after
// and at most to.
type segment struct{ num, after, to int64 }

// find returns the number of a session's row, its head, and where its entries are after a position,
// the oldest first.
func (s *Store) find(ctx context.Context, id string, after int64) (num, head int64, all []segment, err error) {
	var forkedAt int64
	var parent *int64
	err = s.pool.QueryRow(ctx, s.sql.find, toText(id)).Scan(&num, &head, &forkedAt, &parent)
	if errors.Is(err, pgx.ErrNoRows) {
		err = session.ErrNotFound
	}
	if err != nil {
		return 0, 0, nil, err
	}
	part, to := num, head
	for {
		if to > after {
			all = append(all, segment{part, max(after, forkedAt), to})
		}
		if forkedAt <= after || parent == nil {
			slices.Reverse(all)
			return num, head, all, nil
		}
		part, to = *parent, min(to, forkedAt)
		err = s.pool.QueryRow(ctx, s.sql.parent, part).Scan(&forkedAt, &parent)
		if errors.Is(err, pgx.ErrNoRows) {
			err = session.ErrNotFound // it was deleted just now
		}
		if err != nil {
			return 0, 0, nil, err
		}
	}
}

// Load implements [session.Store].
func (s *Store) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		var num int64
		var all []segment
		err := s.read(ctx, func(ctx context.Context) (err error) {
			num, _, all, err = s.find(ctx, id, after)
			return err
		})
		for i := 0; i < len(all) && err == nil; i++ {
			for part := &all[i]; part.after < part.to && err == nil; {
				var page []session.Entry
				if page, err = s.page(ctx, part); err != nil {
					break
				}
				for _, e := range page {
					if err = context.Cause(ctx); err != nil {
						break
					}
					if !yield(e, nil) {
						return
					}
				}
			}
		}
		if err == nil {
			var again int64
			err = s.read(ctx, func(ctx context.Context) (err error) {
				again, _, _, err = s.find(ctx, id, math.MaxInt64)
				return err
			})
			if err == nil && again != num {
				err = session.ErrNotFound // the one that was loaded is gone, and with it perhaps some of its entries
			}
		}
		if err != nil {
			yield(session.Entry{}, fail("load", id, err))
		}
	}
}

// page reads entries of a segment, and makes it the rest.
func (s *Store) page(ctx context.Context, part *segment) (page []session.Entry, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		page = nil
		rows, err := s.pool.Query(ctx, s.sql.page, part.num, part.after, part.to, loadEntries, loadBytes)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e session.Entry
			var at int64
			var kind string
			var data []byte
			if err := rows.Scan(&e.Seq, &at, &kind, &e.Run, &e.Key, &data); err != nil {
				return err
			}
			e.Time, e.Kind, e.Run, e.Key, e.Data = fromNano(at), session.Kind(fromText(kind)), fromText(e.Run), fromText(e.Key), data
			page = append(page, e)
		}
		return rows.Err()
	})
	switch n := len(page); {
	case err != nil:
	case n == 0:
		part.after = part.to
	default:
		part.after = page[n-1].Seq
	}
	return page, err
}
