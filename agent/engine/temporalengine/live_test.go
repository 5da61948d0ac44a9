// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// work starts a worker until stop is called or the test is over.
func work(t testing.TB, c client.Client, queue string, o worker.Options, configs ...temporalengine.Config[deps, report]) (stop func()) {
	t.Helper()
	w := worker.New(c, queue, o)
	var closes []func()
	for _, config := range configs {
		closeRuns, err := temporalengine.Register(w, config)
		require.NoError(t, err)
		closes = append(closes, closeRuns)
	}
	require.NoError(t, w.Start())
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		w.Stop()
		for _, f := range closes {
			f()
		}
	}
	t.Cleanup(stop)
	return stop
}

func clientOf(t testing.TB, c client.Client, queue string) *temporalengine.Client[report] {
	t.Helper()
	runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: "reporter", TaskQueue: queue})
	require.NoError(t, err)
	return runs
}

// waiting waits until calls of a run wait for answers.
func waiting(t testing.TB, run *temporalengine.Run[report]) (calls []agent.PendingCall) {
	t.Helper()
	require.Eventually(t, func() bool {
		state, err := run.State(t.Context())
		if err == nil {
			calls = state.Pending
		}
		return len(calls) > 0
	}, time.Minute, 10*time.Millisecond)
	return calls
}

// TestWaitingRunGoesOnUnderANewVersion of its agent: with other instructions and other tools.
func TestWaitingRunGoesOnUnderANewVersion(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	version := func(name string, m model.Model, tools ...*toolset.Tool[deps]) temporalengine.Config[deps, report] {
		return config(agent.Must(agent.New(agent.Config[deps, report]{Name: "reporter", Instructions: "Version " + name + ".", Model: m, Tools: tools})), blobs)
	}
	k := new(keys)
	queue := rand.Text()
	stop := work(t, c, queue, worker.Options{}, version("one", modeltest.Script(modeltest.Say(model.ToolCall("a", "guarded", `{"n":1}`), model.ToolCall("b", "guarded", `{"n":2}`))), guardedTool(k)))
	run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{Prompt: "Go.", Metadata: ada})
	require.NoError(t, err)
	calls := waiting(t, run)
	stop()

	fresh := toolset.Func("fresh", "Fresh.", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) { return "as new", nil })
	work(t, c, queue, worker.Options{}, version("two", modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if req.Instructions != "Version two." {
			return nil, errors.New("the instructions are " + req.Instructions)
		}
		if len(req.Messages) > 3 {
			return model.Response(final("done")), nil
		}
		return model.Response(model.ToolCall("f", "fresh", `{}`)), nil
	}), guardedTool(k), fresh))
	_, err = run.Answer(t.Context(), both(calls))
	require.NoError(t, err)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	text := plain(t, res.Messages)
	require.Contains(t, text, "guarded 1 for ada")
	require.Contains(t, text, "as new")
	require.ElementsMatch(t, []string{run.ID() + "/1/a", run.ID() + "/1/b"}, k.all, "the keys are those of the response, and not of the step that made the calls")
}

func both(calls []agent.PendingCall) (r toolset.DeferredResults) {
	for _, c := range calls {
		r.Decide(c.Key(), toolset.Allow())
	}
	return r
}

// TestWorkersWithoutAToolLeaveItsCallsToOthers: workers of two versions are there while one takes the other's place.
func TestWorkersWithoutAToolLeaveItsCallsToOthers(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	with := config(newAgent(t, modeltest.Script(modeltest.Say(model.ToolCall("a", "work", `{"n":1}`)), modeltest.Say(final("done")))), blobs)
	without := config(agent.Must(agent.New(agent.Config[deps, report]{Name: "reporter"})), blobs)
	for name, helped := range map[string]bool{"nobody has it": false, "another one has it": true} {
		t.Run(name, func(t *testing.T) {
			queue, tools := rand.Text(), rand.Text()
			with := with
			with.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{TaskQueue: tools, Attempts: 3} }
			with.Agent = newAgent(t, modeltest.Script(modeltest.Say(model.ToolCall("a", "work", `{"n":1}`)), modeltest.Say(final("done"))))
			work(t, c, queue, worker.Options{}, with)
			stop := work(t, c, tools, worker.Options{}, without)
			run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{Prompt: "Go.", Metadata: ada})
			require.NoError(t, err)
			if !helped {
				_, err = run.Result(t.Context())
				require.ErrorIs(t, err, temporalengine.ErrWorkerLost)
				require.ErrorContains(t, err, `the agent no longer has this tool`)
				return
			}
			require.Eventually(t, func() bool {
				d, err := c.DescribeWorkflowExecution(t.Context(), run.ID(), "")
				return err == nil && len(d.PendingActivities) == 1 && d.PendingActivities[0].LastFailure != nil
			}, time.Minute, 5*time.Millisecond)
			stop()
			work(t, c, tools, worker.Options{}, with)
			res, err := run.Result(t.Context())
			require.NoError(t, err)
			require.Contains(t, plain(t, res.Messages), "worked 1 for ada")
		})
	}
}

