// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestErrorsThatAreNotUTF8EndTheRun: the server refuses such texts, and the run would never end.
func TestErrorsThatAreNotUTF8EndTheRun(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	for name, text := range map[string]string{"bytes": "bad \xff\xfe", "a character that the bound would cut": strings.Repeat("é", 3000)} {
		for _, where := range []string{"model", "dependencies"} {
			t.Run(name+" of the "+where, func(t *testing.T) {
				cfg := config(newAgent(t, said(model.Response(final("done")))), blobs)
				cfg.Step.Attempts = 1
				switch where {
				case "model":
					cfg.Agent = newAgent(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, errors.New(text) }))
				case "dependencies":
					cfg.Deps = func(context.Context, temporalengine.Input) (deps, error) { return deps{}, errors.New(text) }
				}
				run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
				require.NoError(t, err)
				_, err = run.Result(t.Context())
				require.ErrorAs(t, err, new(*temporalengine.Error))
			})
		}
	}
}

// TestWorkerWithOtherBlobsFailsNoRun: it cannot read what the run begins with, and a worker with the right ones goes on.
func TestWorkerWithOtherBlobsFailsNoRun(t *testing.T) {
	blobs, others := new(temporalengine.MemoryBlobs), new(temporalengine.MemoryBlobs)
	c, wrong := dial(t, blobs), dial(t, others)
	queue := rand.Text()
	of := func(b temporalengine.Blobs) temporalengine.Config[deps, report] {
		return config(newAgent(t, said(model.Response(model.ToolCall("a", "guarded", `{"n":1}`)), model.Response(final("done")))), b)
	}
	stop := work(t, wrong, queue, worker.Options{}, of(others))
	run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{Prompt: strings.Repeat("Go. ", 40_000)})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		for _, e := range history(t, c, run.ID()) {
			if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil {
				require.Contains(t, a.Failure.Message, "no such blob")
				return true
			}
		}
		return false
	}, time.Minute, 10*time.Millisecond)
	stop()
	stop = work(t, c, queue, worker.Options{}, of(blobs))
	calls := waiting(t, run)
	stop()
	// A message that a worker cannot read is kept, too.
	stop = work(t, wrong, queue, worker.Options{}, of(others))
	require.NoError(t, run.Send(t.Context(), model.User(strings.Repeat("Be brief. ", 10_000))))
	stop()
	work(t, c, queue, worker.Options{}, of(blobs))
	_, err = run.Answer(t.Context(), both(calls))
	require.NoError(t, err)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Contains(t, plain(t, res.Messages), "Be brief. Be brief.")
}

// TestAnswersThatCannotBeAreRefused and leave the run as it is.
func TestAnswersThatCannotBeAreRefused(t *testing.T) {
	k := new(keys)
	external := toolset.ExternalTool[deps, struct{}]("external", "External.")
	a := storyteller(said(model.Response(model.ToolCall("g", "guarded", `{"n":1}`)), model.Response(model.ToolCall("e", "external", `{}`)), model.Response(final("done"))),
		researcher(insideModel(), k), k, func(c *agent.Config[deps, report]) { c.Tools = append(c.Tools, external) })
	env := environment(t, config(a, new(temporalengine.MemoryBlobs)))
	var twice, none, late toolset.DeferredResults
	twice.Decide("g", toolset.Allow())
	twice.Supply("g", toolset.Result{Text: "x"})
	none.Decide("g", toolset.Decision{})
	late.Decide("g", toolset.Decision{Verdict: toolset.VerdictDefer})
	at := time.Minute
	answer := func(answer toolset.DeferredResults, want string) {
		env.RegisterDelayedCallback(func() {
			env.UpdateWorkflow("answer", "", &testsuite.TestUpdateCallback{
				OnReject: func(err error) {
					require.NotEmpty(t, want, err)
					require.ErrorContains(t, err, want)
				},
				OnAccept: func() { require.Empty(t, want) }, OnComplete: func(_ any, err error) { require.NoError(t, err) },
			}, answer)
		}, at)
		at += time.Minute
	}
	answer(twice, `call "g" has a decision and a result`)
	answer(none, `call "g" has the verdict ""`)
	answer(late, `call "g" has the verdict "defer"`)
	answer(toolset.DeferredResults{}, "no answer")
	answer(both([]agent.PendingCall{{ID: "g"}}), "")
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("message", []model.Part{model.User("Be brief.")}) }, at)
	at += time.Minute
	// Only the loop can know that this one does not fit.
	answer(both([]agent.PendingCall{{ID: "e"}}), "")
	refused := 0
	env.RegisterDelayedCallback(func() {
		state := stateOf(t, env)
		require.Contains(t, state.Refused, `call "e" of "external" needs a result`)
		require.Len(t, state.Pending, 1)
		refused++
	}, at)
	at += time.Minute
	answer(toolset.DeferredResults{Results: map[string]toolset.Result{"e": {Text: "supplied"}}}, "")
	env.ExecuteWorkflow("reporter", temporalengine.Input{Prompt: "Go.", Metadata: ada})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, refused)
	require.Empty(t, stateOf(t, env).Refused)
	require.Len(t, k.all, 1)
	require.Equal(t, 1, strings.Count(plain(t, stateOf(t, env).Messages), "Be brief."))
}

