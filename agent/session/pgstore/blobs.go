// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ponte-go/ponte/agent/session"
)

// Blobs returns the blobs of the store's database. They belong to no session, and stay until [Blobs.RemoveBefore] removes them. They can be used
// until the store is closed.
func (s *Store) Blobs() *Blobs { return &Blobs{s} }

// Blobs are data by its hash, in the database of a store.
type Blobs struct{ store *Store }

var _ session.Blobs = (*Blobs)(nil)

// lately is how long ago a blob was put for the time to be worth an update.
const lately = 12 * time.Hour

// Put implements [session.Blobs].
func (b *Blobs) Put(ctx context.Context, key string, data []byte) error {
	at := now()
	if data == nil {
		data = []byte{} // which is not NULL
	}
	return b.do(ctx, "put blob", key, func() error {
		_, err := b.store.pool.Exec(ctx, b.store.sql.putBlob, toText(key), data, at.UnixNano(), at.Add(-lately).UnixNano())
		return err
	})
}

// Get implements [session.Blobs].
func (b *Blobs) Get(ctx context.Context, key string) (data []byte, err error) {
	err = b.do(ctx, "get blob", key, func() error {
		err := b.store.pool.QueryRow(ctx, b.store.sql.getBlob, toText(key)).Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			return session.ErrNoBlob
		}
		return err
	})
	return data, err
}

// RemoveBefore removes the blobs that were put last before a time, and returns how many. That time is exact to half a day. Remove only what
// nobody refers to any more: for runs on Temporal, what is older than the retention of the namespace and the longest run together.
func (b *Blobs) RemoveBefore(ctx context.Context, t time.Time) (removed int64, err error) {
	err = b.do(ctx, "remove blobs", "", func() error {
		done, err := b.store.pool.Exec(ctx, b.store.sql.removeBlobs, t.Add(-lately).UnixNano())
		removed = done.RowsAffected()
		return err
	})
	return removed, err
}

func (b *Blobs) do(ctx context.Context, op, key string, f func() error) error {
	err := b.store.try(ctx, f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNoBlob):
		return fmt.Errorf("pgstore: %s %s: %w", op, key, session.ErrNoBlob)
	}
	return fmt.Errorf("pgstore: %s %s: %w", op, key, translate(err))
}
