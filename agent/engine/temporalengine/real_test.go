// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

var runs = flag.Int("runs", 6, "how many runs go on while workers are killed with kill -9")

// start starts a worker for an agent until the test is over, and returns a client for its runs.
func start(t testing.TB, c client.Client, config temporalengine.Config[deps, report]) *temporalengine.Client[report] {
	t.Helper()
	queue := rand.Text()
	w := worker.New(c, queue, worker.Options{})
	closeRuns, err := temporalengine.Register(w, config)
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(func() {
		w.Stop()
		closeRuns()
	})
	runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: config.Name, TaskQueue: queue})
	require.NoError(t, err)
	return runs
}

func final(text string) model.Part {
	data, _ := json.Marshal(report{text})
	return model.ToolCall("o", "final_result", string(data))
}

func history(t testing.TB, c client.Client, id string) (events []*historypb.HistoryEvent) {
	t.Helper()
	for it := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

func TestApprovalsAreWaitedFor(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("a", "work", `{"n":1}`), model.ToolCall("b", "guarded", `{"n":2}`), model.ToolCall("c", "guarded", `{"n":3}`)),
		modeltest.Say(final("done")),
	)
	client := start(t, c, config(newAgent(t, m), blobs))
	run, err := client.Start(t.Context(), temporalengine.Input{Prompt: "Go.", Metadata: map[string]string{"user": "ada"}})
	require.NoError(t, err)
	var state *temporalengine.State
	require.Eventually(t, func() bool {
		state, err = run.State(t.Context())
		require.NoError(t, err)
		return len(state.Pending) > 0
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, state.Pending, 2)
	require.Equal(t, "guarded", state.Pending[0].Approval.Reason)
	require.Equal(t, "worked 1 for ada", state.Messages[2].Parts[0].Text)

	var answers toolset.DeferredResults
	answers.Decide("nobody", toolset.Allow())
	_, err = run.Answer(t.Context(), answers)
	require.ErrorIs(t, err, temporalengine.ErrAnswer)
	require.ErrorContains(t, err, `no call "nobody" waits for an answer`)
	answers = toolset.DeferredResults{}
	answers.Decide("b", toolset.Allow())
	left, err := run.Answer(t.Context(), answers)
	require.NoError(t, err)
	require.Equal(t, 1, left)
	_, err = run.Answer(t.Context(), answers)
	require.ErrorIs(t, err, temporalengine.ErrAnswer, "it has been answered")
	answers = toolset.DeferredResults{}
	answers.Decide("c", toolset.Deny("not today"))
	left, err = run.Answer(t.Context(), answers)
	require.NoError(t, err)
	require.Zero(t, left)

	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text)
	require.Equal(t, 2, res.Usage.Requests)
	var texts []string
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn {
				texts = append(texts, p.Text)
			}
		}
	}
	require.Contains(t, strings.Join(texts, "\n"), "guarded 2 for ada")
	require.Contains(t, strings.Join(texts, "\n"), "not today")
	require.NotContains(t, strings.Join(texts, "\n"), "guarded 3")
}

func TestStepsAreOneActivityEach(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	m := modeltest.Script(modeltest.Say(model.ToolCall("a", "work", `{"n":1}`), model.ToolCall("b", "work", `{"n":2}`)), modeltest.Say(final("done")))
	run, err := start(t, c, config(newAgent(t, m), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	_, err = run.Result(t.Context())
	require.NoError(t, err)
	activities := 0
	for _, e := range history(t, c, run.ID()) {
		if e.EventType == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			activities++
		}
	}
	require.Equal(t, 5, activities, "two steps, two calls and the output")
}

func TestLargeResultsAreNoPartOfEvents(t *testing.T) {
	blobs := temporalengine.DirBlobs{Dir: filepath.Join(t.TempDir(), "blobs")}
	c := dial(t, blobs)
	big := strings.Repeat("0123456789abcdef", 200_000) // 3.2 MB
	a, err := agent.New(agent.Config[deps, report]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("a", "big", `{}`)), modeltest.Say(model.ToolCall("b", "big", `{}`)), modeltest.Say(final("done"))),
		Tools: []*toolset.Tool[deps]{toolset.Func("big", "Big.", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) { return big, nil })},
	})
	require.NoError(t, err)
	run, err := start(t, c, config(a, blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, big, res.Messages[4].Parts[0].Text)
	for _, e := range history(t, c, run.ID()) {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		require.Less(t, len(data), 256<<10, e.EventType)
	}
}

func TestCancelledRunKeepsItsHistory(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	working, ended := make(chan struct{}), make(chan struct{})
	a, err := agent.New(agent.Config[deps, report]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("a", "wait", `{}`))),
		Tools: []*toolset.Tool[deps]{toolset.Func("wait", "Wait.", func(ctx context.Context, _ *toolset.RunContext[deps], _ struct{}) (string, error) {
			close(working)
			<-ctx.Done()
			close(ended)
			return "", ctx.Err()
		})},
	})
	require.NoError(t, err)
	cfg := config(a, blobs)
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Heartbeat: time.Second} }
	run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	<-working
	require.NoError(t, run.Cancel(t.Context()))
	_, err = run.Result(t.Context())
	<-ended
	var failed *temporalengine.Error
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, context.Canceled)
	require.GreaterOrEqual(t, len(failed.Messages), 2)
	require.Equal(t, "wait", failed.Messages[1].Parts[0].Tool)
	require.Equal(t, 1, failed.Usage.Requests)
}

