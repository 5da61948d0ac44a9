// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// keys collects the idempotency keys of calls.
type keys struct {
	mu  sync.Mutex
	all []string
}

func (k *keys) add(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, key)
}

// guardedTool needs approval.
func guardedTool(k *keys) *toolset.Tool[deps] {
	return toolset.Func("guarded", "Guarded.", func(_ context.Context, run *toolset.RunContext[deps], a args) (string, error) {
		k.add(run.IdempotencyKey())
		return fmt.Sprint("guarded ", a.N, " for ", run.Deps.user), nil
	}, toolset.Approve(func(context.Context, *toolset.RunContext[deps], args) (*toolset.Approval, error) {
		return &toolset.Approval{Reason: "guarded"}, nil
	}))
}

// researcher is the agent inside.
func researcher(m model.Model, k *keys) *agent.Agent[deps, string] {
	return agent.Must(agent.New(agent.Config[deps, string]{Name: "researcher", Model: m, Tools: []*toolset.Tool[deps]{guardedTool(k)}}))
}

// storyteller is an agent with instructions, a tool that wants other arguments now and then, one that needs approval, one whose result comes from
// elsewhere, and one that has the agent inside.
func storyteller(m model.Model, inside *agent.Agent[deps, string], k *keys, change func(*agent.Config[deps, report])) *agent.Agent[deps, report] {
	three := 3
	c := agent.Config[deps, report]{
		Name: "reporter", Model: m, ToolRetries: &three, Instructions: "Report.",
		Tools: []*toolset.Tool[deps]{
			toolset.Func("work", "Work.", func(_ context.Context, run *toolset.RunContext[deps], a args) (string, error) {
				k.add(run.IdempotencyKey())
				if a.N < 0 {
					return "", toolset.Retry("n must not be negative")
				}
				return fmt.Sprint("worked ", a.N, " for ", run.Deps.user), nil
			}),
			guardedTool(k),
			agent.AsTool("research", "Research.", inside, func(d deps) deps { return d }),
			toolset.Func("elsewhere", "Elsewhere.", func(context.Context, *toolset.RunContext[deps], args) (string, error) {
				return "", toolset.Deferred(nil)
			}),
		},
	}
	if change != nil {
		change(&c)
	}
	return agent.Must(agent.New(c))
}

// said is a model that says what depends on how many responses the history has.
func said(responses ...*model.Message) model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		n := 0
		for _, m := range req.Messages {
			if m.Kind == model.KindResponse {
				n++
			}
		}
		if n >= len(responses) {
			return nil, errors.New("the model has nothing to say")
		}
		resp := responses[n].Clone()
		resp.Usage = model.Usage{InputTokens: int64(10 * len(req.Messages)), OutputTokens: 3}
		return resp, nil
	})
}

func storyModel() model.Model {
	return said(
		model.Response(model.Text("at work"), model.ToolCall("a", "work", `{"n":1}`), model.ToolCall("b", "work", `{"n":"two"}`)),
		model.Response(model.ToolCall("a", "work", `{"n":-1}`)),
		model.Response(model.ToolCall("a", "work", `{"n":-2}`)),
		model.Response(model.ToolCall("a", "work", `{"n":2}`), model.ToolCall("b", "guarded", `{"n":3}`), model.ToolCall("c", "guarded", `{"n":4}`)),
		model.Response(model.ToolCall("a", "research", `{"prompt":"Find it."}`), model.ToolCall("b", "elsewhere", `{"n":5}`)),
		model.Response(model.ToolCall("a", "work", `{"n":6}`)),
		model.Response(model.ToolCall("o", "final_result", `{"text":""}`)),
		model.Response(model.ToolCall("o", "final_result", `{"text":"done"}`)),
	)
}

func insideModel() model.Model {
	return said(
		model.Response(model.ToolCall("a", "guarded", `{"n":7}`)),
		model.Response(model.Text("found")),
	)
}