// TestToolThatTakesLongerThanItsHeartbeat is executed once: the worker says that it is alive.
func TestToolThatTakesLongerThanItsHeartbeat(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	const beats = 3 * time.Second
	k := new(keys)
	a := agent.Must(agent.New(agent.Config[deps, report]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("a", "long", `{}`)), modeltest.Say(final("done"))),
		Tools: []*toolset.Tool[deps]{toolset.Func("long", "Long.", func(ctx context.Context, run *toolset.RunContext[deps], _ struct{}) (string, error) {
			k.add(run.IdempotencyKey())
			select {
			case <-time.After(2 * beats):
				return "at last", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})},
	}))
	cfg := config(a, blobs)
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Heartbeat: beats} }
	run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, "at last", res.Messages[2].Parts[0].Text)
	require.Equal(t, []string{run.ID() + "/1/a"}, k.all)
}

// TestRateLimitIsThatOfAllWorkersOfAQueue: two workers together execute no more calls than the queue allows.
func TestRateLimitIsThatOfAllWorkersOfAQueue(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	const calls, rate = 16, 4
	var parts []model.Part
	for i := range calls {
		parts = append(parts, model.ToolCall(fmt.Sprint(i), "work", `{"n":1}`))
	}
	cfg := config(newAgent(t, modeltest.Script(modeltest.Say(parts...), modeltest.Say(final("done")))), blobs)
	queue, limited := rand.Text(), rand.Text()
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{TaskQueue: limited} }
	work(t, c, queue, worker.Options{}, cfg)
	for range 2 {
		work(t, c, limited, worker.Options{TaskQueueActivitiesPerSecond: rate}, cfg)
	}
	run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	_, err = run.Result(t.Context())
	require.NoError(t, err)
	var began, ended time.Time
	for _, e := range history(t, c, run.ID()) {
		switch e.EventType {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			if e.GetActivityTaskScheduledEventAttributes().TaskQueue.Name == limited && began.IsZero() {
				began = e.EventTime.AsTime()
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			ended = e.EventTime.AsTime()
		}
	}
	// The server lets a second's worth through at once, for each of the four partitions of a queue at most.
	require.GreaterOrEqual(t, ended.Sub(began), time.Duration(calls-2*rate)*time.Second/rate/2)
}

