// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/internal/pgtest"
)

var kills = flag.Int("kills", 3, "how many clients are killed with kill -9, and how often the server is")

var large = flag.Int("large", 1<<20, "how many bytes a large entry has")

const childEnv = "PONTE_PGSTORE_CHILD"

// work is what a child process is told to do: to append to all sessions, until it is killed.
type work struct {
	URL, Schema string
	Life        int
}

const busySessions = 8

func sessionName(n int) string { return fmt.Sprint("s", n) }

// child appends, and prints a line for everything that was acknowledged.
func child(spec string) {
	var w work
	err := json.Unmarshal([]byte(spec), &w)
	var s *pgstore.Store
	if err == nil {
		s, err = pgstore.Open(context.Background(), w.URL, pgstore.Options{Schema: w.Schema})
	}
	if err == nil {
		acknowledged := make(chan string)
		failed := appendToAll(s, w.Life, acknowledged, nil)
		for {
			select {
			case line := <-acknowledged:
				fmt.Println(line)
				continue
			case err = <-failed:
			}
			break
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// appendToAll appends to all sessions until stop is closed or something fails. It tells of each append that was acknowledged.
func appendToAll(s *pgstore.Store, life int, acknowledged chan<- string, stop <-chan struct{}) <-chan error {
	failed := make(chan error, busySessions)
	for n := range busySessions {
		go func() {
			w, err := session.Open(context.Background(), s, sessionName(n), session.Claim{Holder: fmt.Sprint("life ", life)})
			for i := 0; err == nil; i++ {
				text, _ := json.Marshal(fmt.Sprintf("%d.%d.%d %s", life, n, i, strings.Repeat("x", rand.IntN(3000))))
				if _, err = w.Append(context.Background(), session.Entry{Kind: session.KindMessage, Run: "r", Data: text}); err != nil {
					break
				}
				select {
				case acknowledged <- fmt.Sprintf("%s %s", sessionName(n), strings.Fields(string(text))[0]):
				case <-stop:
					err = w.Close(context.Background())
					failed <- err
					return
				}
			}
			failed <- err
		}()
	}
	return failed
}

// hasAll fails the test if something that was acknowledged is not there, or is there twice.
func hasAll(t *testing.T, s session.Store, acknowledged map[string]bool) {
	t.Helper()
	for n := range busySessions {
		seen := map[string]bool{}
		for e, err := range s.Load(t.Context(), sessionName(n), 0) {
			require.NoError(t, err)
			name := sessionName(n) + " " + strings.Fields(string(e.Data))[0]
			require.False(t, seen[name], "%s is there twice", name)
			seen[name] = true
		}
		for name := range acknowledged {
			if strings.HasPrefix(name, sessionName(n)+" ") {
				require.True(t, seen[name], "%s was acknowledged and is not there", name)
			}
		}
	}
}

func createBusySessions(t *testing.T, s session.Store) {
	t.Helper()
	for n := range busySessions {
		_, err := s.Create(t.Context(), session.New{ID: sessionName(n)})
		require.NoError(t, err)
	}
}

// TestKilledClientsLoseNothing kills programs that append, and goes on with their sessions at once. Repeat the proof with -kills 100.
func TestKilledClientsLoseNothing(t *testing.T) {
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema})
	createBusySessions(t, s)
	acknowledged := map[string]bool{}
	for life := range *kills {
		spec, err := json.Marshal(work{url, schema, life})
		require.NoError(t, err)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(spec), "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for i, enough := 0, 1+rand.IntN(300); lines.Scan(); i++ {
			acknowledged[lines.Text()] = true
			if i == enough {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait())
	}
	hasAll(t, s, acknowledged)
	// The server has noticed, or is about to.
	require.Eventually(t, func() bool {
		w, err := session.Open(t.Context(), s, sessionName(0), session.Claim{Holder: "the test"})
		return err == nil && w.Close(t.Context()) == nil
	}, time.Minute, time.Millisecond)
}

// TestKilledServerLosesNothing kills the server while a store appends. The store goes on when the server is back.
func TestKilledServerLosesNothing(t *testing.T) {
	if server == nil {
		t.Skip(pgtest.ErrMissing)
	}
	mortal, err := pgtest.Start(true)
	require.NoError(t, err)
	defer func() { require.NoError(t, mortal.Close()) }()
	s := store(t, mortal.URL(), pgstore.Options{})
	createBusySessions(t, s)
	acknowledged := map[string]bool{}
	for life := range *kills {
		lines, stop := make(chan string), make(chan struct{})
		failed := appendToAll(s, life, lines, stop)
		for range 1 + rand.IntN(200) {
			acknowledged[<-lines] = true
		}
		require.NoError(t, mortal.Kill())
		for range busySessions {
			for err := error(nil); err == nil; {
				select {
				case line := <-lines:
					acknowledged[line] = true
				case err = <-failed:
					require.ErrorIs(t, err, session.ErrUnavailable)
				}
			}
		}
		require.Eventually(t, func() bool { return mortal.Up() == nil }, time.Minute, 100*time.Millisecond)
		for n := range busySessions { // the leases of the writers that have failed
			l, err := s.Acquire(t.Context(), sessionName(n), session.Claim{Force: true})
			require.NoError(t, err, "the store works as soon as the server is back")
			require.NoError(t, s.Release(t.Context(), l))
		}
	}
	hasAll(t, s, acknowledged)
}

// TestWriterGoesOnWhenTheServerIsBack shows that neither the lease nor what was appended is lost with the connections.
func TestWriterGoesOnWhenTheServerIsBack(t *testing.T) {
	if server == nil {
		t.Skip(pgtest.ErrMissing)
	}
	mortal, err := pgtest.Start(true)
	require.NoError(t, err)
	defer func() { require.NoError(t, mortal.Close()) }()
	s := store(t, mortal.URL(), pgstore.Options{})
	_, err = s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "a", session.Claim{Holder: "me"})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Data: []byte(`"1"`)})
	require.NoError(t, err)
	require.NoError(t, mortal.Kill())
	_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Data: []byte(`"2"`)})
	require.ErrorIs(t, err, session.ErrUnavailable)
	require.Eventually(t, func() bool { return mortal.Up() == nil }, time.Minute, 100*time.Millisecond)
	_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Data: []byte(`"3"`)})
	require.NoError(t, err)
	var texts []string
	for e, err := range s.Load(t.Context(), "a", 0) {
		require.NoError(t, err)
		texts = append(texts, string(e.Data))
	}
	require.Equal(t, []string{`"1"`, `"3"`}, texts)
	// Others are told again that the session is held.
	other := store(t, mortal.URL(), pgstore.Options{})
	require.Eventually(t, func() bool {
		info, err := other.Get(t.Context(), "a")
		return err == nil && info.Holder == "me"
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, w.Close(t.Context()))
}