func stateOf(t *testing.T, env *testsuite.TestWorkflowEnvironment) (state temporalengine.State) {
	t.Helper()
	value, err := env.QueryWorkflow("state")
	require.NoError(t, err)
	require.NoError(t, value.Get(&state))
	return state
}

// impatient is a server that wants workflows to be continued after a few events.
func impatient(t *testing.T, blobs temporalengine.Blobs) client.Client {
	dial(t, blobs) // skips
	s, err := startServer()
	require.NoError(t, err)
	s.close()
	s.more = []string{"--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=8"}
	require.NoError(t, s.start())
	t.Cleanup(s.close)
	c, err := connect(s.address, blobs)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestCancellationOfARunThatIsContinued is not lost if the history gets full at that moment.
func TestCancellationOfARunThatIsContinued(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := impatient(t, blobs)
	queue := rand.Text()
	cfg := config(newAgent(t, said(model.Response(model.ToolCall("a", "guarded", `{"n":1}`)))), blobs)
	stop := work(t, c, queue, worker.Options{}, cfg)
	run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	waiting(t, run)
	stop()
	require.NoError(t, run.Send(t.Context(), model.User("Go on.")))
	require.NoError(t, run.Cancel(t.Context()))
	work(t, c, queue, worker.Options{}, cfg)
	_, err = run.Result(t.Context())
	require.ErrorIs(t, err, context.Canceled)
	state, err := run.State(t.Context())
	require.NoError(t, err)
	require.Equal(t, [][]model.Part{{model.User("Go on.")}}, state.Unread)
}

// TestNothingIsLostWhileRunsAreContinued: people answer and send messages all the time, while each message ends an execution.
func TestNothingIsLostWhileRunsAreContinued(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := impatient(t, blobs)
	const calls, messages = 12, 40
	var parts []model.Part
	for i := range calls {
		parts = append(parts, model.ToolCall(fmt.Sprint(i), "guarded", fmt.Sprintf(`{"n":%d}`, i)))
	}
	k := new(keys)
	a := storyteller(said(model.Response(parts...), model.Response(final("done"))), researcher(insideModel(), k), k, nil)
	run, err := start(t, c, config(a, blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	pending := waiting(t, run)
	require.Len(t, pending, calls)
	var people sync.WaitGroup
	for i := range messages {
		people.Go(func() {
			if err := run.Send(t.Context(), model.User(fmt.Sprintf("message %d.", i))); err != nil {
				t.Error(err)
			}
		})
	}
	accepted := make([]int, calls)
	for i, call := range pending[1:] {
		for range 2 { // two people answer each
			people.Go(func() {
				_, err := run.Answer(t.Context(), both([]agent.PendingCall{call}))
				switch {
				case err == nil:
					k.mu.Lock()
					accepted[i+1]++
					k.mu.Unlock()
				case !errors.Is(err, temporalengine.ErrAnswer):
					t.Error(err)
				}
			})
		}
	}
	people.Wait()
	for i, n := range accepted[1:] {
		require.Equal(t, 1, n, "answers to call %d", i+1)
	}
	_, err = run.Answer(t.Context(), both(pending[:1]))
	require.NoError(t, err)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Len(t, k.all, calls)
	text := plain(t, res.Messages)
	for i := range messages {
		require.Equal(t, 1, strings.Count(text, fmt.Sprintf("message %d.", i)))
	}
	require.NotEmpty(t, history(t, c, run.ID())[0].GetWorkflowExecutionStartedEventAttributes().ContinuedExecutionRunId, "it was continued")
}

func TestRunThatHasEnded(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	runs := start(t, c, config(newAgent(t, said(model.Response(final("done")))), blobs))
	run, err := runs.Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	_, err = run.Result(t.Context())
	require.NoError(t, err)
	_, err = run.Answer(t.Context(), both([]agent.PendingCall{{ID: "a"}}))
	require.ErrorIs(t, err, temporalengine.ErrEnded)
	require.ErrorIs(t, run.Send(t.Context(), model.User("Go on.")), temporalengine.ErrEnded)
	require.NoError(t, run.Cancel(t.Context()))
	state, err := run.State(t.Context())
	require.NoError(t, err)
	require.Len(t, state.Messages, 3)
	for _, err := range []error{runs.Run("nobody").Send(t.Context(), model.User("Go on.")), runs.Run("nobody").Cancel(t.Context())} {
		require.ErrorIs(t, err, temporalengine.ErrNoRun)
	}
}

// TestTerminatedRunKeepsItsHistory, and so does one that takes too long.
func TestTerminatedRunKeepsItsHistory(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	queue := rand.Text()
	work(t, c, queue, worker.Options{}, config(newAgent(t, said(model.Response(model.ToolCall("a", "guarded", `{"n":1}`)))), blobs))
	for name, timeout := range map[string]time.Duration{"terminated": 0, "too long": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: "reporter", TaskQueue: queue, Timeout: timeout})
			require.NoError(t, err)
			run, err := runs.Start(t.Context(), temporalengine.Input{Prompt: "Go."})
			require.NoError(t, err)
			if timeout == 0 {
				waiting(t, run)
				require.NoError(t, c.TerminateWorkflow(t.Context(), run.ID(), "", "a test"))
			}
			_, err = run.Result(t.Context())
			var failed *temporalengine.Error
			require.ErrorAs(t, err, &failed)
			require.NotEmpty(t, failed.Messages)
			require.Equal(t, timeout > 0, errors.As(err, new(*temporal.TimeoutError)))
		})
	}
}

