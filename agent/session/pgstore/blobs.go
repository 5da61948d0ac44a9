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

// Blobs returns the blobs of the store's database. They belong to no session, and stay until
// [Blobs.RemoveBefore] removes them. They can be used until the store is closed.
func (s *Store) Blobs() *Blobs { return &Blobs{s} }

// Blobs are data by its hash, in the database of a store.
type Blobs struct{ store *Store }

var _ session.Blobs = (*Blobs)(nil)

// lately is how long ago a blob was put for the time to be worth an update.
const lately = 12 * time.Hour

// Put implements [session.Blobs].
func (b *Blobs) Put(ctx context.Context, key string, data []byte) error {
	if data == nil {
		data = []byte{} // which is not NULL
	}
	return b.do(ctx, "put blob", key, func(ctx context.Context) error {
		_, err := b.store.pool.Exec(ctx, b.store.sql.putBlob, toText(key), data, lately.Nanoseconds())
		return err
	})
}

// Get implements [session.Blobs].
func (b *Blobs) Get(ctx context.Context, key string) (data []byte, err error) {
	err = b.do(ctx, "get blob", key, func(ctx context.Context) error {
		err := b.store.pool.QueryRow(ctx, b.store.sql.getBlob, toText(key)).Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			return session.ErrNoBlob
		}
		return err
	})
	return data, err
}

// RemoveBefore removes blobs that were last put at least half a day before t, and returns how many.
// A blob that was put within the last half day is never removed, whatever t is. The server's clock
// counts.
//
// Remove only blobs without references. A run on Temporal refers to blobs from its start on,
// however long it waits and however often it continues as new, and Temporal refers to them until it
// deletes the workflow. So t must not be later than the first start of the oldest run that is open
// or within the retention of its namespace.
func (b *Blobs) RemoveBefore(ctx context.Context, t time.Time) (removed int64, err error) {
	err = b.do(ctx, "remove blobs", "", func(ctx context.Context) error {
		done, err := b.store.pool.Exec(ctx, b.store.sql.removeBlobs, t.UnixNano(), lately.Nanoseconds())
		removed = done.RowsAffected()
		return err
	})
	return removed, err
}

func (b *Blobs) do(ctx context.Context, op, key string, f func(context.Context) error) error {
	err := b.store.try(ctx, f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNoBlob):
		return fmt.Errorf("pgstore: %s %s: %w", op, key, session.ErrNoBlob)
	}
	return fmt.Errorf("pgstore: %s %s: %w", op, key, translate(err))
}
