// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

func value(text string) session.Entry {
	data, _ := json.Marshal(text)
	return session.Entry{Kind: session.KindValue, Data: data}
}

// database opens the database behind a store.
func database(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "sessions.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// check has SQLite look at the whole database.
func check(t *testing.T, dir string) {
	t.Helper()
	var said string
	require.NoError(t, database(t, dir).QueryRow("PRAGMA integrity_check").Scan(&said))
	require.Equal(t, "ok", said)
}

// fill makes sessions with entries of 1 kB.
func fill(t *testing.T, s session.Store, sessions, each int) {
	t.Helper()
	for n := range sessions {
		id := fmt.Sprint("s", n)
		_, err := s.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
		w, err := session.Open(t.Context(), s, id, session.Claim{})
		require.NoError(t, err)
		for i := range each {
			_, err := w.Append(t.Context(), value(fmt.Sprintf("%s.%d %s", id, i, strings.Repeat("x", 1000))))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close(t.Context()))
	}
}

func count(t *testing.T, s session.Store, id string) (good, damaged int, last error) {
	t.Helper()
	for e, err := range s.Load(t.Context(), id, 0) {
		if err != nil {
			require.ErrorIs(t, err, session.ErrCorrupt)
			last = err
			if e.Seq != 0 {
				damaged++
			}
			continue
		}
		good++
	}
	return good, damaged, last
}

func TestFilesAreReadableByTheirOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := store(t, dir)
	fill(t, s, 1, 1)
	w, err := session.Open(t.Context(), s, "s0", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), value(strings.Repeat("x", 1<<20)))
	require.NoError(t, err)
	found := 0
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		require.NoError(t, err)
		found++
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		require.Equal(t, want, info.Mode().Perm(), path)
		return nil
	}))
	require.GreaterOrEqual(t, found, 8, "database, log, index, a holder and a media file")
	require.NoError(t, w.Close(t.Context()))
}

func TestFlippedBitsAreFound(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	fill(t, s, 3, 30)
	require.NoError(t, s.Compact(t.Context()))
	require.NoError(t, s.Close())
	path := filepath.Join(dir, "sessions.db")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(data, []byte("s1.17 xxxx"))
	require.Positive(t, at)
	data[at+100] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))

	s = store(t, dir)
	good, damaged, last := count(t, s, "s1")
	require.Equal(t, 29, good, "the other entries are there")
	require.Equal(t, 1, damaged)
	require.ErrorContains(t, last, "s1: entry 18")
	for _, id := range []string{"s0", "s2"} {
		good, damaged, _ = count(t, s, id)
		require.Equal(t, 30, good)
		require.Zero(t, damaged)
	}
	var kept bytes.Buffer
	require.ErrorIs(t, session.Export(t.Context(), s, &kept), session.ErrCorrupt)
	require.Equal(t, 3+89, strings.Count(kept.String(), "\n"), "the rest is exported")
}

func TestTruncatedDatabaseIsFound(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	fill(t, s, 4, 100)
	require.NoError(t, s.Compact(t.Context()))
	require.NoError(t, s.Close())
	path := filepath.Join(dir, "sessions.db")
	info, err := os.Stat(path)
	require.NoError(t, err)

	require.NoError(t, os.Truncate(path, info.Size()*3/4/4096*4096))
	found := 0
	if s, err := sqlitestore.Open(dir, sqlitestore.Options{}); err != nil {
		require.ErrorIs(t, err, session.ErrCorrupt)
		found++
	} else {
		for n := range 4 {
			good, _, last := count(t, s, fmt.Sprint("s", n))
			if good < 100 {
				require.Error(t, last, "entries are missing without an error")
				found++
			}
		}
		require.NoError(t, s.Close())
	}
	require.Positive(t, found)

	require.NoError(t, os.Truncate(path, 1000))
	_, err = sqlitestore.Open(dir, sqlitestore.Options{})
	require.ErrorIs(t, err, session.ErrCorrupt)
	require.ErrorContains(t, err, dir)
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("nonsense"), 1000), 0o600))
	_, err = sqlitestore.Open(dir, sqlitestore.Options{})
	require.ErrorIs(t, err, session.ErrCorrupt)
}

func TestDatabaseOfAnotherProgramIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := database(t, dir).Exec("CREATE TABLE t (x)")
	require.NoError(t, err)
	_, err = sqlitestore.Open(dir, sqlitestore.Options{})
	require.ErrorIs(t, err, session.ErrCorrupt)
	require.ErrorContains(t, err, "another program")
}

func TestLockedDatabaseIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlitestore.Open(dir, sqlitestore.Options{Busy: patience})
	require.NoError(t, err)
	fill(t, s, 1, 1)
	l, err := s.Acquire(t.Context(), "s0", session.Claim{})
	require.NoError(t, err)
	conn, err := database(t, dir).Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)

	ctx, cancel := context.WithCancelCause(t.Context())
	var waited sync.WaitGroup
	waited.Go(func() {
		for !sqlitestore.Busy(s) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel(os.ErrDeadlineExceeded)
	})
	_, err = s.Append(ctx, l, 1, session.Batch{Entries: []session.Entry{value("x")}})
	cancel(nil)
	waited.Wait()
	require.ErrorIs(t, err, session.ErrBusy)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	good, _, _ := count(t, s, "s0")
	require.Equal(t, 1, good, "reading goes on")
	impatient, err := sqlitestore.Open(dir, sqlitestore.Options{Busy: time.Millisecond})
	require.NoError(t, err)
	_, err = impatient.Append(t.Context(), l, 1, session.Batch{Entries: []session.Entry{value("x")}})
	require.ErrorIs(t, err, session.ErrBusy)
	require.NoError(t, impatient.Close())

	appended := make(chan error)
	go func() {
		_, err := s.Append(t.Context(), l, 1, session.Batch{Entries: []session.Entry{value("y")}})
		appended <- err
	}()
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, <-appended)
	require.NoError(t, conn.Close())
	require.NoError(t, s.Close())
}

func TestNewerStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	fill(t, s, 1, 1)
	newer := database(t, dir)
	_, err := newer.Exec("PRAGMA user_version = 7; UPDATE state SET serves = 6")
	require.NoError(t, err)
	_, err = newer.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	require.NoError(t, err)
	before, err := os.ReadFile(filepath.Join(dir, "sessions.db"))
	require.NoError(t, err)
	_, err = sqlitestore.Open(dir, sqlitestore.Options{})
	require.ErrorIs(t, err, session.ErrVersion)
	require.ErrorContains(t, err, "has version 7, this program has version 1: use a newer program")
	_, err = s.Create(t.Context(), session.New{})
	require.ErrorIs(t, err, session.ErrVersion, "a store that was open writes no more")
	require.NoError(t, s.Close())
	after, err := os.ReadFile(filepath.Join(dir, "sessions.db"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after), "nothing was changed")
}

func TestOlderStoreIsMigratedAndBackedUp(t *testing.T) {
	dir := t.TempDir()
	old := store(t, dir)
	fill(t, old, 2, 5)
	mend := sqlitestore.AddStep("ALTER TABLE sessions ADD COLUMN colour TEXT", 2)
	t.Cleanup(mend)
	_, err := sqlitestore.Open(dir, sqlitestore.Options{Busy: time.Millisecond})
	require.ErrorIs(t, err, session.ErrBusy, "while it is open elsewhere")
	require.ErrorContains(t, err, "1 other process")
	require.NoError(t, old.Close())
	broken := sqlitestore.AddStep("nonsense", 2)
	_, err = sqlitestore.Open(dir, sqlitestore.Options{})
	require.ErrorContains(t, err, "change version 2 to 3")
	broken()

	s, err := sqlitestore.Open(dir, sqlitestore.Options{Busy: 1})
	require.NoError(t, err, "waiting is bounded, the migration is not")
	good, _, _ := count(t, s, "s1")
	require.Equal(t, 5, good)
	require.NoError(t, s.Close())
	mend()
	_, err = sqlitestore.Open(dir, sqlitestore.Options{})
	require.ErrorIs(t, err, session.ErrVersion)

	backups, err := filepath.Glob(filepath.Join(dir, "sessions.v1-*.db"))
	require.NoError(t, err)
	require.Len(t, backups, 2, "one of the migration that failed")
	other := t.TempDir()
	data, err := os.ReadFile(backups[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(other, "sessions.db"), data, 0o600))
	good, _, _ = count(t, store(t, other), "s1")
	require.Equal(t, 5, good, "the backup is a store of the old version")
}

// TestListsWalkAnIndex looks at SQLite's plans: a list reads as many sessions as its page has, whatever else is in the store.
func TestListsWalkAnIndex(t *testing.T) {
	s := store(t, t.TempDir())
	for name, c := range map[string]struct {
		q    session.Query
		want string
	}{
		"conversations":                {session.Query{Conversations: true}, "sessions_internal_updated (internal=?"},
		"conversations by creation":    {session.Query{Conversations: true, Order: session.OrderCreated}, "sessions_internal_created (internal=?"},
		"all":                          {session.Query{}, "sessions_internal_updated (internal=?"},
		"all by creation":              {session.Query{Order: session.OrderCreated}, "sessions_internal_created (internal=?"},
		"those of a directory":         {session.Query{Dir: "/repo"}, "sessions_dir_updated (dir=?"},
		"conversations of a directory": {session.Query{Dir: "/repo", Conversations: true}, "sessions_dir_updated (dir=?"},
	} {
		for _, cursor := range []string{"", c.q.Next(&session.Info{ID: "a", Created: time.Unix(1, 0), Updated: time.Unix(1, 0)})} {
			c.q.Cursor = cursor
			plan, err := sqlitestore.ListPlan(s, c.q)
			require.NoError(t, err)
			require.Contains(t, plan, c.want, name)
			require.NotContains(t, plan, "SCAN sessions", name)
			if c.q.Conversations || c.q.Dir != "" { // of all two pages are sorted
				require.NotContains(t, plan, "B-TREE FOR ORDER BY", name)
			}
		}
	}
}

func TestEmptyDirectoryIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := sqlitestore.Open("", sqlitestore.Options{})
	require.ErrorIs(t, err, session.ErrInvalid)
	require.ErrorContains(t, err, `the directory is empty: use "." for the current one`)
	made, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, made)
}

func TestNegativeTimesAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	for _, o := range []sqlitestore.Options{{Busy: -1}, {Poll: -time.Second}} {
		_, err := sqlitestore.Open(dir, o)
		require.ErrorIs(t, err, session.ErrInvalid)
		require.ErrorContains(t, err, "must not be negative")
		require.NoDirExists(t, dir)
	}
}
