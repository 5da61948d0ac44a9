// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// The errors of the system and of SQLite have the identities that package session has for them, and those that have one keep it.
func TestErrorsHaveIdentities(t *testing.T) {
	dir := t.TempDir()
	db := database(t, dir)
	db.SetMaxOpenConns(1)
	of := func(statements ...string) (err error) {
		for _, s := range statements {
			_, err = db.Exec(s)
		}
		return err
	}
	require.NoError(t, of("CREATE TABLE t (x)"))
	conn, err := database(t, dir).Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	busy := of("INSERT INTO t VALUES (1)")
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	own, err := database(t, t.TempDir()).Conn(t.Context())
	require.NoError(t, err)
	defer own.Close()
	_, err = own.ExecContext(t.Context(), "CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")
	require.NoError(t, err)
	rows, err := own.QueryContext(t.Context(), "SELECT x FROM t")
	require.NoError(t, err)
	require.True(t, rows.Next())
	_, locked := own.ExecContext(t.Context(), "DROP TABLE t")
	require.NoError(t, rows.Close())
	other := filepath.Join(t.TempDir(), "sessions.db")
	require.NoError(t, os.WriteFile(other, []byte(strings.Repeat("nonsense", 1000)), 0o600))
	_, none := database(t, filepath.Dir(other)).Exec("SELECT * FROM t")
	_, missing := database(t, filepath.Join(dir, "missing")).Exec("SELECT 1")
	plain := errors.New("something else")
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"nothing": {nil, nil}, "other": {plain, plain}, "busy": {busy, session.ErrBusy}, "locked": {locked, session.ErrBusy}, "no database": {none, session.ErrCorrupt}, "no directory": {missing, nil},
		"full":      {of("PRAGMA max_page_count = 2", "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 999) INSERT INTO t SELECT randomblob(999) FROM n"), session.ErrFull},
		"read-only": {of("PRAGMA query_only = 1", "INSERT INTO t VALUES (1)"), session.ErrReadOnly},
		"no space":  {fmt.Errorf("write: %w", syscall.ENOSPC), session.ErrFull}, "read-only system": {fmt.Errorf("write: %w", syscall.EROFS), session.ErrReadOnly}, "not permitted": {fmt.Errorf("open: %w", fs.ErrPermission), session.ErrReadOnly},
		"known busy": {session.ErrBusy, session.ErrBusy}, "known full": {session.ErrFull, session.ErrFull}, "known corrupt": {session.ErrCorrupt, session.ErrCorrupt}, "known read-only": {session.ErrReadOnly, session.ErrReadOnly}, "known version": {session.ErrVersion, session.ErrVersion},
	} {
		got := sqlitestore.Translate(dir, c.err)
		if c.want == nil || c.want == c.err {
			require.Equal(t, c.err, got, name)
			continue
		}
		require.ErrorIs(t, got, c.want, name)
		require.ErrorIs(t, got, c.err, name)
		require.EqualError(t, got, c.want.Error()+": "+c.err.Error(), name)
		for _, identity := range []error{session.ErrBusy, session.ErrFull, session.ErrCorrupt, session.ErrReadOnly, session.ErrVersion} {
			require.Equal(t, identity == c.want, errors.Is(got, identity), name)
		}
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		require.NotContains(t, f.Name(), "probe")
	}
}

