// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

var kills = flag.Int("kills", 10, "how many processes are killed with kill -9")

const childEnv = "PONTE_SQLITESTORE_CHILD"

// task is what a child is told to do.
type task struct {
	Dir      string
	Do       string // "append" or "hold"
	Life     int
	Sessions int
}

// child is a process that writes until it is killed.
func child(spec string) {
	var t task
	err := json.Unmarshal([]byte(spec), &t)
	var s *sqlitestore.Store
	if err == nil {
		s, err = sqlitestore.Open(t.Dir, sqlitestore.Options{})
	}
	if err == nil && t.Do == "hold" {
		err = hold(s)
	} else if err == nil {
		err = appendForEver(s, t)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// hold acquires a session and keeps it. It appends an entry for each line that it is told.
func hold(s *sqlitestore.Store) error {
	w, err := session.Open(context.Background(), s, "s", session.Claim{Holder: fmt.Sprint("process ", os.Getpid())})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		_, err := w.Append(context.Background(), session.Entry{Kind: session.KindValue, Data: []byte(`"from the child"`)})
		fmt.Println(err)
	}
	select {}
}

// appendForEver appends to several sessions at once, and writes to standard output what was acknowledged.
func appendForEver(s *sqlitestore.Store, t task) error {
	var out sync.Mutex
	failed := make(chan error)
	for n := range t.Sessions {
		go func() {
			id := fmt.Sprint("s", n)
			w, err := session.Open(context.Background(), s, id, session.Claim{Holder: fmt.Sprint("life ", t.Life)})
			r := rand.New(rand.NewPCG(uint64(t.Life), uint64(n)))
			for i := 0; err == nil; i++ {
				first, err := w.Append(context.Background(), batch(r, t.Life, n, i)...)
				if err != nil {
					failed <- err
					return
				}
				out.Lock()
				fmt.Printf("%s %d %d\n", id, first, w.Head())
				out.Unlock()
			}
			failed <- err
		}()
	}
	return <-failed
}

// batch returns the entries of an append: messages of several sizes, views and steps.
func batch(r *rand.Rand, life, n, i int) []session.Entry {
	var all []session.Entry
	for range 1 + r.IntN(3) {
		size := []int{10, 1000, 12600}[r.IntN(3)]
		if r.IntN(40) == 0 {
			size = 200 << 10 // in a file
		}
		text, _ := json.Marshal(fmt.Sprintf("%d.%d.%d %s", life, n, i, strings.Repeat(fmt.Sprint(r.IntN(10)), size)))
		all = append(all, session.Entry{Kind: []session.Kind{session.KindMessage, session.KindStep}[r.IntN(2)], Run: fmt.Sprint(life), Data: text})
	}
	if r.IntN(4) == 0 {
		all = append(all, session.Entry{Kind: session.KindView, Data: []byte(`"view"`)})
	}
	return all
}

func start(t *testing.T, spec task) (*exec.Cmd, *bufio.Reader, func(line string)) {
	t.Helper()
	data, err := json.Marshal(spec)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(data), "GOCOVERDIR="+t.TempDir(), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewReader(out), func(line string) {
		_, err := fmt.Fprintln(in, line)
		require.NoError(t, err)
	}
}

// TestKilledWritersLoseNothing kills processes that append to several sessions. Repeat the proof at its full size with -kills 200.
func TestKilledWritersLoseNothing(t *testing.T) {
	const sessions = 6
	dir := t.TempDir()
	s := store(t, dir)
	for n := range sessions {
		_, err := s.Create(t.Context(), session.New{ID: fmt.Sprint("s", n)})
		require.NoError(t, err)
	}
	heads, checked := map[string]int64{}, map[string]int64{}
	acknowledged, appended := 0, int64(0)
	for life := range *kills {
		cmd, out, _ := start(t, task{Dir: dir, Life: life, Sessions: sessions})
		lines := 1 + rand.IntN(60) // then it is killed
		for n := 0; ; n++ {
			line, err := out.ReadString('\n')
			if err != nil {
				break // what it wrote before it was killed has been read
			}
			var id string
			var first, last int64
			_, err = fmt.Sscanf(line, "%s %d %d", &id, &first, &last)
			require.NoError(t, err)
			require.Greater(t, first, heads[id], "%s: a number was given twice", id)
			heads[id] = max(heads[id], first)
			acknowledged++
			if n == lines {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait()
		require.NotZero(t, cmd.ProcessState.ExitCode(), "it was not killed")
		again, err := sqlitestore.Open(dir, sqlitestore.Options{})
		require.NoError(t, err, "the store does not open after kill -9")
		for n := range sessions {
			id := fmt.Sprint("s", n)
			info, err := again.Get(t.Context(), id)
			require.NoError(t, err)
			require.GreaterOrEqual(t, info.Head, heads[id], "%s has lost what was acknowledged", id)
			require.Empty(t, info.Holder)
			after := checked[id]
			if life == *kills-1 {
				after = 0 // all of it in the end
			}
			next := after + 1
			for e, err := range again.Load(t.Context(), id, after) {
				require.NoError(t, err)
				require.Equal(t, next, e.Seq, "%s has lost an entry", id)
				next++
			}
			require.Equal(t, info.Head+1, next)
			heads[id], checked[id] = info.Head, info.Head
		}
		require.NoError(t, again.Close())
	}
	for _, head := range heads {
		appended += head
	}
	check(t, dir)
	t.Logf("%d processes killed: %d appends acknowledged, %d entries kept, none lost", *kills, acknowledged, appended)
}

func TestProcessIsToldWhoHasSession(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	cmd, out, tell := start(t, task{Dir: dir, Do: "hold"})
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)

	_, err = session.Open(t.Context(), s, "s", session.Claim{Holder: "the test"})
	require.ErrorIs(t, err, session.ErrHeld)
	var held *session.Error
	require.True(t, errors.As(err, &held))
	require.Equal(t, fmt.Sprint("process ", cmd.Process.Pid), held.Holder)

	// Taken by force: the other process cannot append any more, and is told who has the session.
	w, err := session.Open(t.Context(), s, "s", session.Claim{Holder: "the test", Force: true})
	require.NoError(t, err)
	tell("append")
	line, err = out.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, session.ErrLeaseLost.Error())
	require.Contains(t, line, "the test")
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()

	// A session whose process was killed is free at once.
	cmd, out, _ = start(t, task{Dir: dir, Do: "hold"})
	_, err = out.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	info, err := s.Get(t.Context(), "s")
	require.NoError(t, err)
	require.Empty(t, info.Holder)
	w, err = session.Open(t.Context(), s, "s", session.Claim{Holder: "the test"})
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
}

func TestWatchSeesEntriesOfOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	cmd, out, tell := start(t, task{Dir: dir, Do: "hold"})
	_, err = out.ReadString('\n')
	require.NoError(t, err)
	tell("append")
	for e, err := range s.Watch(t.Context(), "s", 0) {
		require.NoError(t, err)
		require.Equal(t, `"from the child"`, string(e.Data))
		break
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

func TestCloseGivesSessionsBack(t *testing.T) {
	dir := t.TempDir()
	s, other := store(t, dir), store(t, dir)
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	l, err := s.Acquire(t.Context(), "s", session.Claim{Holder: "one"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Close(), session.ErrClosed)
	_, err = s.Get(t.Context(), "s")
	require.ErrorIs(t, err, session.ErrClosed)
	_, err = s.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{value("x")}})
	require.ErrorIs(t, err, session.ErrClosed)
	_, err = other.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{value("x")}})
	require.ErrorIs(t, err, session.ErrLeaseLost)
	_, err = other.Acquire(t.Context(), "s", session.Claim{Holder: "two"})
	require.NoError(t, err)
	files, err := os.ReadDir(dir + "/holders")
	require.NoError(t, err)
	require.Len(t, files, 1)
}

// patience is how long a test waits for a store.
const patience = 30 * time.Second