// native plays a run on the native engine. Calls that wait are answered as those of a story.
func native(t *testing.T, a *agent.Agent[deps, report], answer func([]agent.PendingCall) []toolset.DeferredResults) *agent.Result[report] {
	t.Helper()
	var used toolset.Usage
	prompt, options := "Go.", []agent.RunOption{}
	for range 20 {
		res, err := a.Run(t.Context(), deps{"ada"}, prompt, options...)
		if err == nil {
			res.Usage = sum(res.Usage, used)
			return res
		}
		var failed *agent.RunError
		var pending *agent.PendingError
		require.ErrorAs(t, err, &failed)
		require.ErrorAs(t, err, &pending)
		used = sum(used, failed.Usage)
		var all toolset.DeferredResults
		for left := pending.Calls; len(left) > 0; left = left[1:] {
			one := answer(left)[0]
			for k, v := range one.Decisions {
				all.Decide(k, v)
			}
			for k, v := range one.Results {
				all.Supply(k, v)
			}
		}
		prompt, options = "", []agent.RunOption{agent.WithHistory(failed.Messages), agent.WithResults(all)}
	}
	t.Fatal("the run does not end")
	return nil
}

func sum(a, b toolset.Usage) toolset.Usage {
	a.Requests += b.Requests
	a.ToolCalls += b.ToolCalls
	a.Usage.Add(b.Usage)
	a.Cost += b.Cost
	return a
}

// storyOf is a story of the agents above. child says that the agent inside has a workflow of its own.
func storyOf(t *testing.T, full, child bool, k *keys, change func(*agent.Config[deps, report])) *story {
	t.Helper()
	blobs := new(temporalengine.MemoryBlobs)
	inside := researcher(insideModel(), k)
	c := config(storyteller(storyModel(), inside, k, change), blobs)
	s := &story{full: full, answer: allow}
	if child {
		c.Tool = func(name string) temporalengine.Activity {
			if name == "research" {
				return temporalengine.Activity{Child: "researcher"}
			}
			return temporalengine.Activity{}
		}
		s.register = func(env *testsuite.TestWorkflowEnvironment) {
			closeRuns, err := temporalengine.Register(env, temporalengine.Config[deps, string]{Name: "researcher", Agent: inside, Blobs: blobs, Deps: c.Deps})
			require.NoError(t, err)
			t.Cleanup(closeRuns)
		}
	}
	s.config = c
	return s
}

var ada = map[string]string{"user": "ada"}

// TestContinuedRunIsThatOfTheNativeEngine plays the same run in one execution, in one for each step, with the agent inside within an activity and
// as a child.
func TestContinuedRunIsThatOfTheNativeEngine(t *testing.T) {
	want := native(t, storyteller(storyModel(), researcher(insideModel(), new(keys)), new(keys), nil), allow)
	for name, c := range map[string]struct{ full, child bool }{
		"one execution": {}, "many executions": {full: true}, "a child": {child: true}, "many executions and a child": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := new(keys)
			s := storyOf(t, c.full, c.child, k, nil)
			got, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
			require.NoError(t, err)
			require.Equal(t, want.Output, got.Output)
			require.Equal(t, plain(t, want.Messages), plain(t, got.Messages))
			require.Equal(t, want.Usage, got.Usage)
			if c.full {
				require.Greater(t, s.executions, 4)
			} else {
				require.Equal(t, 1, s.executions)
			}
			sorted := slices.Sorted(slices.Values(k.all))
			require.Equal(t, sorted, slices.Compact(slices.Clone(sorted)), "the keys of all calls differ")
			require.Len(t, sorted, 8)
		})
	}
}

func TestMessagesReachAContinuedRun(t *testing.T) {
	var env *testsuite.TestWorkflowEnvironment
	var heard []string
	sent := []string{"Go."}
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		heard = nil
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == model.PartUser {
					heard = append(heard, p.Text)
				}
			}
		}
		if len(sent) > 20 {
			return model.Response(final("done")), nil
		}
		for range 3 { // they come in while the step is going on, after which the execution ends
			text := fmt.Sprint("message ", len(sent))
			sent = append(sent, text)
			env.SignalWorkflow("message", []model.Part{model.User(text)})
		}
		return model.Response(model.ToolCall(fmt.Sprint(len(req.Messages)), "work", `{"n":1}`)), nil
	})
	s := &story{config: config(newAgent(t, m), new(temporalengine.MemoryBlobs)), full: true, during: func(e *testsuite.TestWorkflowEnvironment, _ int) { env = e }}
	res, err := s.play(t, temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text)
	require.Equal(t, 8, s.executions)
	require.Equal(t, sent, heard)
}