// A string that is as long as the bound is cut out, one byte less is not. Quotes behind backslashes do not end it.
func TestLongStringsAreFound(t *testing.T) {
	const long = 128 << 10
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		data string
		want [][2]int
	}{
		"nothing": {"", nil}, "no string": {x(long), nil}, "too short": {`"` + x(long-1) + `"`, nil}, "long": {`"` + x(long) + `"`, [][2]int{{1, long + 1}}},
		"two": {`["` + x(long) + `","` + x(long+1) + `","x"]`, [][2]int{{2, long + 2}, {long + 5, 2*long + 6}}}, "behind a short one": {`{"a":"` + x(long) + `"}`, [][2]int{{6, long + 6}}},
		"with a quote": {`"\"` + x(long-2) + `"`, [][2]int{{1, long + 1}}}, "with a backslash": {`"` + x(long-2) + `\\","` + x(3) + `"`, [][2]int{{1, long + 1}}}, "escapes count": {`"\"` + x(long-3) + `"`, nil},
		"without an end": {`"` + x(long), [][2]int{{1, long + 1}}}, "cut off in an escape": {`"` + x(long) + `\`, [][2]int{{1, long + 2}}},
	} {
		require.Equal(t, c.want, sqlitestore.LongStrings([]byte(c.data)), name)
	}
	dir := t.TempDir()
	s := store(t, dir)
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "s", session.Claim{})
	require.NoError(t, err)
	var all []session.Entry
	for _, text := range []string{x(long - 1), x(long), "\"" + x(long) + "\n", x(5)} {
		all = append(all, value(text))
	}
	both, err := json.Marshal([]string{x(long + 7), "short", x(long), x(long + 7)})
	require.NoError(t, err)
	all = append(all, session.Entry{Kind: session.KindValue, Data: both})
	_, err = w.Append(t.Context(), all...)
	require.NoError(t, err)
	var names []string
	for _, text := range []string{x(long), `\"` + x(long) + `\n`, x(long + 7)} {
		name := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		data, err := os.ReadFile(filepath.Join(dir, "media", name))
		require.NoError(t, err)
		require.True(t, text == string(data))
		names = append(names, name)
	}
	require.ElementsMatch(t, names, media(t, dir))
	n := 0
	for e, err := range s.Load(t.Context(), "s", 0) {
		require.NoError(t, err)
		require.True(t, string(all[n].Data) == string(e.Data), n)
		n++
	}
	require.Equal(t, len(all), n)
	info, err := s.Get(t.Context(), "s")
	require.NoError(t, err)
	size := 0
	for i := range all {
		size += len(all[i].Data)
	}
	require.EqualValues(t, size, info.Size, "what was cut out counts")
	require.NoError(t, w.Close(t.Context()))
}

func TestOptionsHaveDefaults(t *testing.T) {
	s := store(t, t.TempDir())
	require.Equal(t, sqlitestore.Options{Busy: 10 * time.Second, Poll: 100 * time.Millisecond}, sqlitestore.Defaults(s))
	own := sqlitestore.Options{Busy: 1, Poll: 2}
	mine, err := sqlitestore.Open(t.TempDir(), own)
	require.NoError(t, err)
	require.Equal(t, own, sqlitestore.Defaults(mine))
	require.NoError(t, mine.Close())
	_, err = sqlitestore.Open(t.TempDir(), sqlitestore.Options{Busy: -1, Poll: -2})
	require.EqualError(t, err, "session: open: invalid argument: Busy is -1ns and Poll -2ns: they must not be negative")
	_, err = sqlitestore.Open("", sqlitestore.Options{})
	require.EqualError(t, err, `session: open: invalid argument: the directory is empty: use "." for the current one`)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = sqlitestore.Open(file, sqlitestore.Options{})
	require.ErrorContains(t, err, "session: open: "+file+": ")
	other := t.TempDir()
	_, err = database(t, other).Exec("PRAGMA user_version = 3")
	require.NoError(t, err)
	_, err = sqlitestore.Open(other, sqlitestore.Options{})
	require.EqualError(t, err, "session: open: "+other+": "+session.ErrCorrupt.Error()+": it is a database of another program")
	holders, err := os.ReadDir(filepath.Join(other, "holders"))
	require.NoError(t, err)
	require.Empty(t, holders, "a store that does not open leaves no holder")
}

// Views and steps alone need not be synced, all else must be.
func TestWhatMustLastIsSynced(t *testing.T) {
	s := store(t, t.TempDir())
	how := func() int {
		how, err := sqlitestore.Synchronous(s)
		require.NoError(t, err)
		return how
	}
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	require.Equal(t, 2, how(), "FULL")
	w, err := session.Open(t.Context(), s, "s", session.Claim{})
	require.NoError(t, err)
	for range 2 {
		_, err = w.Append(t.Context(), session.Entry{Kind: session.KindView, Data: json.RawMessage(`1`)})
		require.NoError(t, err)
		require.Equal(t, 1, how(), "NORMAL")
		_, err = w.Append(t.Context(), value("x"))
		require.NoError(t, err)
		require.Equal(t, 2, how())
	}
	require.NoError(t, w.Close(t.Context()))
}