// TestRunThatAnOperatorResets goes on from there: calls that are made again have the keys that they had, and those who wait for its end wait on.
func TestRunThatAnOperatorResets(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	k := new(keys)
	m := said(model.Response(model.ToolCall("a", "work", `{"n":1}`)), model.Response(model.ToolCall("b", "guarded", `{"n":2}`)), model.Response(final("done")))
	run, err := start(t, c, config(storyteller(m, researcher(insideModel(), k), k, nil), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	calls := waiting(t, run)
	var first int64
	for _, e := range history(t, c, run.ID()) {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil && first == 0 {
			first = e.EventId
		}
	}
	results := make(chan error)
	d, err := c.DescribeWorkflowExecution(t.Context(), run.ID(), "")
	require.NoError(t, err)
	execution := d.WorkflowExecutionInfo.Execution
	go func() {
		res, err := run.Result(t.Context())
		if err == nil && res.Output.Text != "done" {
			err = errors.New(res.Output.Text)
		}
		results <- err
	}()
	_, err = c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: execution, Reason: "a test", WorkflowTaskFinishEventId: first, RequestId: rand.Text(),
	})
	require.NoError(t, err)
	waiting(t, run)
	_, err = run.Answer(t.Context(), both(calls))
	require.NoError(t, err)
	require.NoError(t, <-results)
	require.Equal(t, []string{run.ID() + "/1/a", run.ID() + "/1/a", run.ID() + "/2/b"}, k.all)
}

// TestIDsOfModelsAreNoIDsOfWorkflows as they are: the server takes 1,000 bytes and a session 256, and a child that the server does not take would be tried for ever.
func TestIDsOfModelsAreNoIDsOfWorkflows(t *testing.T) {
	long := strings.Repeat("i", 1000)
	ids := map[string]bool{}
	for _, c := range []struct{ run, key string }{
		{"run", "1/tool/a"}, {"run", "1/tool/" + long}, {long[:990], "1/tool/a"}, {long[:990], "1/tool/b"}, {"run", "1/tool/\x00"}, {"run", "1/tool/é"}, {"run", "1/tool/\n"},
	} {
		id := temporalengine.ChildID(c.run, c.key)
		require.LessOrEqual(t, len(id), 256)
		require.False(t, ids[id])
		require.NotContains(t, id, "é")
		require.NotContains(t, id, "\x00")
		ids[id] = true
	}
	require.True(t, ids["run/1/tool/a"])
}