// TestCancellationReachesAChild and the tool that it executes.
func TestCancellationReachesAChild(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	working, ended := make(chan struct{}), make(chan struct{})
	inner := agent.Must(agent.New(agent.Config[deps, string]{
		Name: "researcher", Model: modeltest.Script(modeltest.Say(model.ToolCall("a", "wait", `{}`))),
		Tools: []*toolset.Tool[deps]{toolset.Func("wait", "Wait.", func(ctx context.Context, _ *toolset.RunContext[deps], _ struct{}) (string, error) {
			close(working)
			<-ctx.Done()
			close(ended)
			return "", ctx.Err()
		})},
	}))
	outer := storyteller(said(model.Response(model.ToolCall("r", "research", `{"prompt":"Find it."}`))), inner, new(keys), nil)
	run := startFamily(t, c, blobs, outer, inner)
	<-working
	require.NoError(t, run.Cancel(t.Context()))
	_, err := run.Result(t.Context())
	<-ended
	require.ErrorIs(t, err, context.Canceled)
	childID := run.ID() + "/1/tool/r"
	d, err := c.DescribeWorkflowExecution(t.Context(), childID, "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, d.WorkflowExecutionInfo.Status)
}

// startFamily starts a run of an agent whose tool research is a child.
func startFamily(t *testing.T, c client.Client, blobs temporalengine.Blobs, outer *agent.Agent[deps, report], inner *agent.Agent[deps, string]) *temporalengine.Run[report] {
	t.Helper()
	queue := rand.Text()
	w := worker.New(c, queue, worker.Options{})
	cfg := config(outer, blobs)
	fast := temporalengine.Activity{Heartbeat: time.Second}
	cfg.Tool = func(name string) temporalengine.Activity {
		if name == "research" {
			return temporalengine.Activity{Child: "researcher"}
		}
		return fast
	}
	closeOuter, err := temporalengine.Register(w, cfg)
	require.NoError(t, err)
	closeInner, err := temporalengine.Register(w, temporalengine.Config[deps, string]{Name: "researcher", Agent: inner, Blobs: blobs, Deps: cfg.Deps, Tool: func(string) temporalengine.Activity { return fast }})
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(func() {
		w.Stop()
		closeOuter()
		closeInner()
	})
	run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{Prompt: "Go.", Metadata: ada})
	require.NoError(t, err)
	return run
}

// TestQuestionsOfAChildReachTheClient of the run around it.
func TestQuestionsOfAChildReachTheClient(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	inner := agent.Must(agent.New(agent.Config[deps, string]{
		Name: "researcher", Model: said(model.Response(model.ToolCall("q", "ask", `{}`)), model.Response(model.Text("blue, then"))),
		Tools: []*toolset.Tool[deps]{toolset.Func("ask", "Ask the user.", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) {
			return "", toolset.Deferred(json.RawMessage(`{"question":"Which colour?"}`))
		})},
	}))
	outer := storyteller(said(model.Response(model.ToolCall("r", "research", `{"prompt":"Find it."}`)), model.Response(final("done"))), inner, new(keys), nil)
	run := startFamily(t, c, blobs, outer, inner)
	calls := waiting(t, run)
	require.Len(t, calls, 1)
	require.Equal(t, []string{"r", "q"}, calls[0].Path)
	require.Equal(t, "researcher", calls[0].Agent)
	require.JSONEq(t, `{"question":"Which colour?"}`, string(calls[0].Meta))
	var answers toolset.DeferredResults
	answers.Supply(calls[0].Key(), toolset.Result{Text: "Blue."})
	left, err := run.Answer(t.Context(), answers)
	require.NoError(t, err)
	require.Zero(t, left)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, "blue, then", res.Messages[2].Parts[0].Text)
}

// TestErrorsKeepTheirIdentity up to the client, and long ones do not make long events.
func TestErrorsKeepTheirIdentity(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return nil, fmt.Errorf("%w: %s", model.ErrRateLimited, strings.Repeat("x", 3<<20))
	})
	queue := rand.Text()
	work(t, c, queue, worker.Options{}, config(newAgent(t, m), blobs))
	for _, known := range []temporalengine.Blobs{nil, blobs} {
		runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: "reporter", TaskQueue: queue, Blobs: known})
		require.NoError(t, err)
		run, err := runs.Start(t.Context(), temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		_, err = run.Result(t.Context())
		require.ErrorContains(t, err, model.ErrRateLimited.Error())
		if known != nil {
			require.ErrorIs(t, err, model.ErrRateLimited)
			require.Greater(t, len(err.Error()), 3<<20)
		}
		var failed *temporalengine.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "Go.", failed.Messages[0].Parts[0].Text)
		smallEvents(t, c, run.ID())
	}
}

// TestResultIsNotAFailureWhenItsContextEnds, whoever finds out first.
func TestResultIsNotAFailureWhenItsContextEnds(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	run, err := start(t, c, config(newAgent(t, said(model.Response(model.ToolCall("a", "guarded", `{"n":1}`)))), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	waiting(t, run)
	for i := range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i)*3*time.Millisecond)
		_, err := run.Result(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.False(t, errors.As(err, new(*temporalengine.Error)))
	}
}

func smallEvents(t *testing.T, c client.Client, id string) {
	t.Helper()
	for _, e := range history(t, c, id) {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		require.Less(t, len(data), 256<<10, e.EventType)
	}
}
