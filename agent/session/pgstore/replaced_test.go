// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// queries counts the queries of a pool.
type queries struct{ n atomic.Int64 }

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	q.n.Add(1)
	return ctx
}

func (*queries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestWatchEndsWhenItsSessionIsReplaced gives the id to another session while the watch waits.
func TestWatchEndsWhenItsSessionIsReplaced(t *testing.T) {
	database, schema := database(t)
	config, err := pgxpool.ParseConfig(database)
	require.NoError(t, err)
	var asked queries
	config.ConnConfig.Tracer = &asked
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	watcher, err := pgstore.New(t.Context(), pool, pgstore.Options{Schema: schema, Poll: time.Millisecond})
	require.NoError(t, err)
	defer watcher.Close()
	s := store(t, database, pgstore.Options{Schema: schema})
	for _, id := range []string{"a", "b"} {
		_, err := s.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
		w, err := session.Open(t.Context(), s, id, session.Claim{})
		require.NoError(t, err)
		_, err = w.Append(t.Context(), message("1"))
		require.NoError(t, err)
		if id == "b" {
			_, err = w.Append(t.Context(), message("2"))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close(t.Context()))
	}
	first, ended := make(chan int64), make(chan error, 1)
	go func() {
		for e, err := range watcher.Watch(t.Context(), "a", 0) {
			if err != nil {
				ended <- err
				return
			}
			if e.Seq > 1 {
				t.Error("an entry of the other session is yielded")
			}
			first <- asked.n.Load()
		}
	}()
	before := <-first
	require.Eventually(t, func() bool { return asked.n.Load() > before+10 }, time.Minute, time.Millisecond, "the watch waits")
	table := pgx.Identifier{schema, "sessions"}.Sanitize()
	_, err = admin(t, database).Exec(t.Context(), "UPDATE "+table+" SET id = 'old' WHERE id = 'a'; UPDATE "+table+" SET id = 'a' WHERE id = 'b'") // one transaction
	require.NoError(t, err)
	require.ErrorIs(t, <-ended, session.ErrNotFound)
}
