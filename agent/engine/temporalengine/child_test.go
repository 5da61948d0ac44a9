// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// familyOf is a story of an agent that asks another one, which has the model.
func familyOf(t *testing.T, child bool, inner model.Model, change func(*agent.Config[deps, report])) *story {
	t.Helper()
	k := new(keys)
	s := storyOf(t, false, child, k, change)
	inside := researcher(inner, k)
	s.config.Agent = storyteller(said(
		model.Response(model.ToolCall("a", "research", `{"prompt":"Find it."}`), model.ToolCall("b", "research", `{"prompt":"Find that."}`)),
		model.Response(final("done")),
	), inside, k, change)
	if child {
		s.register = func(env *testsuite.TestWorkflowEnvironment) {
			closeRuns, err := temporalengine.Register(env, temporalengine.Config[deps, string]{Name: "researcher", Agent: inside, Blobs: s.config.Blobs, Deps: s.config.Deps})
			require.NoError(t, err)
			t.Cleanup(closeRuns)
		}
	}
	return s
}

// TestNoTwoChildrenShareAnID has calls whose ids look like the way to other calls, in a run and in its children.
func TestNoTwoChildrenShareAnID(t *testing.T) {
	keys := []string{}
	for _, call := range []string{"c", "c/2", "c/approved", "c/1/tool/c", "c/approved/1/tool/c", "~", "~1", "/", strings.Repeat("x", 600)} {
		for _, approved := range []bool{false, true} {
			task := engine.Task{Op: engine.OpTool, Info: &toolset.RunInfo{Step: 1}, Call: &engine.Call{Call: toolset.Call{ID: call, Approved: approved}}}
			keys = append(keys, task.Key())
		}
	}
	seen := map[string]bool{}
	add := func(id string) string {
		require.NotContains(t, seen, id)
		seen[id] = true
		return id
	}
	for _, key := range keys {
		child := add(temporalengine.ChildID("run", key))
		for _, inner := range keys {
			add(temporalengine.ChildID(child, inner))
		}
	}
}

func TestModelIsToldWhyAChildFailed(t *testing.T) {
	down := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return nil, errors.New("the provider is down")
	})
	var texts []string
	for _, child := range []bool{false, true} {
		res, err := familyOf(t, child, down, nil).play(t, temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		require.Contains(t, res.Messages[2].Parts[1].Text, "research failed: ")
		require.Contains(t, res.Messages[2].Parts[1].Text, "the provider is down")
		texts = append(texts, plain(t, res.Messages))
	}
	require.Equal(t, texts[0], texts[1], "as within an activity")
}

// TestLimitsOfAnAgentInsideBoundItAlone and what it used counts outside.
func TestLimitsOfAnAgentInsideBoundItAlone(t *testing.T) {
	endless := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		return model.Response(model.ToolCall("a", "nothing", `{}`)), nil
	})
	var used []toolset.Usage
	for _, child := range []bool{false, true} {
		s := familyOf(t, child, endless, nil)
		res, err := s.play(t, temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		require.Equal(t, model.OutcomeFailed, res.Messages[2].Parts[0].Outcome)
		used = append(used, res.Usage)
	}
	require.Equal(t, used[0], used[1])
	require.Equal(t, 6, used[0].Requests, "two of each agent inside, which may try once more")
}

func TestOuterLimitsBoundAChild(t *testing.T) {
	for _, child := range []bool{false, true} {
		asked := 0
		busy := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			asked++
			return model.Response(model.ToolCall("a", "guarded", `{"n":1}`)), nil
		})
		s := familyOf(t, child, busy, func(c *agent.Config[deps, report]) { c.Limits.Requests = 3; c.MaxParallelCalls = 1 })
		s.answer = allow
		_, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
		require.ErrorContains(t, err, "usage limit reached: 3 requests, limit 3", "child %v", child)
		require.Equal(t, 2, asked, "child %v", child)
	}
}

