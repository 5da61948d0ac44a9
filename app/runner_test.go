// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// registers has programs accept runners, until the test ends.
func registers(t *testing.T, kinds map[string]RunnerFunc) {
	before, worker := runners.kinds, runners.worker
	runners.kinds = maps.Clone(before)
	t.Cleanup(func() { runners.kinds, runners.worker = before, worker })
	for kind, open := range kinds {
		RegisterRunner(kind, open)
	}
}

// turns is a runner that serves until its context ends, or fails.
type turns struct {
	serving chan struct{}
	err     error
}

func (r *turns) Wake(context.Context, string) error { return nil }
func (r *turns) Serve(ctx context.Context, _ host.Turns) error {
	if r.err != nil {
		return r.err
	}
	close(r.serving)
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestRunnersAreRegisteredOnce(t *testing.T) {
	require.Nil(t, workerMaker())
	registers(t, map[string]RunnerFunc{"zeta": func(context.Context, *Env, string, sessions.Store) (host.Runner, string, error) { return nil, "", nil }})
	registers(t, map[string]RunnerFunc{"alpha": func(context.Context, *Env, string, sessions.Store) (host.Runner, string, error) { return nil, "", nil }})
	require.Equal(t, []string{"alpha", "zeta"}, runnerKinds())
	require.PanicsWithValue(t, `app: the runner "alpha" is registered twice`, func() { RegisterRunner("alpha", nil) })
	require.NotNil(t, workerMaker())
}

// The flag -runner names what distributes turns, and doctor says what it is.
func TestTheRunnerOfAProgram(t *testing.T) {
	var asked []any
	made, broken := &turns{serving: make(chan struct{})}, error(nil)
	open := func(_ context.Context, e *Env, address string, store sessions.Store) (host.Runner, string, error) {
		asked = append(asked, e.Name, address, store)
		return made, "a queue", broken
	}
	registers(t, map[string]RunnerFunc{"queue": open, "zoo": open})
	store := new(sessions.Memory)
	runs := func(args ...string) (*Env, host.Runner, error) {
		e := filled(t, Config[any, string]{Name: "desk", Agent: silentAgent(), Demo: demo}, args...)
		s := sessions.Store(store)
		if *e.noStore {
			s = nil
		}
		r, err := e.runner(t.Context(), s)
		return e, r, err
	}
	e, r, err := runs()
	require.NoError(t, err)
	require.Nil(t, r)
	require.Nil(t, e.checkRunner(nil))
	require.Empty(t, asked)

	e, r, err = runs("--runner", "queue://x")
	require.NoError(t, err)
	require.Equal(t, made, r)
	require.Equal(t, []any{"desk", "queue://x", store}, asked)
	require.Equal(t, []Check{{Name: "runner", Found: "a queue"}}, e.checkRunner(nil))

	for _, address := range []string{"queue", "other://x", "://x", "queue:x"} {
		_, r, err = runs("--runner", address)
		require.Nil(t, r)
		require.Equal(t, Usage("-runner: give an address that begins with %s://", "queue:// or zoo"), err)
	}
	_, r, err = runs("--runner", "queue://x", "--no-store")
	require.Nil(t, r)
	require.Equal(t, Usage("-runner: the workers need a store that they share: leave out -no-store"), err)

	broken = errors.New("no network")
	e, r, err = runs("--runner", "queue://x")
	require.Nil(t, r)
	require.EqualError(t, err, "-runner: no network")
	require.ErrorIs(t, err, broken)
	require.Equal(t, []Check{{Name: "runner", Err: err, Mend: "check the address of -runner, and that its server can be reached from here"}}, e.checkRunner(err))
}

// workingProgram runs command lines of a program with a runner and a store in memory.
func workingProgram(ctx context.Context, t *testing.T, args ...string) (out, said string, code int) {
	var stdout, stderr bytes.Buffer
	store := new(sessions.Memory)
	code = Run(ctx, Config[any, string]{
		Name: "desk", Agent: silentAgent(), Demo: demo,
		Store:    func(context.Context, *Env) (sessions.Store, error) { return store, nil },
		Commands: []func(*Env) *cobra.Command{func(*Env) *cobra.Command { return &cobra.Command{Use: "x", Hidden: true} }},
	}, Process{Args: append([]string{"-model", "offline"}, args...), Out: &stdout, Err: &stderr, Getenv: env("XDG_STATE_HOME", t.TempDir())})
	const chosen = "desk: model offline (a demo model: a few rules and no intelligence): -model says so\n"
	return stdout.String(), strings.TrimPrefix(stderr.String(), chosen), code
}

// A worker serves until it is ended, and says when it cannot.
func TestWorkers(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	serving := make(chan struct{})
	runner := &turns{serving: serving}
	registers(t, map[string]RunnerFunc{"queue": func(context.Context, *Env, string, sessions.Store) (host.Runner, string, error) {
		return runner, "a queue", nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-serving; cancel() }()
	out, said, code := workingProgram(ctx, t, "worker", "-runner", "queue://x")
	require.Equal(t, []any{"working\n", "", 0}, []any{out, said, code})

	runner.err = errors.New("no server")
	out, said, code = workingProgram(t.Context(), t, "worker", "-runner", "queue://x")
	require.Equal(t, []any{"working\n", "desk: no server\n", 1}, []any{out, said, code})
	out, said, code = workingProgram(t.Context(), t, "worker", "-runner", "queue://x", "-admin", "nowhere")
	require.Equal(t, []any{"", "desk: -admin: listen tcp: address nowhere: missing port in address\n", 1}, []any{out, said, code})
	out, said, code = workingProgram(t.Context(), t, "worker", "-runner", "queue://x", "-admin", "127.0.0.1:0")
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/readyz\nworking\n$`, out)
	require.Equal(t, []any{"desk: no server\n", 1}, []any{said, code})
	out, said, code = workingProgram(t.Context(), t, "worker", "-no-store")
	require.Equal(t, []any{"", "desk: worker: there is no store to serve: leave out -no-store\nRun \"desk -h\" for help.\n", 2}, []any{out, said, code})
	out, said, code = workingProgram(t.Context(), t, "worker", "-config", "/none.json")
	require.Equal(t, []any{"", 1}, []any{out, code})
	require.Contains(t, said, "none.json")

	out, said, code = workingProgram(t.Context(), t, "worker", "-h")
	require.Zero(t, code, said)
	require.True(t, strings.HasPrefix(out, `Runs the turns that -runner gives it, for the pages and other surfaces that share its store.
With -admin, it serves /healthz and /readyz. SIGINT and SIGTERM end it: other workers continue its
turns at once, or when there is one.

Usage:
  desk worker [flags]

Flags:
      --admin address   the address of /healthz and /readyz
  -h, --help            help for worker
`), out)
	require.Contains(t, out, "      --runner address    address of what distributes turns over workers: queue://… (default: they run in this process)\n")
	out, _, code = workingProgram(t.Context(), t)
	require.Zero(t, code)
	require.Contains(t, out, "  worker      Run the turns of sessions that other programs show\n")
}

// A process is ready while it works and its store answers, and lives all the same.
func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		working, end := context.WithCancel(t.Context())
		store := &listing{Store: new(sessions.Memory), err: errors.New("broken"), fail: 2}
		p := probes(working, store)
		get := func(method, path string) int {
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			return w.Code
		}
		require.Equal(t, http.StatusOK, get("GET", "/readyz"))
		require.Equal(t, http.StatusServiceUnavailable, get("GET", "/readyz"), "the store does not answer")
		require.Equal(t, http.StatusOK, get("GET", "/readyz"))
		require.Equal(t, sessions.Query{Limit: 1}, store.asked[0])
		require.Equal(t, http.StatusOK, get("GET", "/healthz"))
		require.Equal(t, http.StatusMethodNotAllowed, get("POST", "/readyz"))
		require.Equal(t, http.StatusMethodNotAllowed, get("POST", "/healthz"))
		require.Equal(t, http.StatusNotFound, get("GET", "/"))
		end()
		require.Equal(t, http.StatusServiceUnavailable, get("GET", "/readyz"), "it ends")
		require.Equal(t, http.StatusOK, get("GET", "/healthz"))

		p = probes(t.Context(), slow{new(sessions.Memory)})
		begin := time.Now()
		require.Equal(t, http.StatusServiceUnavailable, get("GET", "/readyz"))
		require.Equal(t, 2*time.Second, time.Since(begin))
	})
}

// slow is a store that does not answer.
type slow struct{ sessions.Store }

func (slow) List(ctx context.Context, _ sessions.Query) (sessions.Page, error) {
	<-ctx.Done()
	return sessions.Page{}, ctx.Err()
}

// Telemetry begins with the first session and ends with the program. Its errors end nothing.
func TestTelemetryOfPrograms(t *testing.T) {
	require.Nil(t, telemetry)
	t.Cleanup(func() { telemetry = nil })
	begun, stopped := 0, 0
	wrong, lost, silent := error(nil), error(nil), false
	RegisterTelemetry(func(_ context.Context, e *Env) (func(context.Context) error, error) {
		begun++
		if silent {
			return nil, wrong
		}
		return func(ctx context.Context) error {
			stopped++
			end, ok := ctx.Deadline()
			require.True(t, ok)
			require.Equal(t, 5*time.Second, time.Until(end))
			return lost
		}, wrong
	})
	require.PanicsWithValue(t, "app: RegisterTelemetry was called twice", func() { RegisterTelemetry(nil) })
	run := func() (said string) {
		synctest.Test(t, func(t *testing.T) {
			var b strings.Builder
			e := newEnv(Process{Err: &b, Out: io.Discard}, "desk")
			begun, stopped = 0, 0
			e.observe(t.Context())
			require.Equal(t, []int{1, 0}, []int{begun, stopped})
			require.NoError(t, e.close())
			said = b.String()
		})
		return said
	}
	require.Empty(t, run())
	require.Equal(t, 1, stopped)
	wrong, lost = errors.New("a mistake"), errors.New("no network")
	require.Regexp(t, `^desk: telemetry: a mistake\ntime=\S+ level=WARN msg="telemetry: some of it is lost" error="no network"\n$`, run())
	silent = true
	require.Equal(t, "desk: telemetry: a mistake\n", run())
	require.Zero(t, stopped)
	wrong = nil
	require.Empty(t, run())
}
