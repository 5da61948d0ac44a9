// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
)

// newColumn is a step to a version that does not exist.
const newColumn = "ALTER TABLE SCHEMA.sessions ADD COLUMN colour text"

func TestTablesOfAnOlderVersionAreChanged(t *testing.T) {
	url, schema := database(t)
	old := store(t, url, pgstore.Options{Schema: schema})
	_, err := old.Create(t.Context(), session.New{ID: "a", Title: "old", Values: map[string]json.RawMessage{"v": []byte("1")}})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), old, "a", session.Claim{Holder: "an older program"})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Data: []byte(`"1"`)})
	require.NoError(t, err)

	mend := pgstore.AddStep(newColumn, 1)
	t.Cleanup(mend)
	broken := pgstore.AddStep("nonsense", 1)
	_, err = pgstore.Open(t.Context(), url, pgstore.Options{Schema: schema})
	require.ErrorContains(t, err, "migration to version 3")
	broken()
	s := store(t, url, pgstore.Options{Schema: schema})
	_, err = admin(t, url).Exec(t.Context(), "UPDATE "+pgx.Identifier{schema}.Sanitize()+".sessions SET colour = 'red'")
	require.NoError(t, err)

	_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Data: []byte(`"2"`)})
	require.NoError(t, err, "a program that had the older tables open goes on")
	_, err = old.Fork(t.Context(), "a", 1, session.New{ID: "b"})
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, old.Close())
	info, err := s.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "old", info.Title)
	require.EqualValues(t, 2, info.Head)
	info, err = s.Get(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{"v": []byte("1")}, info.Values, "a fork by the older program")
	require.NoError(t, s.Close())

	mend()
	again := store(t, url, pgstore.Options{Schema: schema})
	sessions, err := again.List(t.Context(), session.Query{})
	require.NoError(t, err, "an older program is started again")
	require.Len(t, sessions.Sessions, 2)
	w, err = session.Open(t.Context(), again, "b", session.Claim{Holder: "an older program"})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Data: []byte(`"3"`)})
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))

	mend = pgstore.AddStep(newColumn, 1)
	last := pgstore.AddStep("ALTER TABLE SCHEMA.sessions DROP COLUMN colour", 2)
	store(t, url, pgstore.Options{Schema: schema})
	last()
	store(t, url, pgstore.Options{Schema: schema}) // version 3 serves version 2
	mend()
	_, err = pgstore.Open(t.Context(), url, pgstore.Options{Schema: schema})
	require.ErrorIs(t, err, session.ErrVersion, "version 3 does not serve version 1")
}

// TestConformanceOnNewerTables runs the suite as a program of this version does, on the tables of the next one.
func TestConformanceOnNewerTables(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Target {
		url, schema := database(t)
		mend := pgstore.AddStep(newColumn+" NOT NULL DEFAULT 'red'", 1)
		newer, err := pgstore.Open(t.Context(), url, pgstore.Options{Schema: schema})
		mend()
		require.NoError(t, err)
		opened := []*pgstore.Store{newer}
		return &sessiontest.Target{
			Open: func() (session.Store, error) {
				if len(opened)%2 == 0 { // programs of both versions
					opened = append(opened, newer)
					return newer, nil
				}
				s, err := pgstore.Open(t.Context(), url, pgstore.Options{Schema: schema})
				if err == nil {
					opened = append(opened, s)
				}
				return s, err
			},
			Close: func() {
				for i, s := range opened {
					if i == 0 || s != newer {
						require.NoError(t, s.Close())
					}
				}
			},
		}
	})
}

