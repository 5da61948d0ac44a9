// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/toolset"
)

const turnsEnv = "PONTE_PGSTORE_TURNS"

type none struct{}

// turnsHost is a host whose agent calls a tool twice for each prompt, and says what it has been told.
func turnsHost(s session.Store) (*host.Host, error) {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		calls := 0
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartUser:
					calls = 0
				case model.PartToolReturn:
					calls++
				}
			}
		}
		if calls < 2 {
			return model.Response(model.ToolCall(fmt.Sprint("c", calls), "act", `{}`)), nil
		}
		return model.Response(model.Text("done")), nil
	})
	act := toolset.Func("act", "Act.", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
		fmt.Println("act", run.IdempotencyKey())
		return "acted " + run.IdempotencyKey(), nil
	})
	a, err := agent.New(agent.Config[none, string]{Name: "busy", Model: m, Tools: []*toolset.Tool[none]{act}})
	if err != nil {
		return nil, err
	}
	return host.New(host.Config[none, string]{Agent: a, Store: s, Logger: slog.New(slog.DiscardHandler)})
}

// turnsChild runs turns in a session until it is killed, and prints what has happened.
func turnsChild(spec string) {
	ctx := context.Background()
	var w work
	err := json.Unmarshal([]byte(spec), &w)
	var s *pgstore.Store
	var h *host.Host
	var open *host.Session
	if err == nil {
		s, err = pgstore.Open(ctx, w.URL, pgstore.Options{Schema: w.Schema})
	}
	if err == nil {
		h, err = turnsHost(s)
	}
	for tries := 0; err == nil && open == nil; tries++ { // the server may not have noticed yet that the one before is gone
		open, err = h.Open(ctx, "s", nil)
		if errors.Is(err, session.ErrHeld) && tries < 200 {
			err = nil
			time.Sleep(50 * time.Millisecond)
		}
	}
	for n := 0; err == nil; n++ {
		p := host.Prompt{Parts: []model.Part{model.User(fmt.Sprint("prompt ", w.Life, ".", n))}}
		p.Observe = func(e *agent.Event) {
			if e.Kind == agent.EventToolResult {
				fmt.Println("result", strings.TrimPrefix(e.Result.Text, "acted "))
			}
		}
		var o *host.Outcome
		if o, err = open.Prompt(ctx, p); err == nil {
			err = o.Err
			fmt.Println("done")
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestKilledTurnsGoOnElsewhere kills processes in the middle of turns whose steps are recorded in Postgres, and goes on with the session in
// another process: no recorded call is lost, and none is made again. Repeat the proof with -kills 60.
func TestKilledTurnsGoOnElsewhere(t *testing.T) {
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema})
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	acted, finished := map[string]bool{}, 0
	for life := range *kills {
		spec, err := json.Marshal(work{url, schema, life})
		require.NoError(t, err)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), turnsEnv+"="+string(spec), "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines, last := bufio.NewScanner(out), 1+rand.IntN(60)
		for n := 1; lines.Scan(); n++ {
			switch what, key, _ := strings.Cut(lines.Text(), " "); what {
			case "act":
				_, twice := acted[key]
				require.False(t, twice, "%s was made twice", key)
				acted[key] = false
			case "result":
				acted[key] = true
			case "done":
				finished++
			}
			if n == last {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait())
	}
	// Another machine takes the session, with a host of its own.
	other := store(t, url, pgstore.Options{Schema: schema})
	h, err := turnsHost(other)
	require.NoError(t, err)
	var open *host.Session
	require.Eventually(t, func() bool {
		open, err = h.Open(t.Context(), "s", nil)
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	o, err := open.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("well?")}})
	require.NoError(t, err)
	require.NoError(t, o.Err)
	require.NoError(t, h.Close(t.Context()))
	var all strings.Builder
	for e, err := range other.Load(t.Context(), "s", 0) {
		require.NoError(t, err)
		all.Write(e.Data)
	}
	for key, recorded := range acted {
		if recorded {
			require.Contains(t, all.String(), "acted "+key, "a recorded call is lost")
		}
	}
	t.Logf("%d processes killed: %d calls, %d turns finished", *kills, len(acted), finished)
}
