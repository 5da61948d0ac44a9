// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/internal/crowdtest"
)

var users = flag.Int("users", 0, "how many users have 100 sessions of 10 entries each in a large store; 1,000 take 0.4 GB")

// populate gives users their sessions. Nothing reads their entries.
func populate(t *testing.T, dir string, from, to int) {
	t.Helper()
	begin := time.Now()
	db := database(t, dir)
	_, err := db.Exec(`WITH RECURSIVE u(u) AS (SELECT ? UNION ALL SELECT u + 1 FROM u WHERE u < ?), n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
		INSERT INTO sessions (id, title, dir, owner, vals, created, updated, head, size, parent_id, forked_at, pinned, token, holder, instance, since)
		SELECT 's' || u || '.' || n, 'A title of session ' || n, '/home/user/project' || n % 5, 'user' || u, '{"mode":"\"ask\"","model":"\"large\""}',
			(n * 100000 + u) * 1000, (n * 100000 + u) * 1000, 0, 0, '', 0, 0, 0, '', '', 0 FROM n, u`, from, to-1, crowdtest.Each)
	require.NoError(t, err)
	_, err = db.Exec(`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
		INSERT INTO entries (session, seq, time, kind, run, key, place, size, sum, data)
		SELECT s.num, n, s.created, 'message', 'r' || n, 'k', 'key 2 r' || n || ' k', 100, 0, '"' || printf('%.*c', 100, 'x') || '"' FROM sessions s, n`, crowdtest.Entries)
	require.NoError(t, err)
	t.Logf("%d users, made in %v", to-from, time.Since(begin))
}

// TestOthersCostNothing measures a store of many users.
func TestOthersCostNothing(t *testing.T) {
	if *users == 0 {
		t.Skip("takes minutes and disk: use -users")
	}
	open := func(dir string, from, to int) *sqlitestore.Store {
		s := store(t, dir)
		populate(t, dir, from, to)
		return s
	}
	dir := t.TempDir()
	crowd, alone := open(dir, 0, *users), open(t.TempDir(), 1, 2)
	byHand, err := database(t, dir).Prepare(`SELECT id, title, dir, tenant, owner, vals, created, updated, head, size, parent_id, forked_at, holder, waiting
		FROM sessions WHERE id IS NOT NULL AND internal = 0 AND tenant = '' AND owner = ? ORDER BY updated DESC, id DESC LIMIT 51`)
	require.NoError(t, err)
	defer byHand.Close()
	type session struct {
		id, title, dir, tenant, owner, vals, parent, holder string
		created, updated, head, size, forkedAt, waiting     int64
	}
	crowdtest.Run(t, crowd, alone, *users, func(owner string) (int, error) {
		rows, err := byHand.QueryContext(t.Context(), owner)
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		var all []session
		for rows.Next() {
			var s session
			if err := rows.Scan(&s.id, &s.title, &s.dir, &s.tenant, &s.owner, &s.vals, &s.created, &s.updated, &s.head, &s.size, &s.parent, &s.forkedAt,
				&s.holder, &s.waiting); err != nil {
				return 0, err
			}
			all = append(all, s)
		}
		return len(all), rows.Err()
	})
}
