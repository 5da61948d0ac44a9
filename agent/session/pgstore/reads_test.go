// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// TestNothingIsReadAsAWhole counts the rows that the server reads, with plans that are made once for all arguments, as those of prepared statements
// may be. What an operation reads must not grow with the tables, nor with its session.
func TestNothingIsReadAsAWhole(t *testing.T) {
	url, schema := database(t)
	config, err := pgxpool.ParseConfig(with(t, url, "options", "-c plan_cache_mode=force_generic_plan"))
	require.NoError(t, err)
	config.MaxConns = 1 // so that it knows what was counted
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	var version int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int").Scan(&version))
	if version < 150000 {
		t.Skip("the server cannot be asked to count at once")
	}
	s, err := pgstore.New(t.Context(), pool, pgstore.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ctx := t.Context()
	const rows = 2000
	_, err = s.Create(ctx, session.New{ID: "big"})
	require.NoError(t, err)
	_, err = admin(t, url).Exec(ctx, strings.ReplaceAll(fmt.Sprintf(`
		INSERT INTO SCHEMA.sessions (id, title, dir, vals, created, updated, head, size, parent_id, forked_at, pinned, token, holder, instance, since)
			SELECT 's' || n, '', CASE WHEN n %% 2 = 0 THEN '/repo' ELSE '' END, '{}', n, n, 0, 0, CASE n %% 1000 WHEN 0 THEN 'big' ELSE '' END, 0, 0, 0, '', 0, 0 FROM generate_series(1, %[1]d) n;
		INSERT INTO SCHEMA.entries (session, seq, time, kind, run, key, place, data)
			SELECT s.num, n, n, 'message', 'r' || n, 'k', 'key 2 r' || n || ' k', '1' FROM SCHEMA.sessions s, generate_series(1, %[1]d) n WHERE s.id = 'big' OR n <= 4;
		INSERT INTO SCHEMA.blobs (key, data, put) SELECT n, '1', 9000000000000000000 FROM generate_series(1, %[1]d) n;
		UPDATE SCHEMA.sessions SET head = %[1]d WHERE id = 'big';
		ANALYZE SCHEMA.sessions; ANALYZE SCHEMA.entries; ANALYZE SCHEMA.blobs`, rows), "SCHEMA", pgx.Identifier{schema}.Sanitize()))
	require.NoError(t, err)
	count := func() (n int64) {
		_, err := pool.Exec(ctx, "SELECT pg_stat_force_next_flush()")
		require.NoError(t, err)
		require.NoError(t, pool.QueryRow(ctx, "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables WHERE schemaname = $1", schema).Scan(&n))
		return n
	}
	loaded := func(after int64) (n int) {
		for _, err := range s.Load(ctx, "big", after) {
			require.NoError(t, err)
			n++
		}
		return n
	}
	w, err := session.Open(ctx, s, "big", session.Claim{})
	require.NoError(t, err)
	list := func(q session.Query) func() {
		return func() {
			page, err := s.List(ctx, q)
			require.NoError(t, err)
			if page.Next != "" {
				q.Cursor = page.Next
				_, err = s.List(ctx, q)
				require.NoError(t, err)
			}
		}
	}
	for _, c := range []struct {
		name string
		most int64
		do   func()
	}{
		{"a list", 250, list(session.Query{})},
		{"a list of conversations", 250, list(session.Query{Conversations: true})},
		{"a list by creation", 250, list(session.Query{Order: session.OrderCreated})},
		{"a list of a directory", 250, list(session.Query{Dir: "/repo", Conversations: true})},
		{"a list of forks", 50, list(session.Query{Parent: "big"})},
		{"the last entries", 50, func() { require.Equal(t, 10, loaded(rows-10)) }},
		{"all entries", rows + 50, func() { require.Equal(t, rows, loaded(0)) }},
		{"a message", 20, func() {
			_, err := w.Append(ctx, session.Entry{Kind: session.KindMessage, Run: "r7", Key: "k", Data: []byte("2")})
			require.NoError(t, err)
		}},
		{"a step", 20, func() {
			_, err := w.Append(ctx, session.Entry{Kind: session.KindStep, Run: "r7", Data: []byte("2")}, session.Entry{Kind: session.KindStep, Run: "r7/inner", Data: []byte("2")})
			require.NoError(t, err)
		}},
		{"the end of a turn", 30, func() {
			_, err := w.Append(ctx, session.Entry{Kind: session.KindEnd, Run: "r7", Data: []byte("2")})
			require.NoError(t, err)
		}},
		{"a fork", 30, func() {
			_, err := s.Fork(ctx, "big", 7, session.New{ID: "fork"})
			require.NoError(t, err)
		}},
		{"a change", 20, func() {
			_, err := s.Update(ctx, "s1", session.Change{})
			require.NoError(t, err)
		}},
		{"a removal", 30, func() { require.NoError(t, s.Delete(ctx, "s1")) }},
		{"giving back and acquiring", 30, func() {
			require.NoError(t, w.Close(ctx))
			w, err = session.Open(ctx, s, "big", session.Claim{})
			require.NoError(t, err)
		}},
		{"old blobs", 20, func() {
			_, err := s.Blobs().RemoveBefore(ctx, time.Now())
			require.NoError(t, err)
		}},
	} {
		before := count()
		c.do()
		require.LessOrEqual(t, count()-before, c.most, c.name)
	}
	n := 0
	for e, err := range s.Load(ctx, "big", rows) {
		require.NoError(t, err)
		require.NotEqual(t, session.KindStep, e.Kind, "the end of a turn takes the place of its steps")
		n++
	}
	require.Equal(t, 2, n)
	require.NoError(t, w.Close(ctx))
}
