// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

var runs = flag.Int("runs", 6, "how many runs go on while workers and the server are killed with kill -9")

const childEnv = "PONTE_TEMPORALENGINE_CHILD"

// task is what a child process, a worker, is told.
type task struct{ Address, Queue, Blobs, Log string }

// killAgents are an agent and the one inside it. Their answers depend on the history alone. Tools write a line for each execution, but not that
// which is executed as a local activity.
func killAgents(logFile string) (outer *agent.Agent[deps, report], inner *agent.Agent[deps, string]) {
	work := func(name string, logged bool, opts ...toolset.Option) *toolset.Tool[deps] {
		return toolset.Func(name, "Work.", func(_ context.Context, run *toolset.RunContext[deps], a args) (string, error) {
			time.Sleep(time.Duration(mathrand.IntN(20)) * time.Millisecond)
			if !logged || logFile == "" {
				return fmt.Sprint(name, " ", a.N), nil
			}
			f, err := os.OpenFile(logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			defer f.Close()
			_, err = fmt.Fprintln(f, run.IdempotencyKey())
			return fmt.Sprint(name, " ", a.N), err
		}, opts...)
	}
	asks := toolset.Approve(func(context.Context, *toolset.RunContext[deps], args) (*toolset.Approval, error) {
		return &toolset.Approval{Reason: "guarded"}, nil
	})
	inside := func(name string, logged bool) *agent.Agent[deps, string] {
		return agent.Must(agent.New(agent.Config[deps, string]{
			Name: name, Tools: []*toolset.Tool[deps]{work("work", logged), work("guarded", logged, asks)},
			Model: said(
				model.Response(model.ToolCall("a", "work", `{"n":1}`), model.ToolCall("b", "guarded", `{"n":2}`)),
				model.Response(model.Text("found")),
			),
		}))
	}
	inner = inside("researcher", true)
	same := func(d deps) deps { return d }
	outer = agent.Must(agent.New(agent.Config[deps, report]{
		Name: "killed",
		Tools: []*toolset.Tool[deps]{
			work("work", true), work("guarded", true, asks), work("local", false),
			agent.AsTool("research", "Research.", inner, same), agent.AsTool("look", "Look.", inside("looker", false), same),
		},
		Model: said(
			model.Response(model.ToolCall("a", "work", `{"n":1}`), model.ToolCall("b", "work", `{"n":2}`), model.ToolCall("l", "local", `{"n":3}`)),
			model.Response(model.ToolCall("a", "work", `{"n":4}`), model.ToolCall("g", "guarded", `{"n":5}`)),
			model.Response(model.ToolCall("r", "research", `{"prompt":"Find it."}`), model.ToolCall("i", "look", `{"prompt":"Look."}`)),
			model.Response(model.ToolCall("a", "work", `{"n":6}`)),
			model.Response(final("done")),
		),
	}))
	return outer, inner
}

func child(spec string) {
	var w task
	err := json.Unmarshal([]byte(spec), &w)
	blobs := temporalengine.DirBlobs{Dir: w.Blobs}
	var c client.Client
	for tries := 0; err == nil && tries < 100; tries++ { // the server may be down
		if c, err = connect(w.Address, blobs); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
		err = nil
	}
	if err == nil && c == nil {
		err = errors.New("the server is not there")
	}
	if err == nil {
		wk := worker.New(c, w.Queue, worker.Options{})
		outer, inner := killAgents(w.Log)
		cfg := config(outer, blobs)
		fast := temporalengine.Activity{Heartbeat: 3 * time.Second, Attempts: 1000}
		cfg.Step, cfg.Tool = fast, func(name string) temporalengine.Activity {
			switch name {
			case "local":
				return temporalengine.Activity{Local: true}
			case "research":
				return temporalengine.Activity{Child: "researcher"}
			}
			return fast
		}
		of := temporalengine.Config[deps, string]{Name: "researcher", Agent: inner, Blobs: blobs, Step: fast, Tool: func(string) temporalengine.Activity { return fast }}
		_, err = temporalengine.Register(wk, cfg)
		if err == nil {
			_, err = temporalengine.Register(wk, of)
		}
		if err == nil {
			err = wk.Run(nil)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestRunsSurviveKills kills one of two workers again and again while runs go on, and the server once. Repeat the proof with -runs 200.
func TestRunsSurviveKills(t *testing.T) {
	dial(t, new(temporalengine.MemoryBlobs)) // skips
	dir := t.TempDir()
	s, err := startServer()
	require.NoError(t, err)
	s.close()
	s.database = filepath.Join(dir, "temporal.db")
	require.NoError(t, s.start())
	defer func() { s.close() }()
	blobs := temporalengine.DirBlobs{Dir: filepath.Join(dir, "blobs")}
	c, err := connect(s.address, blobs)
	require.NoError(t, err)
	defer c.Close()
	w := task{s.address, rand.Text(), blobs.Dir, filepath.Join(dir, "log")}
	spec, err := json.Marshal(w)
	require.NoError(t, err)
	launch := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(spec), "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		return cmd
	}
	workers := []*exec.Cmd{launch(), launch()}
	stop, stopped, down := make(chan struct{}), make(chan int), make(chan struct{}, 1)
	go func() {
		killed := 0
		for i := 0; ; i = 1 - i {
			select {
			case <-stop:
				for _, cmd := range workers {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				}
				stopped <- killed
				return
			case <-down:
				s.kill()
				if err := s.start(); err != nil {
					t.Error(err)
				}
				continue
			case <-time.After(time.Duration(2000+mathrand.IntN(4000)) * time.Millisecond):
			}
			_ = workers[i].Process.Kill()
			_ = workers[i].Wait()
			killed++
			workers[i] = launch()
		}
	}()
	runsOf, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: "reporter", TaskQueue: w.Queue})
	require.NoError(t, err)
	results := make([]*agent.Result[report], *runs)
	var all sync.WaitGroup
	limit := make(chan struct{}, 30)
	for n := range *runs {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			results[n] = outlive(t, runsOf, fmt.Sprint(w.Queue, "-", n))
			if n == *runs/3 {
				down <- struct{}{}
			}
		})
	}
	all.Wait()
	close(stop)
	killed := <-stopped

	outer, _ := killAgents("")
	want := native(t, outer, allow)
	for _, res := range results {
		require.NotNil(t, res)
		require.Equal(t, want.Output, res.Output)
		require.Equal(t, plain(t, want.Messages), plain(t, res.Messages))
		require.Equal(t, want.Usage, res.Usage)
	}
	executed := map[string]int{}
	f, err := os.Open(w.Log)
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		executed[lines.Text()]++
	}
	attempts := map[string]int{}
	for n := range *runs {
		attemptsOf(t, c, blobs, fmt.Sprint(w.Queue, "-", n), attempts)
	}
	require.Len(t, executed, *runs*7, "five calls of the run and two of the agent inside that is a child")
	again := 0
	for key, times := range executed {
		require.Positive(t, attempts[key], key)
		require.LessOrEqual(t, times, attempts[key], "%s was executed again", key)
		again += times - 1
	}
	t.Logf("%d runs, %d workers killed, the server once; %d calls were executed again because their worker or the server was lost", *runs, killed, again)
}

