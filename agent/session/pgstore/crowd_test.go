// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/internal/crowdtest"
)

var users = flag.Int("users", 0, "how many users have 100 sessions of 10 entries each in a large store; 10,000 take 4 GB")

// populate gives users their sessions.
func populate(t *testing.T, url, schema string, from, to int) {
	t.Helper()
	begin := time.Now()
	db := admin(t, url)
	for _, statement := range []string{
		`INSERT INTO SCHEMA.sessions (id, title, dir, owner, vals, created, updated, head, size, parent_id, forked_at, pinned, token, holder, instance, since)
			SELECT 's' || u || '.' || n, 'A title of session ' || n, '/home/user/project' || mod(n, 5), 'user' || u, '{"mode":"\"ask\"","model":"\"large\""}',
				(n * 100000 + u)::bigint * 1000, (n * 100000 + u)::bigint * 1000, %[4]d, %[4]d * 100, '', 0, 0, 0, '', 0, 0
			FROM generate_series(1, %[3]d) n, generate_series(%[1]d, %[2]d) u`,
		`INSERT INTO SCHEMA.entries (session, seq, time, kind, run, key, place, data)
			SELECT s.num, n, s.created, 'message', 'r' || n, 'k', 'key 2 r' || n || ' k', convert_to('"' || repeat('text ', 20) || '"', 'UTF8')
			FROM SCHEMA.sessions s, generate_series(1, %[4]d) n`,
		`ANALYZE SCHEMA.sessions`, `ANALYZE SCHEMA.entries`,
	} {
		if strings.Contains(statement, "%") {
			statement = fmt.Sprintf(statement, from, to-1, crowdtest.Each, crowdtest.Entries)
		}
		_, err := db.Exec(t.Context(), strings.ReplaceAll(statement, "SCHEMA", pgx.Identifier{schema}.Sanitize()))
		require.NoError(t, err)
	}
	t.Logf("%d users, made in %v", to-from, time.Since(begin))
}

// TestOthersCostNothing measures a store of many users. Nothing syncs, so that what is measured is work.
func TestOthersCostNothing(t *testing.T) {
	if *users == 0 {
		t.Skip("takes minutes and disk: use -users")
	}
	url, schema := database(t)
	open := func(name string, from, to int) *pgstore.Store {
		s := store(t, url, pgstore.Options{Schema: name})
		populate(t, url, name, from, to)
		return s
	}
	crowd, alone := open(schema, 0, *users), open(schema+"1", 1, 2)
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	type session struct {
		id, title, dir, tenant, owner, vals, parent, holder string
		created, updated, head, size, forkedAt, waiting     int64
	}
	query := "SELECT id, title, dir, tenant, owner, vals, created, updated, head, size, parent_id, forked_at, waiting, holder FROM " +
		pgx.Identifier{schema}.Sanitize() + ".sessions WHERE id IS NOT NULL AND whose = $1 ORDER BY updated DESC, id DESC LIMIT 51"
	crowdtest.Run(t, crowd, alone, *users, func(owner string) (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		rows, err := pool.Query(ctx, query, "0\x01"+owner)
		if err != nil {
			return 0, err
		}
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s session, err error) {
			return s, row.Scan(&s.id, &s.title, &s.dir, &s.tenant, &s.owner, &s.vals, &s.created, &s.updated, &s.head, &s.size, &s.parent, &s.forkedAt, &s.waiting, &s.holder)
		})
		return len(all), err
	})
}