// TestChildrenShareWhatTheLimitsLeave: two workflows at the same time do not know of one another, and together make no more requests than are left.
func TestChildrenShareWhatTheLimitsLeave(t *testing.T) {
	for _, child := range []bool{false, true} {
		var asked atomic.Int64
		busy := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			asked.Add(1)
			return model.Response(model.ToolCall("a", "guarded", `{"n":1}`)), nil
		})
		s := familyOf(t, child, busy, func(c *agent.Config[deps, report]) { c.Limits.Requests = 5 })
		s.answer = allow
		_, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
		require.ErrorContains(t, err, "usage limit reached: 5 requests, limit 5", "child %v", child)
		require.EqualValues(t, 4, asked.Load(), "child %v", child)
	}
}

// TestOuterLimitsBoundChildrenOfChildren has a limit of the run reached two workflows further in. It ends all three: nobody in between is told that a tool failed.
func TestOuterLimitsBoundChildrenOfChildren(t *testing.T) {
	for _, child := range []bool{false, true} {
		asked := 0
		busy := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			asked++
			return model.Response(model.ToolCall("a", "look", `{"n":1}`)), nil
		})
		s := familyOf(t, child, busy, nil)
		inside := agent.Must(agent.New(agent.Config[deps, string]{Name: "researcher", Model: busy, Tools: []*toolset.Tool[deps]{
			toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[deps], args) (string, error) { return "", nil }),
		}}))
		between := 0
		middle := agent.Must(agent.New(agent.Config[deps, string]{
			Name: "middle",
			Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				between++
				return model.Response(model.ToolCall("a", "deeper", `{"prompt":"Find it."}`)), nil
			}),
			Tools: []*toolset.Tool[deps]{agent.AsTool("deeper", "Go deeper.", inside, func(d deps) deps { return d })},
		}))
		s.config.Agent = storyteller(said(model.Response(model.ToolCall("a", "research", `{"prompt":"Find it."}`)), model.Response(final("done"))), middle, new(keys),
			func(c *agent.Config[deps, report]) { c.Limits.ToolCalls = 2 })
		if child {
			s.config.Tool = func(name string) temporalengine.Activity {
				return temporalengine.Activity{Child: map[string]string{"research": "middle"}[name]}
			}
			s.register = func(env *testsuite.TestWorkflowEnvironment) {
				for name, a := range map[string]*agent.Agent[deps, string]{"middle": middle, "researcher": inside} {
					closeRuns, err := temporalengine.Register(env, temporalengine.Config[deps, string]{
						Name: name, Agent: a, Blobs: s.config.Blobs, Deps: s.config.Deps,
						Tool: func(name string) temporalengine.Activity {
							return temporalengine.Activity{Child: map[string]string{"deeper": "researcher"}[name]}
						},
					})
					require.NoError(t, err)
					t.Cleanup(closeRuns)
				}
			}
		}
		_, err := s.play(t, temporalengine.Input{Prompt: "Go."})
		require.ErrorContains(t, err, "usage limit reached: ", "child %v", child)
		require.Equal(t, 1, between, "child %v", child)
		require.Equal(t, 3, asked, "child %v", child)
	}
}

func TestToolThatIsNoAgentCannotBeAChild(t *testing.T) {
	s := familyOf(t, true, insideModel(), nil)
	s.config.Agent = storyteller(said(model.Response(model.ToolCall("a", "work", `{"n":1}`)), model.Response(final("done"))), researcher(insideModel(), new(keys)), new(keys), nil)
	s.config.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Child: "researcher"} }
	res, err := s.play(t, temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	require.Contains(t, res.Messages[2].Parts[0].Text, "tool work has no prompt among its arguments")
}

