// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

var kills = flag.Int("kills", 3, "how many workers of sessions are killed with kill -9")

const runnerEnv = "PONTE_TEMPORALENGINE_RUNNER"

// sessionWorker is what a child process is told that runs the turns of sessions.
type sessionWorker struct {
	Address, Queue, Dir, Log string
	// Heartbeat is a second if it is zero.
	Heartbeat time.Duration
}

// heartbeat is how long a session's worker may be silent in these tests.
const heartbeat = time.Second

// talker is an agent that calls a tool three times in each turn and streams its answer. The tool named in the prompt is used.
func talker(log string) *agent.Agent[deps, string] {
	act := func(_ context.Context, run *toolset.RunContext[deps], _ args) (string, error) {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, run.IdempotencyKey())
		time.Sleep(20 * time.Millisecond)
		return "acted", err
	}
	ask := toolset.Approve(func(context.Context, *toolset.RunContext[deps], args) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Act?"}, nil
	})
	m := model.Func(model.Info{}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		prompt, calls := "", 0
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartUser:
					prompt, calls = p.Text, 0
				case model.PartToolReturn:
					calls++
				}
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if calls < 3 && prompt != "hello" {
			return model.Response(model.ToolCall(fmt.Sprint("c", calls), prompt, `{"n":1}`)), nil
		}
		text := "the answer to " + prompt
		if sink != nil {
			for i := range text {
				if err := sink(model.Delta{Kind: model.PartText, Text: text[i : i+1]}); err != nil {
					return nil, err
				}
			}
		}
		return model.Response(model.Text(text)), nil
	})
	return agent.Must(agent.New(agent.Config[deps, string]{Name: "talker", Model: m, Tools: []*toolset.Tool[deps]{
		toolset.Func("act", "Act.", act, toolset.Idempotent()), toolset.Func("guarded", "Act.", act, toolset.Idempotent(), ask),
	}}))
}

func sessions(c client.Client, w sessionWorker) (*host.Host, *sqlitestore.Store, *temporalengine.Runner, error) {
	store, err := sqlitestore.Open(w.Dir, sqlitestore.Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	r, err := temporalengine.NewRunner(temporalengine.RunnerConfig{
		Client: c, TaskQueue: w.Queue, Store: store, Heartbeat: cmp.Or(w.Heartbeat, heartbeat),
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, store.Close())
	}
	h, err := host.New(host.Config[deps, string]{
		Agent: talker(w.Log), Store: store, Runner: r, Attempts: 100, Busy: host.BusyQueue, Logger: slog.New(slog.DiscardHandler),
	})
	return h, store, r, err
}

func runnerChild(spec string) {
	var w sessionWorker
	err := json.Unmarshal([]byte(spec), &w)
	var c client.Client
	if err == nil {
		c, err = connect(w.Address, new(temporalengine.MemoryBlobs))
	}
	if err == nil {
		var h *host.Host
		if h, _, _, err = sessions(c, w); err == nil {
			fmt.Println("ready")
			err = h.Serve(context.Background())
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func startSessionWorker(t *testing.T, w sessionWorker) *exec.Cmd {
	t.Helper()
	return startWorker(t, runnerEnv, w)
}

// startWorker starts a child process, and waits until it is ready.
func startWorker(t *testing.T, env string, w sessionWorker) *exec.Cmd {
	t.Helper()
	spec, err := json.Marshal(w)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+string(spec))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	require.Equal(t, "ready\n", line)
	return cmd
}

// TestConversationsRunOnTemporal talks to an agent whose turns run on two workers, which are killed at random. The surface is another
// process. Each prompt is answered once, the questions are answered on the surface, and a call has one key.
func TestConversationsRunOnTemporal(t *testing.T) {
	c := dial(t, new(temporalengine.MemoryBlobs))
	dir := t.TempDir()
	w := sessionWorker{Address: shared.server.address, Queue: t.Name() + fmt.Sprint(time.Now().UnixNano()), Dir: filepath.Join(dir, "store"), Log: filepath.Join(dir, "log")}
	h, store, r, err := sessions(c, w)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, h.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	workers := []*exec.Cmd{startSessionWorker(t, w), startSessionWorker(t, w)}
	s, err := h.Create(t.Context(), session.New{}, nil)
	require.NoError(t, err)
	prompt := func(text string) *host.Outcome {
		o, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User(text)}})
		require.NoError(t, err)
		require.NoError(t, o.Err)
		require.True(t, o.Elsewhere)
		return o
	}
	begin := time.Now()
	for range 5 {
		require.Equal(t, transcript.Done, prompt("hello").Reason)
	}
	t.Logf("a turn of one request of 20 ms takes %v", time.Since(begin)/5)
	events := 0
	it := c.GetWorkflowHistory(t.Context(), r.WorkflowID(s.ID()), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		_, err := it.Next()
		require.NoError(t, err)
		events++
	}
	t.Logf("the workflow of the last turn has %d events", events)

	turns, slowest := 0, time.Duration(0)
	for n := range *kills {
		answered := make(chan struct{})
		ended := make(chan *host.Outcome, 1)
		go func() {
			defer close(answered)
			for len(ended) == 0 && t.Context().Err() == nil {
				decideAll(t.Context(), s)
				time.Sleep(20 * time.Millisecond)
			}
		}()
		go func() { ended <- prompt([]string{"act", "guarded"}[n%2]) }()
		time.Sleep(time.Duration(20+n*37%200) * time.Millisecond)
		for i := range workers { // whoever has it
			_ = workers[i].Process.Kill()
			_ = workers[i].Wait()
			if i == 0 {
				workers[0] = startSessionWorker(t, w)
			}
		}
		killed := time.Now()
		workers[1] = startSessionWorker(t, w)
		select {
		case o := <-ended:
			require.Equal(t, transcript.Done, o.Reason)
			ended <- o
		case <-time.After(time.Minute):
			info, _ := store.Get(t.Context(), s.ID())
			items, _ := session.Waiting(t.Context(), store, s.ID())
			d, err := c.DescribeWorkflowExecution(t.Context(), r.WorkflowID(s.ID()), "")
			snapshot, _, _ := s.Snapshot(t.Context())
			last := ""
			for e := range snapshot.All() {
				last = fmt.Sprintf("%v\n%s %s %s %s", last, e.ID, e.Kind, e.Status, e.Text())
			}
			t.Fatalf("turn %d does not go on: held by %q, inbox %+v, workflow %v %v\n%s", n, info.Holder, items, d, err, last[max(0, len(last)-1500):])
		}
		turns, slowest = turns+1, max(slowest, time.Since(killed))
		<-answered
	}
	t.Logf("%d turns whose workers were killed have ended; the slowest took %v, with a heartbeat of %v", turns, slowest, heartbeat)

	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	answers := map[string]int{}
	for e := range snapshot.All() {
		require.NotContains(t, []view.Status{view.Interrupted, view.Failed, view.Running}, e.Status, "%+v", e)
		if e.Kind == view.Message && e.Role == view.Assistant {
			answers[e.Text()]++
		}
	}
	total := 0
	for text, n := range answers {
		require.True(t, strings.HasPrefix(text, "the answer to "), text)
		total += n
	}
	require.Equal(t, 5+*kills, total, "%v", answers)
	data, err := os.ReadFile(w.Log)
	require.NoError(t, err)
	keys := strings.Fields(string(data))
	slices.Sort(keys)
	require.Len(t, slices.Compact(keys), 3**kills, "each call has one key")
}