// Files of holders that have ended go when a store opens, those of others and of nobody stay.
func TestHoldersThatHaveEndedAreSweptAway(t *testing.T) {
	dir := t.TempDir()
	first := store(t, dir)
	names := func() (all []string) {
		files, err := os.ReadDir(filepath.Join(dir, "holders"))
		require.NoError(t, err)
		for _, f := range files {
			all = append(all, f.Name())
		}
		return all
	}
	mine := names()
	require.Len(t, mine, 1)
	require.Regexp(t, `^[A-Z2-7]{26}\.lock$`, mine[0])
	for _, name := range []string{"dead.lock", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "holders", name), nil, 0o600))
	}
	second := store(t, dir)
	there := names()
	require.Len(t, there, 3)
	require.Contains(t, there, mine[0])
	require.Contains(t, there, "notes.txt")
	require.NotContains(t, there, "dead.lock")
	require.NoError(t, first.Close())
	require.Len(t, names(), 2)
	require.NotContains(t, names(), mine[0])
	require.NoError(t, second.Close())
	require.Equal(t, []string{"notes.txt"}, names())
	if runtime.GOOS != "windows" {
		opened, err := filepath.Glob("/proc/self/fd/*")
		require.NoError(t, err)
		for _, f := range opened {
			to, _ := os.Readlink(f)
			require.NotContains(t, to, dir, "a file stays open")
		}
	}
}

// Compact removes files that nobody needs. Temporary ones may be in use for an hour.
func TestCompactKeepsWhatMayBeInUse(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "s", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), image(session.KindValue, "", "x"))
	require.NoError(t, err)
	needed := media(t, dir)
	require.Len(t, needed, 1)
	for name, age := range map[string]time.Duration{"new-old": 61 * time.Minute, "new-young": 59 * time.Minute, strings.Repeat("0", 64): 0, "new": 0} {
		path := filepath.Join(dir, "media", name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chtimes(path, time.Now(), time.Now().Add(-age)))
	}
	require.NoError(t, s.Compact(t.Context()))
	require.ElementsMatch(t, append(needed, "new-young"), media(t, dir))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnded)
	require.EqualError(t, s.Compact(ctx), "session: compact: the caller has gone home")
	require.NoError(t, os.Rename(filepath.Join(dir, "media"), filepath.Join(dir, "away")))
	require.ErrorIs(t, s.Compact(t.Context()), fs.ErrNotExist)
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, s.Close())
	require.EqualError(t, s.Compact(t.Context()), "session: compact: "+session.ErrClosed.Error())
}

// A watcher in this process and one in another are told of each change, by the session's id, or without one if a session is gone.
func TestListenersAreToldOfOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlitestore.Open(dir, sqlitestore.Options{Poll: time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	other := store(t, dir)
	for _, id := range []string{"a", "b"} {
		_, err = other.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
	}
	told := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		first := true
		for id, err := range s.Listen(ctx) {
			if first {
				first = false
				close(began)
			}
			if err != nil {
				ended <- err
				return
			}
			told <- id
		}
	}()
	title := "T"
	next := func() string {
		select {
		case id := <-told:
			return id
		case <-time.After(patience):
			return "nothing"
		}
	}
	_, err = s.Update(t.Context(), "a", session.Change{Title: &title}) // until it listens
	require.NoError(t, err)
	for range 1000 {
		select {
		case <-began:
		case <-time.After(10 * time.Millisecond):
			_, err = s.Update(t.Context(), "a", session.Change{Title: &title})
			require.NoError(t, err)
			continue
		}
		break
	}
	for range 2 {
		_, err = other.Update(t.Context(), "b", session.Change{Title: &title})
		require.NoError(t, err)
		id := next()
		for id == "a" || id == "" {
			id = next()
		}
		require.Equal(t, "b", id)
	}
	require.NoError(t, other.Delete(t.Context(), "b"))
	id := next()
	for id == "b" { // a change may be told twice
		id = next()
	}
	require.Equal(t, "", id)
	_, err = other.Update(t.Context(), "a", session.Change{Title: &title})
	require.NoError(t, err)
	for id = next(); id == ""; {
		id = next()
	}
	require.Equal(t, "a", id, "what goes before is not told again")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
