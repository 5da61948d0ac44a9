// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"flag"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/internal/pgtest"
)

var operations = flag.Bool("operations", false, "run the tests of what operators do, which take a while")

// operated skips a test that takes a while, unless it is asked for.
func operated(t *testing.T) {
	t.Helper()
	if !*operations {
		t.Skip("takes a while: use -operations")
	}
}

// TestStandbyTakesOver ends a server with a synchronous standby while stores append, and promotes the standby. The address of the stores has both. Nothing
// that was acknowledged is lost, and the stores keep their sessions.
func TestStandbyTakesOver(t *testing.T) {
	operated(t)
	database(t)
	primary, err := pgtest.Start(true)
	require.NoError(t, err)
	defer func() { require.NoError(t, primary.Close()) }()
	second, err := primary.Standby()
	require.NoError(t, err)
	defer func() { require.NoError(t, second.Close()) }()
	_, err = admin(t, primary.URL()).Exec(t.Context(), "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
	require.NoError(t, err)
	_, err = admin(t, primary.URL()).Exec(t.Context(), "SELECT pg_reload_conf()")
	require.NoError(t, err)

	_, err = pgstore.Open(t.Context(), second.URL(), pgstore.Options{})
	require.ErrorIs(t, err, session.ErrReadOnly, "a standby has no leases")
	u, err := url.Parse(primary.URL())
	require.NoError(t, err)
	other, err := url.Parse(second.URL())
	require.NoError(t, err)
	u.Host += "," + other.Host
	both := with(t, u.String(), "target_session_attrs", "read-write")
	s := store(t, both, pgstore.Options{})
	createBusySessions(t, s)
	_, err = s.Create(t.Context(), session.New{ID: "kept"})
	require.NoError(t, err)
	kept, err := session.Open(t.Context(), s, "kept", session.Claim{Holder: "me"})
	require.NoError(t, err)
	_, err = kept.Append(t.Context(), message("1"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the setting has arrived
		var state string
		err := admin(t, primary.URL()).QueryRow(t.Context(), "SELECT sync_state FROM pg_stat_replication").Scan(&state)
		return err == nil && state == "sync"
	}, time.Minute, 10*time.Millisecond)

	acknowledged := map[string]bool{}
	lines := make(chan string)
	failed := appendToAll(s, 0, lines, nil)
	for range 500 {
		acknowledged[<-lines] = true
	}
	require.NoError(t, primary.Kill())
	for writers := busySessions; writers > 0; {
		select {
		case line := <-lines:
			acknowledged[line] = true
		case err := <-failed:
			require.ErrorIs(t, err, session.ErrUnavailable)
			writers--
		}
	}
	_, err = admin(t, second.URL()).Exec(t.Context(), "SELECT pg_promote()")
	require.NoError(t, err)
	var late error
	require.Eventually(t, func() bool {
		_, late = kept.Append(t.Context(), message("2"))
		return late == nil
	}, time.Minute, 10*time.Millisecond, "a writer goes on: %v", late)
	hasAll(t, s, acknowledged)

	elsewhere := store(t, both, pgstore.Options{})
	require.Eventually(t, func() bool {
		info, err := elsewhere.Get(t.Context(), "kept")
		return err == nil && info.Holder == "me"
	}, time.Minute, 10*time.Millisecond, "the store holds what it had")
	_, err = elsewhere.Acquire(t.Context(), "kept", session.Claim{})
	require.ErrorIs(t, err, session.ErrHeld)
	require.NoError(t, kept.Close(t.Context()))
}

// TestRestoredDumpGoesOn dumps the schema while sessions are in use, and restores it in another database.
func TestRestoredDumpGoesOn(t *testing.T) {
	operated(t)
	database, schema := database(t)
	old := store(t, database, pgstore.Options{Schema: schema})
	_, err := old.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), old, "a", session.Claim{Holder: "me"})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), message("1"))
	require.NoError(t, err)
	fork, err := old.Fork(t.Context(), "a", 1, session.New{ID: "fork", Dir: session.InternalDir + "x"})
	require.NoError(t, err)
	require.NoError(t, old.Blobs().Put(t.Context(), "key", []byte("data")))

	name := "restored " + schema
	require.NoError(t, server.Client("pg_dump", "-n", `"`+schema+`"`, "-f", name))
	require.NoError(t, server.Client("createdb", name))
	require.NoError(t, server.Client("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", name, "-f", name))
	u, err := url.Parse(database)
	require.NoError(t, err)
	u.Path = "/" + name
	restored := store(t, u.String(), pgstore.Options{Schema: schema})
	info, err := restored.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Empty(t, info.Holder, "nobody has it here")
	again, err := session.Open(t.Context(), restored, "a", session.Claim{})
	require.NoError(t, err)
	require.Greater(t, again.Lease().Token, w.Lease().Token)
	_, err = restored.Append(t.Context(), w.Lease(), 1, session.Batch{Entries: []session.Entry{message("2")}})
	require.ErrorIs(t, err, session.ErrLeaseLost)
	_, err = again.Append(t.Context(), message("2"))
	require.NoError(t, err)
	copied, err := restored.Get(t.Context(), "fork")
	require.NoError(t, err)
	require.Equal(t, fork, copied)
	_, err = restored.Create(t.Context(), session.New{ID: "b"})
	require.NoError(t, err)
	data, err := restored.Blobs().Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, "data", string(data))
	require.NoError(t, again.Close(t.Context()))
	require.NoError(t, w.Close(t.Context()), "here everything goes on")
}
