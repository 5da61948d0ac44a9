// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
	"github.com/ponte-go/ponte/internal/pgtest"
)

// bouncer returns the address of a PgBouncer, and a schema of its own.
func bouncer(t *testing.T, mode string, size int) (url, schema string) {
	t.Helper()
	_, schema = database(t)
	b, err := server.Bounce(mode, size)
	if errors.Is(err, pgtest.ErrNoBouncer) && !pgtest.BouncerRequired() {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b.URL(), schema
}

// TestPoolersOfTransactionsAreRefused opens stores through PgBouncer, in the modes in which a connection is not its client's own.
func TestPoolersOfTransactionsAreRefused(t *testing.T) {
	for _, mode := range []string{"transaction", "statement"} {
		for _, exec := range []string{"cache_statement", "cache_describe", "exec", "simple_protocol"} {
			t.Run(mode+" "+exec, func(t *testing.T) {
				url, schema := bouncer(t, mode, 50)
				for n := range 3 { // with connections to the server that others have used, too
					_, err := pgstore.Open(t.Context(), with(t, url, "default_query_exec_mode", exec), pgstore.Options{Schema: schema})
					require.ErrorIs(t, err, session.ErrInvalid, "try %d", n)
					require.ErrorContains(t, err, "use the server itself, or a pooler in session mode")
				}
			})
		}
	}
}

// TestBusyPoolersOfTransactionsAreRefused is the same while others use the pooler.
func TestBusyPoolersOfTransactionsAreRefused(t *testing.T) {
	url, schema := bouncer(t, "transaction", 10)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 8 {
		config, err := pgx.ParseConfig(url)
		require.NoError(t, err)
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
		conn, err := pgx.ConnectConfig(ctx, config)
		require.NoError(t, err)
		all.Go(func() {
			defer conn.Close(context.Background())
			for ctx.Err() == nil {
				_, _ = conn.Exec(ctx, "SELECT pg_sleep(0.001)")
			}
		})
	}
	for range 20 {
		_, err := pgstore.Open(ctx, with(t, url, "default_query_exec_mode", "exec"), pgstore.Options{Schema: schema})
		require.ErrorContains(t, err, "use the server itself, or a pooler in session mode")
	}
	cancel()
	all.Wait()
}

func TestPoolersOfSessions(t *testing.T) {
	url, schema := bouncer(t, "session", 150)
	n := 0
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Target {
		n++
		own := fmt.Sprint(schema, n)
		var opened []*pgstore.Store
		return &sessiontest.Target{
			Open: func() (session.Store, error) {
				s, err := pgstore.Open(t.Context(), url, pgstore.Options{Schema: own})
				if err == nil {
					opened = append(opened, s)
				}
				return s, err
			},
			Close: func() {
				for _, s := range opened {
					require.NoError(t, s.Close())
				}
			},
		}
	})
	// A session is free when its store is gone without a word, as from a client of PgBouncer that was killed.
	first, second := store(t, url, pgstore.Options{Schema: schema}), store(t, url, pgstore.Options{Schema: schema})
	_, err := first.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	_, err = first.Acquire(t.Context(), "a", session.Claim{})
	require.NoError(t, err)
	_, err = second.Acquire(t.Context(), "a", session.Claim{})
	require.ErrorIs(t, err, session.ErrHeld)
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool {
		_, err := second.Acquire(t.Context(), "a", session.Claim{})
		return err == nil
	}, time.Minute, time.Millisecond)
}