// decideAll allows what is asked for.
func decideAll(ctx context.Context, s *host.Session) {
	snapshot, _, err := s.Snapshot(ctx)
	if err != nil {
		return
	}
	for e := range snapshot.All() {
		if e.Kind == view.Question && e.Status == view.Pending {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			_ = s.Decide(ctx, e.ID, "", host.Answer{Digest: e.Digest, Choice: host.AllowOnce})
			cancel()
		}
	}
}

// TestWorkersOfSessionsStop stops a worker in the middle of a turn, which another one continues, and cancels the workflow of a session,
// which cancels its turn.
func TestWorkersOfSessionsStop(t *testing.T) {
	c := dial(t, new(temporalengine.MemoryBlobs))
	dir := t.TempDir()
	store, err := sqlitestore.Open(filepath.Join(dir, "store"), sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	r, err := temporalengine.NewRunner(temporalengine.RunnerConfig{
		Client: c, TaskQueue: t.Name() + fmt.Sprint(time.Now().UnixNano()), Store: store, Heartbeat: time.Second,
	})
	require.NoError(t, err)
	asked := make(chan struct{}, 100)
	stuck := model.Func(model.Info{}, func(ctx context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	start := func(m model.Model) (h *host.Host, stop func()) {
		a := agent.Must(agent.New(agent.Config[deps, string]{Name: "talker", Model: m}))
		h, err := host.New(host.Config[deps, string]{Agent: a, Store: store, Runner: r, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- h.Serve(ctx) }()
		return h, func() {
			cancel()
			require.ErrorIs(t, <-served, context.Canceled)
		}
	}
	surface, err := host.New(host.Config[deps, string]{Agent: talker(""), Store: store, Runner: r, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, surface.Close(context.Background())) })
	s, err := surface.Create(t.Context(), session.New{}, nil)
	require.NoError(t, err)
	ended := make(chan *host.Outcome, 1)
	prompt := func() {
		o, _ := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("hello")}})
		ended <- o
	}
	first, stop := start(stuck)
	go prompt()
	<-asked
	stop()
	require.NoError(t, first.Close(t.Context()))
	second, stop := start(said(model.Response(model.Text("hello"))))
	require.Equal(t, transcript.Done, (<-ended).Reason)
	stop()
	require.NoError(t, second.Close(t.Context()))

	third, stop := start(stuck)
	go prompt()
	<-asked
	require.NoError(t, c.CancelWorkflow(t.Context(), r.WorkflowID(s.ID()), ""))
	require.Equal(t, transcript.Cancelled, (<-ended).Reason)
	stop()
	require.NoError(t, third.Close(t.Context()))
}

func TestRunnersAreChecked(t *testing.T) {
	_, err := temporalengine.NewRunner(temporalengine.RunnerConfig{Heartbeat: -1})
	for _, text := range []string{"Client is nil", "TaskQueue is empty", "not a session.Watcher", "negative"} {
		require.ErrorContains(t, err, text)
	}
}