// TestRenamedSchemasAreRefused gives the name of a schema to another one. The functions of the first one would use the tables of the second one.
func TestRenamedSchemasAreRefused(t *testing.T) {
	url, schema := database(t)
	require.NoError(t, store(t, url, pgstore.Options{Schema: schema}).Close())
	name := schema[:20]
	_, err := admin(t, url).Exec(t.Context(), "ALTER SCHEMA "+pgx.Identifier{schema}.Sanitize()+" RENAME TO "+pgx.Identifier{name}.Sanitize())
	require.NoError(t, err)
	require.NoError(t, store(t, url, pgstore.Options{Schema: schema}).Close())
	_, err = pgstore.Open(t.Context(), url, pgstore.Options{Schema: name})
	require.ErrorIs(t, err, session.ErrInvalid)
	require.ErrorContains(t, err, "was renamed")
}

// TestListsWalkAnIndex looks at the server's plans: a list reads as many sessions as its page has, whatever else is in the tables.
func TestListsWalkAnIndex(t *testing.T) {
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema})
	_, err := admin(t, url).Exec(t.Context(), fmt.Sprintf(`INSERT INTO "%s".sessions (id, title, dir, owner, tenant, vals, created, updated, head, size, parent_id, forked_at, pinned, token, holder, instance, since)
		SELECT 's' || n, '', CASE WHEN n > 5000 THEN 'ponte:ledgers' WHEN n %% 2 = 0 THEN '/repo' ELSE '/other' END,
			'user' || n %% 100, CASE WHEN n %% 2 = 0 THEN 'acme' ELSE '' END, '{}', n, n, 0, 0, '', 0, 0, 0, '', 0, 0
		FROM generate_series(1, 10000) n`, schema))
	require.NoError(t, err)
	_, err = admin(t, url).Exec(t.Context(), fmt.Sprintf(`ANALYZE "%s".sessions`, schema))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		q    session.Query
		want []string
	}{
		"conversations":             {session.Query{Conversations: true}, []string{"sessions_internal_updated"}},
		"conversations by creation": {session.Query{Conversations: true, Order: session.OrderCreated}, []string{"sessions_internal_created"}},
		"those of an owner":         {session.Query{Owner: new("user7")}, []string{"sessions_owner_updated"}},
		"by creation":               {session.Query{Owner: new("user8"), Tenant: "acme", Conversations: true, Order: session.OrderCreated}, []string{"sessions_owner_created"}},
		"those of a tenant":         {session.Query{Tenant: "acme"}, []string{"sessions_tenant_updated"}},
		"of a tenant by creation":   {session.Query{Tenant: "acme", Conversations: true, Order: session.OrderCreated}, []string{"sessions_tenant_created"}},
		"all":                       {session.Query{}, []string{"sessions_internal_updated"}},
		"all by creation":           {session.Query{Order: session.OrderCreated}, []string{"sessions_internal_created"}},
		"those of a directory":      {session.Query{Dir: "/repo"}, []string{"sessions_dir_updated"}},
		"conversations of one":      {session.Query{Dir: "/repo", Conversations: true}, []string{"sessions_dir_updated"}},
		"ledgers":                   {session.Query{Dir: session.InternalDir + "ledgers"}, []string{"sessions_dir_updated"}},
	} {
		page, err := s.List(t.Context(), c.q)
		require.NoError(t, err)
		for _, c.q.Cursor = range []string{"", page.Next} {
			plan, err := pgstore.ListPlan(t.Context(), s, c.q)
			require.NoError(t, err)
			for _, want := range c.want {
				require.Contains(t, plan, want, name)
			}
			require.NotContains(t, plan, "Rows Removed by Filter", name)
			require.NotContains(t, plan, "Seq Scan on sessions", name)
		}
	}
	for _, order := range []session.Order{session.OrderUpdated, session.OrderCreated} { // of which the owner has few
		plan, err := pgstore.ListPlan(t.Context(), s, session.Query{Owner: new("user7"), Dir: "/repo", Order: order})
		require.NoError(t, err)
		require.Contains(t, plan, "sessions_owner_")
		require.NotContains(t, plan, "sessions_dir_")
		require.NotContains(t, plan, "sessions_internal_")
	}
}