func TestFailedRunIsNotTriedAgain(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	asked := 0
	a := newAgent(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		asked++
		return nil, fmt.Errorf("the provider is down")
	}))
	client := start(t, c, config(a, blobs))
	run, err := client.Start(t.Context(), temporalengine.Input{ID: rand.Text(), Prompt: "Go."})
	require.NoError(t, err)
	_, err = run.Result(t.Context())
	require.ErrorContains(t, err, "the provider is down")
	require.Equal(t, 1, asked)
	_, err = client.Start(t.Context(), temporalengine.Input{ID: run.ID(), Prompt: "Go."})
	require.ErrorIs(t, err, temporalengine.ErrRunning)
	_, err = client.Run("nobody").Result(t.Context())
	require.ErrorIs(t, err, temporalengine.ErrNoRun)
}

const childEnv = "PONTE_TEMPORALENGINE_CHILD"

// task is what a child process, a worker, is told.
type task struct{ Address, Queue, Blobs, Log string }

// killAgent asks for tools and then ends; its answers depend on the history alone. Tools write a line for each execution.
func killAgent(logFile string) *agent.Agent[deps, report] {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		step := 0
		for _, m := range req.Messages {
			if m.Kind == model.KindResponse {
				step++
			}
		}
		if step == 3 {
			return model.Response(final("done")), nil
		}
		return model.Response(model.ToolCall(fmt.Sprint("a", step), "work", `{"n":1}`), model.ToolCall(fmt.Sprint("b", step), "work", `{"n":2}`)), nil
	})
	return agent.Must(agent.New(agent.Config[deps, report]{Name: "killed", Model: m, Tools: []*toolset.Tool[deps]{
		toolset.Func("work", "Work.", func(_ context.Context, run *toolset.RunContext[deps], a args) (string, error) {
			time.Sleep(time.Duration(mathrand.IntN(20)) * time.Millisecond)
			f, err := os.OpenFile(logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			defer f.Close()
			_, err = fmt.Fprintln(f, run.IdempotencyKey())
			return fmt.Sprint("worked ", a.N), err
		}),
	}}))
}

func child(spec string) {
	var w task
	err := json.Unmarshal([]byte(spec), &w)
	if err == nil {
		blobs := temporalengine.DirBlobs{Dir: w.Blobs}
		var c client.Client
		if c, err = connect(w.Address, blobs); err == nil {
			wk := worker.New(c, w.Queue, worker.Options{})
			cfg := config(killAgent(w.Log), blobs)
			fast := temporalengine.Activity{Heartbeat: time.Second, Attempts: 1000}
			cfg.Step, cfg.Tool = fast, func(string) temporalengine.Activity { return fast }
			if _, err = temporalengine.Register(wk, cfg); err == nil {
				err = wk.Run(nil)
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestRunsSurviveKilledWorkers kills one of two workers again and again while runs go on. Repeat the proof with -runs 200.
func TestRunsSurviveKilledWorkers(t *testing.T) {
	dir := t.TempDir()
	blobs := temporalengine.DirBlobs{Dir: filepath.Join(dir, "blobs")}
	c := dial(t, blobs)
	w := task{shared.server.address, rand.Text(), blobs.Dir, filepath.Join(dir, "log")}
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
	stop, stopped := make(chan struct{}), make(chan int)
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
			case <-time.After(time.Duration(300+mathrand.IntN(700)) * time.Millisecond):
			}
			_ = workers[i].Process.Kill()
			_ = workers[i].Wait()
			killed++
			workers[i] = launch()
		}
	}()
	client, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: "reporter", TaskQueue: w.Queue})
	require.NoError(t, err)
	var all sync.WaitGroup
	for n := range *runs {
		all.Go(func() {
			run, err := client.Start(t.Context(), temporalengine.Input{ID: fmt.Sprint(w.Queue, "-", n), Prompt: "Go."})
			if err != nil {
				t.Error(err)
				return
			}
			res, err := run.Result(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if res.Output.Text != "done" || len(res.Messages) < 8 || res.Usage.Requests != 4 {
				t.Errorf("the run came to %+v", res)
			}
		})
	}
	all.Wait()
	close(stop)
	killed := <-stopped
	// Each call was executed, and no more often than workers were lost while it ran.
	f, err := os.Open(w.Log)
	require.NoError(t, err)
	defer f.Close()
	executed := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		executed[lines.Text()]++
	}
	require.Len(t, executed, *runs*6)
	for n := range *runs {
		lost := 0
		for _, e := range history(t, c, fmt.Sprint(w.Queue, "-", n)) {
			if e.EventType == enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED {
				lost += int(e.GetActivityTaskStartedEventAttributes().Attempt) - 1
			}
		}
		for key, times := range executed {
			if strings.HasPrefix(key, fmt.Sprint(w.Queue, "-", n, "/")) {
				require.LessOrEqual(t, times, 1+lost, key)
			}
		}
	}
	t.Logf("%d runs, %d workers killed", *runs, killed)
}