func TestAnswersOutliveTheExecutionTheyWereGivenTo(t *testing.T) {
	m := said(
		model.Response(model.ToolCall("a", "guarded", `{"n":1}`), model.ToolCall("b", "guarded", `{"n":2}`), model.ToolCall("c", "guarded", `{"n":3}`)),
		model.Response(final("done")),
	)
	s := &story{config: config(newAgent(t, m), new(temporalengine.MemoryBlobs)), full: true, answer: allow}
	res, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
	require.NoError(t, err)
	require.Equal(t, 5, s.executions, "one up to the calls, one for each answer, and one for the step that follows")
	text := plain(t, res.Messages)
	for n := range 3 {
		require.Contains(t, text, fmt.Sprintf("guarded %d for ada", n+1))
	}
}

// TestLimitsHoldAcrossExecutions and answers: those of the run and those of its agent.
func TestLimitsHoldAcrossExecutions(t *testing.T) {
	endless := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		tool := []string{"work", "guarded"}[len(req.Messages)/2%2]
		return model.Response(model.ToolCall(fmt.Sprint(len(req.Messages)), tool, `{"n":1}`)), nil
	})
	for name, c := range map[string]struct {
		agent func(*agent.Config[deps, report])
		input toolset.Limits
	}{
		"the agent's": {agent: func(c *agent.Config[deps, report]) { c.Limits.Requests = 7 }},
		"the run's":   {input: toolset.Limits{Requests: 7}},
		"tool calls":  {input: toolset.Limits{ToolCalls: 6}},
	} {
		for _, full := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " full ", full), func(t *testing.T) {
				k := new(keys)
				s := storyOf(t, full, false, k, c.agent)
				s.config.Agent = storyteller(endless, researcher(insideModel(), k), k, c.agent)
				_, err := s.play(t, temporalengine.Input{Prompt: "Go.", Limits: c.input, Metadata: ada})
				require.ErrorContains(t, err, "limit")
				require.GreaterOrEqual(t, len(k.all), 6)
				require.LessOrEqual(t, len(k.all), 7)
			})
		}
	}
}

// TestRunIsNotContinuedWhileToolsFail: the new execution would begin to count failures with the user's last message.
func TestRunIsNotContinuedWhileToolsFail(t *testing.T) {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		return model.Response(model.ToolCall(fmt.Sprint(len(req.Messages)), "work", `{"n":-1}`)), nil
	})
	k := new(keys)
	s := &story{config: config(storyteller(m, researcher(insideModel(), k), k, nil), new(temporalengine.MemoryBlobs)), full: true,
		during: func(env *testsuite.TestWorkflowEnvironment, _ int) {
			for i := range 6 {
				env.RegisterDelayedCallback(func() { env.SignalWorkflow("message", []model.Part{model.User("Once more!")}) }, time.Duration(i)*time.Microsecond)
			}
		}}
	_, err := s.play(t, temporalengine.Input{Prompt: "Go."})
	require.ErrorContains(t, err, "n must not be negative")
	require.Len(t, k.all, 4, "three retries")
}

// TestLongRunWithoutSuggestionsIsContinued: a server may not say that a history is long.
func TestLongRunWithoutSuggestionsIsContinued(t *testing.T) {
	for name, long := range map[string]func(*testsuite.TestWorkflowEnvironment){
		"events": func(env *testsuite.TestWorkflowEnvironment) { env.SetCurrentHistoryLength(10_000) },
		"bytes":  func(env *testsuite.TestWorkflowEnvironment) { env.SetCurrentHistorySize(10 << 20) },
	} {
		t.Run(name, func(t *testing.T) {
			s := storyOf(t, false, false, new(keys), nil)
			s.during = func(env *testsuite.TestWorkflowEnvironment, _ int) { long(env) }
			_, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
			require.NoError(t, err)
			require.Greater(t, s.executions, 4)
		})
	}
}

// TestMessagesToAWaitingRunOutliveItsExecution: each message ends an execution, because the history is full, and the next one has it.
func TestMessagesToAWaitingRunOutliveItsExecution(t *testing.T) {
	m := said(model.Response(model.ToolCall("a", "guarded", `{"n":1}`)), model.Response(final("done")))
	s := &story{config: config(newAgent(t, m), new(temporalengine.MemoryBlobs)), full: true, answer: allow}
	s.during = func(env *testsuite.TestWorkflowEnvironment, n int) {
		if n == 2 || n == 3 { // the first one has made the step
			env.RegisterDelayedCallback(func() { env.SignalWorkflow("message", []model.Part{model.User(fmt.Sprint("message ", n))}) }, time.Minute)
		}
	}
	res, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
	require.NoError(t, err)
	require.Greater(t, s.executions, 3)
	text := plain(t, res.Messages)
	require.Contains(t, text, "message 2")
	require.Contains(t, text, "message 3")
}
