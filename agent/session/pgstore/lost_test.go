// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// wire makes connections to the server that can all be lost at once.
type wire struct{ cut atomic.Bool }

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	return &lostConn{Conn: c, wire: w, lost: !w.cut.Load()}, err
}

// lostConn is lost when its wire is cut, if lost is true. It behaves as a connection does whose other side is gone: what is written goes nowhere.
type lostConn struct {
	net.Conn
	wire *wire
	lost bool
}

func (c *lostConn) Write(p []byte) (int, error) {
	if c.lost && c.wire.cut.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *lostConn) Read(p []byte) (int, error) {
	if c.lost && c.wire.cut.Load() {
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

// fill returns a store whose pool has four connections that nobody looks at before they are used.
func fill(t *testing.T, w *wire) *pgstore.Store {
	t.Helper()
	s, _, _ := filled(t, w)
	return s
}

// filled is like fill, and returns where the store is.
func filled(t *testing.T, w *wire) (s *pgstore.Store, url, schema string) {
	t.Helper()
	url, schema = database(t)
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = 4
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.ConnConfig.DialFunc = w.dial
	config.ConnConfig.RuntimeParams["application_name"] = t.Name()
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, err = pgstore.New(t.Context(), pool, pgstore.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	var used []*pgxpool.Conn
	for range config.MaxConns {
		c, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		used = append(used, c)
	}
	for _, c := range used {
		c.Release()
	}
	return s, url, schema
}

// TestOneErrorTellsOfLostConnections loses all connections at once: one operation may fail, the next ones do not.
func TestOneErrorTellsOfLostConnections(t *testing.T) {
	var w wire
	s := fill(t, &w)
	w.cut.Store(true)
	if _, err := s.Create(t.Context(), session.New{ID: "a"}); err != nil {
		require.ErrorIs(t, err, session.ErrUnavailable)
	}
	for _, id := range []string{"b", "c", "d", "e"} {
		_, err := s.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
	}
}

// TestSessionIsGivenBackLater loses all connections when a session is given back. It is free as soon as the server can be reached again.
func TestSessionIsGivenBackLater(t *testing.T) {
	var w wire
	s := fill(t, &w)
	_, err := s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	l, err := s.Acquire(t.Context(), "a", session.Claim{})
	require.NoError(t, err)
	w.cut.Store(true)
	require.ErrorIs(t, s.Release(t.Context(), l), session.ErrUnavailable)
	require.Eventually(t, func() bool {
		_, err := s.Acquire(t.Context(), "a", session.Claim{})
		return err == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, s.Release(t.Context(), l), "who tries again is told that it was done")
	require.ErrorIs(t, s.Release(t.Context(), l), session.ErrLeaseLost)
}

// TestSessionThatIsTakenBeforeItIsGivenBack loses all connections when a session is given back, and another
// machine takes it at once. Whoever tries again is told that it was given back, whichever came first.
func TestSessionThatIsTakenBeforeItIsGivenBack(t *testing.T) {
	var w wire
	s, url, schema := filled(t, &w)
	other, err := pgstore.Open(t.Context(), url, pgstore.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	_, err = s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	l, err := s.Acquire(t.Context(), "a", session.Claim{})
	require.NoError(t, err)
	w.cut.Store(true)
	require.ErrorIs(t, s.Release(t.Context(), l), session.ErrUnavailable)
	_, err = other.Acquire(t.Context(), "a", session.Claim{Force: true})
	require.NoError(t, err)
	require.NoError(t, s.Release(t.Context(), l))
	require.ErrorIs(t, s.Release(t.Context(), l), session.ErrLeaseLost)
}

// TestConnectionOutOfStepIsReplaced opens a store whose first connection still has the answer to a statement of somebody else to come.
func TestConnectionOutOfStepIsReplaced(t *testing.T) {
	url, schema := database(t)
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	connections := 0
	config.MaxConns = 1
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		if connections++; connections > 1 {
			return nil
		}
		conn.PgConn().Frontend().SendQuery(&pgproto3.Query{String: "DISCARD ALL"})
		return conn.PgConn().Frontend().Flush()
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	s, err := pgstore.New(t.Context(), pool, pgstore.Options{Schema: schema})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// TestEndedConnectionsAreReplaced has the server end all connections, as it does when it is stopped. No operation fails.
func TestEndedConnectionsAreReplaced(t *testing.T) {
	s := fill(t, new(wire))
	url, _ := database(t)
	other, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close(t.Context())) }()
	ended, err := other.Exec(t.Context(), "select pg_terminate_backend(pid, 60000) from pg_stat_activity where application_name = $1", t.Name())
	require.NoError(t, err)
	require.EqualValues(t, 4, ended.RowsAffected())
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		_, err := s.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
	}
}
