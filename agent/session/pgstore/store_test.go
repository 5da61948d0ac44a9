// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// admin is a connection for statements of the test.
func admin(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return conn
}

func TestOfTwoMachinesOneAppends(t *testing.T) {
	database, schema := database(t)
	first := store(t, database, pgstore.Options{Schema: schema})
	second := store(t, database, pgstore.Options{Schema: schema})
	_, err := first.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	l, err := first.Acquire(t.Context(), "a", session.Claim{Holder: "first"})
	require.NoError(t, err)
	_, err = second.Acquire(t.Context(), "a", session.Claim{Holder: "second"})
	require.ErrorIs(t, err, session.ErrHeld)

	// The first one is taken for dead, as if its network were gone, but lives.
	var taken session.Lease
	conn := admin(t, database)
	require.Eventually(t, func() bool {
		_, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'
			AND (classid::bigint << 32 | objid::bigint) = (SELECT instance FROM `+pgx.Identifier{schema}.Sanitize()+`.sessions WHERE id = 'a')`)
		require.NoError(t, err)
		taken, err = second.Acquire(t.Context(), "a", session.Claim{Holder: "second"})
		return err == nil
	}, time.Minute, time.Millisecond)
	_, err = second.Append(t.Context(), taken, 0, session.Batch{Entries: []session.Entry{{Kind: session.KindMessage, Data: []byte(`"second"`)}}})
	require.NoError(t, err)
	_, err = first.Append(t.Context(), l, 1, session.Batch{Entries: []session.Entry{{Kind: session.KindMessage, Data: []byte(`"first"`)}}})
	var lost *session.Error
	require.ErrorIs(t, err, session.ErrLeaseLost)
	require.ErrorAs(t, err, &lost)
	require.Equal(t, "second", lost.Holder)
	require.ErrorIs(t, first.Release(t.Context(), l), session.ErrLeaseLost)
	require.NoError(t, second.Release(t.Context(), taken))
}

func TestManyCanOpenANewStoreAtOnce(t *testing.T) {
	database, schema := database(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := pgstore.Open(t.Context(), database, pgstore.Options{Schema: schema})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	all.Wait()
}

func TestTablesOfANewerVersionAreRefused(t *testing.T) {
	database, schema := database(t)
	require.NoError(t, store(t, database, pgstore.Options{Schema: schema}).Close())
	_, err := admin(t, database).Exec(t.Context(), "UPDATE "+pgx.Identifier{schema}.Sanitize()+".version SET version = 99, serves = 99")
	require.NoError(t, err)
	_, err = pgstore.Open(t.Context(), database, pgstore.Options{Schema: schema})
	require.ErrorIs(t, err, session.ErrVersion)
	require.ErrorContains(t, err, "version 99, this program has version 1")
}

func TestErrorsOfOpen(t *testing.T) {
	database, schema := database(t)
	server, err := url.Parse(database)
	require.NoError(t, err)
	readOnly, query := *server, server.Query()
	query.Set("options", "-c default_transaction_read_only=on")
	readOnly.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	noDatabase := *server
	noDatabase.Path = "/missing"
	for name, c := range map[string]struct {
		database string
		options  pgstore.Options
		want     error
	}{
		"nobody listens":          {"postgres://test:secret@127.0.0.1:1/postgres", pgstore.Options{}, session.ErrUnavailable},
		"no such database":        {noDatabase.String(), pgstore.Options{}, session.ErrUnavailable},
		"a standby":               {readOnly.String(), pgstore.Options{Schema: schema}, session.ErrReadOnly},
		"no connection string":    {"postgres://user:secret@host:port/", pgstore.Options{}, session.ErrInvalid},
		"a long name":             {database, pgstore.Options{Schema: strings.Repeat("x", 64)}, session.ErrInvalid},
		"less than three seconds": {database, pgstore.Options{Lost: time.Second}, session.ErrInvalid},
		"a negative time":         {database, pgstore.Options{Poll: -1}, session.ErrInvalid},
		"a fraction of a second":  {database, pgstore.Options{Lost: 3500 * time.Millisecond}, session.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pgstore.Open(t.Context(), c.database, c.options)
			require.ErrorIs(t, err, c.want)
			var known *session.Error
			require.ErrorAs(t, err, &known)
			require.Equal(t, "open", known.Op)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

// TestTextsComeBackAsTheyWere is about what Postgres cannot keep in a text, and what stands for it.
func TestTextsComeBackAsTheyWere(t *testing.T) {
	database, schema := database(t)
	s := store(t, database, pgstore.Options{Schema: schema})
	for _, text := range []string{"a\x00b", "\ue000", "\ue0000\ue0001\x00\ue000", `\0 \x00 \u0000`, "'; DROP TABLE sessions; --", "€ 日本語 🙂", "%s%[1]d $1 SCHEMA."} {
		value, err := json.Marshal(text)
		require.NoError(t, err)
		id := strings.ReplaceAll(text, "\x00", "")
		made, err := s.Create(t.Context(), session.New{ID: id, Title: text, Dir: text, Values: map[string]json.RawMessage{text: value}})
		require.NoError(t, err)
		require.Equal(t, id, made.ID)
		require.Equal(t, text, made.Title)
		require.Equal(t, map[string]json.RawMessage{text: value}, made.Values)
		page, err := s.List(t.Context(), session.Query{Dir: text})
		require.NoError(t, err)
		require.Equal(t, []session.Info{made}, page.Sessions)
		l, err := s.Acquire(t.Context(), id, session.Claim{Holder: text})
		require.NoError(t, err)
		want := session.Entry{Seq: 1, Time: time.Unix(1, 0).UTC(), Kind: session.Kind(text), Run: text, Key: text, Data: value}
		_, err = s.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{want}})
		require.NoError(t, err)
		for e, err := range s.Load(t.Context(), id, 0) {
			require.NoError(t, err)
			require.Equal(t, want, e)
		}
		fork, err := s.Fork(t.Context(), id, 1, session.New{})
		require.NoError(t, err)
		require.Equal(t, id, fork.Parent)
		require.Equal(t, made.Values, fork.Values)
	}
}

func TestWatchesOfOtherMachinesWakeUp(t *testing.T) {
	database, schema := database(t)
	writer := store(t, database, pgstore.Options{Schema: schema, Poll: time.Hour})
	watcher := store(t, database, pgstore.Options{Schema: schema, Poll: time.Hour})
	_, err := writer.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	l, err := writer.Acquire(t.Context(), "a", session.Claim{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	head := int64(0)
	write := func() {
		head, err = writer.Append(ctx, l, head, session.Batch{Entries: []session.Entry{{Kind: session.KindView, Data: []byte(`1`)}}})
		require.NoError(t, err)
	}
	write()
	conn := admin(t, database)
	for e, err := range watcher.Watch(ctx, "a", 0) {
		require.NoError(t, err)
		require.Equal(t, head, e.Seq)
		switch head {
		case 3:
			// Notifications that are sent while the connection is lost are made up for.
			_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ponte sessions'")
			require.NoError(t, err)
		case 6:
			return
		}
		write()
	}
}

func TestStoreOnAPoolOfTheProgram(t *testing.T) {
	database, schema := database(t)
	pool, err := pgxpool.New(t.Context(), database)
	require.NoError(t, err)
	defer pool.Close()
	s, err := pgstore.New(t.Context(), pool, pgstore.Options{Schema: schema})
	require.NoError(t, err)
	_, err = s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	_, err = s.Acquire(t.Context(), "a", session.Claim{Holder: "me"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Close(), session.ErrClosed)
	_, err = s.Get(t.Context(), "a")
	require.ErrorIs(t, err, session.ErrClosed)
	require.NoError(t, pool.Ping(t.Context()), "the pool stays open")
	again, err := pgstore.New(t.Context(), pool, pgstore.Options{Schema: schema})
	require.NoError(t, err)
	defer again.Close()
	_, err = again.Acquire(t.Context(), "a", session.Claim{Holder: "the next one"})
	require.NoError(t, err, "what was held by a store is free when it is closed")
}
