// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

var kills = flag.Int("kills", 4, "how many processes are killed with kill -9")

const childEnv = "PONTE_HOST_CHILD"

// child is a process that runs turns in a session, and writes what has happened to standard output, until it is killed.
func child(dir string) {
	err := busySession(dir)
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// busyModel calls a tool twice, and then answers. It stops in the middle of an answer to "hang", when its text is in the store.
func busyModel(store session.Store) model.Model {
	return model.Func(model.Info{}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts
		calls := 0
		for _, m := range req.Messages[len(req.Messages)-min(5, len(req.Messages)):] {
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartUser:
					calls = 0
				case model.PartToolReturn:
					calls++
				}
			}
		}
		for _, word := range []string{"I ", "think ", "so."} {
			if err := sink(model.Delta{Kind: model.PartText, Text: word}); err != nil {
				return nil, err
			}
		}
		if last[0].Text == "hang" {
			for e, err := range store.(session.Watcher).Watch(ctx, "s", 0) {
				if err != nil {
					return nil, err
				}
				if strings.HasSuffix(e.Key, "/response") && e.Kind == session.KindView {
					fmt.Println("shown")
					select {}
				}
			}
		}
		if calls < 2 {
			return model.Response(model.Text("I think so."), model.ToolCall("c", "act", `{}`)), nil
		}
		return model.Response(model.Text("I think so.")), nil
	})
}

func busyAgent(store session.Store) *agent.Agent[none, string] {
	return newAgent(busyModel(store), toolset.Func("act", "", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
		fmt.Println("act", run.IdempotencyKey())
		return "acted " + run.IdempotencyKey(), nil
	}, toolset.OfKind(toolset.KindEdit, "Act")))
}

func busySession(dir string) error {
	ctx := context.Background()
	dir, how, _ := strings.Cut(dir, "|")
	store, err := sqlitestore.Open(dir, sqlitestore.Options{})
	if err != nil {
		return err
	}
	h, err := host.New(host.Config[none, string]{Agent: busyAgent(store), Store: store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	s, err := h.Open(ctx, "s", nil)
	if errors.Is(err, session.ErrNotFound) {
		s, err = h.Create(ctx, session.New{ID: "s"}, nil)
	}
	for n := 0; err == nil; n++ {
		text := fmt.Sprintf("prompt %d of process %d", n, os.Getpid())
		if how == "hang" {
			text = how
		}
		p := say(text)
		p.Observe = func(e *agent.Event) {
			if e.Kind == agent.EventToolResult {
				fmt.Println("result", e.Result.Text)
			} else {
				fmt.Println("event", e.Kind)
			}
		}
		var o *host.Outcome
		if o, err = s.Prompt(ctx, p); err == nil {
			err = o.Err
			fmt.Println("done", text)
		}
	}
	return err
}

// kill starts a process and kills it when it has written a line. It returns what it has written.
func kill(t *testing.T, spec string, when func(n int, line string) bool) []string {
	t.Helper()
	return killWith(t, childEnv+"="+spec, when)
}

func killWith(t *testing.T, env string, when func(n int, line string) bool) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env, "GOCOVERDIR="+t.TempDir(), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var lines []string
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		if lines = append(lines, strings.TrimSuffix(line, "\n")); when(len(lines), line) {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	_ = cmd.Wait()
	require.NotZero(t, cmd.ProcessState.ExitCode(), "it was not killed")
	return lines
}

// TestKilledSessionsGoOn kills processes in the middle of turns. Repeat the proof at its full size with -kills 200.
func TestKilledSessionsGoOn(t *testing.T) {
	dir := t.TempDir()
	acted, finished := map[string]bool{}, 0
	for range *kills {
		last := 1 + rand.IntN(120)
		for _, line := range kill(t, dir+"|", func(n int, _ string) bool { return n == last }) {
			what, key, _ := strings.Cut(line, " ")
			switch what {
			case "act":
				require.False(t, acted[key], "%s was done twice", key)
				acted[key] = false
			case "result":
				acted[strings.TrimPrefix(key, "acted ")] = true
			case "done":
				finished++
			}
		}
		store, err := sqlitestore.Open(dir, sqlitestore.Options{})
		require.NoError(t, err)
		h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		s, err := h.Open(t.Context(), "s", nil)
		require.NoError(t, err, "the session does not load after kill -9")
		all := shown(t, s)
		for key, recorded := range acted {
			if recorded {
				require.Contains(t, all, "acted "+key, "a recorded step is lost")
			}
		}
		require.NotContains(t, all, `"status":"pending"`)
		require.NotContains(t, all, `"status":"in_progress"`)
		if slices.Contains(slices.Collect(maps.Values(acted)), true) {
			require.Contains(t, all, `"title":"Act"`, "it is recorded with the result")
		}
		require.NoError(t, prompt(t, s, "well?").Err, "the next prompt works")
		before := shown(t, s)
		require.NoError(t, s.Close(t.Context()))
		s, err = h.Open(t.Context(), "s", nil)
		require.NoError(t, err)
		require.Equal(t, before, shown(t, s))
		require.NoError(t, h.Close(t.Context()))
		require.NoError(t, store.Close())
	}
	t.Logf("%d processes killed: %d calls, %d turns finished", *kills, len(acted), finished)
}

func TestStreamedTextSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	kill(t, dir+"|hang", func(_ int, line string) bool { return line == "shown\n" })
	store, err := sqlitestore.Open(dir, sqlitestore.Options{})
	require.NoError(t, err)
	h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store})
	require.NoError(t, err)
	s, err := h.Open(t.Context(), "s", nil)
	require.NoError(t, err)
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix("I think so.", snapshot.Last(view.Message).Text()))
	require.Equal(t, view.Assistant, snapshot.Last(view.Message).Role)
	require.NoError(t, prompt(t, s, "well?").Err)
	require.NoError(t, h.Close(t.Context()))
	require.NoError(t, store.Close())
}