// TestHandOverIsKept plays two turns with an agent that the conversation stays with, natively and with an execution for each step.
func TestHandOverIsKept(t *testing.T) {
	expert := agent.Must(agent.New(agent.Config[deps, report]{
		Name: "expert", Tools: []*toolset.Tool[deps]{guardedTool(new(keys))},
		Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			last := req.Messages[len(req.Messages)-1].Parts[0]
			switch {
			case last.Kind == model.PartUser && last.Text == "Go.":
				return model.Response(model.ToolCall("g", "guarded", `{"n":1}`)), nil
			case last.Kind == model.PartUser:
				return model.Response(final("again: " + last.Text)), nil
			}
			return model.Response(final("first: " + last.Text)), nil
		}),
	}))
	desk := func() *agent.Agent[deps, report] {
		return agent.Must(agent.New(agent.Config[deps, report]{
			Name: "desk", Tools: []*toolset.Tool[deps]{toolset.Func("work", "Work.", func(context.Context, *toolset.RunContext[deps], args) (string, error) { return "worked", nil })},
			Model:        said(model.Response(model.ToolCall("w", "work", `{"n":1}`)), model.Response(model.ToolCall("h", "expert", `{"prompt":"Go."}`))),
			Alternatives: []agent.Alternative[deps, report]{agent.HandOver[deps, deps, report]("expert", "Ask the expert.", expert, func(d deps) deps { return d }, agent.Stay())},
		}))
	}
	want := native(t, desk(), allow)
	require.Contains(t, want.Output.Text, "first: guarded 1 for ada")
	wantNext, err := desk().Run(t.Context(), deps{"ada"}, "And now?", agent.WithHistory(want.Messages))
	require.NoError(t, err)
	require.Equal(t, "again: And now?", wantNext.Output.Text)

	s := &story{config: config(desk(), new(temporalengine.MemoryBlobs)), full: true, answer: allow}
	got, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
	require.NoError(t, err)
	require.Greater(t, s.executions, 2)
	require.Equal(t, want.Output, got.Output)
	require.Equal(t, len(want.Messages), len(got.Messages))
	s.id = "next story"
	gotNext, err := s.play(t, temporalengine.Input{Prompt: "And now?", History: got.Messages, Metadata: ada})
	require.NoError(t, err)
	require.Equal(t, wantNext.Output, gotNext.Output)
	require.Equal(t, wantNext.Agent, gotNext.Agent)
}

// TestRequestsOfACancelledChildCount: what a child has used before the run around it was cancelled counts there, also if the child does not
// come to an end of its own.
func TestRequestsOfACancelledChildCount(t *testing.T) {
	var env *testsuite.TestWorkflowEnvironment
	over := make(chan struct{})
	defer close(over)
	wait := toolset.Func("wait", "Wait.", func(ctx context.Context, _ *toolset.RunContext[deps], _ struct{}) (string, error) {
		env.CancelWorkflow()
		select {
		case <-ctx.Done():
		case <-over:
		}
		return "", context.Canceled
	})
	asked := 0
	inside := agent.Must(agent.New(agent.Config[deps, string]{
		Name: "researcher", Tools: []*toolset.Tool[deps]{wait, toolset.Func("note", "Note.", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) { return "noted", nil })},
		Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			asked++
			resp := model.Response(model.ToolCall("a", map[bool]string{true: "note", false: "wait"}[asked < 3], `{}`))
			resp.Usage = model.Usage{InputTokens: 5, OutputTokens: 2}
			return resp, nil
		}),
	}))
	s := storyOf(t, false, true, new(keys), nil)
	s.config.Agent = storyteller(modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.ToolCall("r", "research", `{"prompt":"Find it."}`)), nil
	}), inside, new(keys), nil)
	s.register = func(e *testsuite.TestWorkflowEnvironment) {
		env = e
		closeRuns, err := temporalengine.Register(e, temporalengine.Config[deps, string]{Name: "researcher", Agent: inside, Blobs: s.config.Blobs, Deps: s.config.Deps})
		require.NoError(t, err)
		t.Cleanup(closeRuns)
	}
	_, err := s.play(t, temporalengine.Input{Prompt: "Go."})
	require.True(t, temporal.IsCanceledError(err), err)
	require.Equal(t, 3, asked)
	value, err := env.QueryWorkflow("state")
	require.NoError(t, err)
	var state temporalengine.State
	require.NoError(t, value.Get(&state))
	require.Equal(t, 1+3, state.Usage.Requests)
	require.EqualValues(t, 7*3, state.Usage.TotalTokens())
}