// outlive starts a run and answers what it waits for, whatever becomes of the server.
func outlive(t *testing.T, runsOf *temporalengine.Client[report], id string) *agent.Result[report] {
	var run *temporalengine.Run[report]
	for end := time.Now().Add(20 * time.Minute); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if run == nil {
			started, err := runsOf.Start(ctx, temporalengine.Input{ID: id, Prompt: "Go.", Metadata: ada})
			if run = started; errors.Is(err, temporalengine.ErrRunning) {
				run = runsOf.Run(id)
			}
		}
		if run != nil {
			res, err := run.Result(ctx)
			if err == nil {
				cancel()
				return res
			}
			if failed := new(temporalengine.Error); errors.As(err, &failed) {
				t.Error(err)
				cancel()
				return nil
			}
			if state, err := run.State(t.Context()); err == nil && len(state.Pending) > 0 {
				_, _ = run.Answer(t.Context(), allow(state.Pending)[0])
			}
		}
		cancel()
	}
	t.Errorf("run %s does not end", id)
	return nil
}

// attemptsOf adds how often each call of a run was attempted, by the idempotency keys of the calls. Calls of children are counted, too.
func attemptsOf(t *testing.T, c client.Client, blobs temporalengine.Blobs, id string, attempts map[string]int) {
	keyOf := map[int64]string{}
	for _, e := range history(t, c, id) {
		switch e.EventType {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			var in struct{ Task json.RawMessage }
			require.NoError(t, temporalengine.Converter(blobs).FromPayloads(e.GetActivityTaskScheduledEventAttributes().Input, &in))
			task, err := engine.UnmarshalTask(in.Task)
			require.NoError(t, err)
			if task.Op == engine.OpTool {
				run := toolset.RunContext[deps]{RunInfo: *task.Info, Call: task.Call.Call}
				keyOf[e.EventId] = run.IdempotencyKey()
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
			a := e.GetActivityTaskStartedEventAttributes()
			if key := keyOf[a.ScheduledEventId]; key != "" {
				attempts[key] = int(a.Attempt)
			}
		case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
			attemptsOf(t, c, blobs, e.GetChildWorkflowExecutionStartedEventAttributes().WorkflowExecution.WorkflowId, attempts)
		}
	}
}
