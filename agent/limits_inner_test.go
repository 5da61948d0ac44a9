// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// endless is an inner agent that calls a tool in every response, at 10 input and 5 output tokens each.
func endless(t *testing.T, limits agent.Limits) (inner *agent.Agent[innerDeps, string], requests *int) {
	requests = new(int)
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		*requests++
		resp := model.Response(call("i", "whoami"))
		resp.Usage = model.Usage{InputTokens: 10, OutputTokens: 5}
		return resp, nil
	})
	return expert(t, m, agent.Config[innerDeps, string]{Limits: limits}), requests
}

// asksOnce is an outer model that delegates once and would then answer.
func asksOnce() model.Model {
	return modeltest.Script(modeltest.Say(ask("1")), modeltest.SayText("done"))
}

func TestOuterLimitsBoundInnerRuns(t *testing.T) {
	for name, c := range map[string]struct {
		outer agent.Limits
		inner int // requests that the inner run makes
		limit toolset.LimitName
	}{
		"requests":      {agent.Limits{Requests: 5}, 4, "requests"},
		"tool calls":    {agent.Limits{ToolCalls: 3}, 4, "tool calls"},
		"input tokens":  {agent.Limits{InputTokens: 45}, 4, "input tokens"},
		"output tokens": {agent.Limits{OutputTokens: 22}, 4, "output tokens"},
		"total tokens":  {agent.Limits{TotalTokens: 62}, 4, "total tokens"},
	} {
		for _, journaled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s journal %v", name, journaled), func(t *testing.T) {
				inner, requests := endless(t, agent.Limits{Requests: -1})
				a := newAgent(t, cfg{Model: asksOnce(), Limits: c.outer}, agent.AsTool("ask", "", inner, narrow))
				var opts []agent.RunOption
				if journaled {
					opts = append(opts, agent.WithJournal(new(journal.Memory)), agent.WithRunID("r"))
				}
				_, err := a.Run(context.Background(), deps{}, "go", opts...)
				var limit *agent.LimitError
				require.ErrorAs(t, err, &limit)
				require.Equal(t, c.limit, limit.Limit)
				require.Equal(t, c.inner, *requests)
				require.Equal(t, c.inner+1, asRunError(t, err).Usage.Requests)
			})
		}
	}
}

func TestOuterLimitsBoundAHandOver(t *testing.T) {
	inner, requests := endless(t, agent.Limits{Requests: -1})
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(ask("1"))), Limits: agent.Limits{Requests: 3}, Alternatives: []agent.Alternative[deps, string]{
		agent.HandOver("ask", "Hand over to the expert.", inner, narrow),
	}})
	_, err := a.Run(context.Background(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.EqualValues(t, 3, limit.Bound)
	require.Equal(t, 2, *requests)
}

func TestInnerLimitIsToldToTheOuterModel(t *testing.T) {
	inner, requests := endless(t, agent.Limits{Requests: 2})
	a := newAgent(t, cfg{Model: asksOnce(), Limits: agent.Limits{Requests: 10}}, agent.AsTool("ask", "", inner, narrow))
	res, err := a.Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, 2, *requests)
	require.Equal(t, "request\n  tool_return 1 ask failed: ask failed: usage limit reached: 2 requests, limit 2\n", dump(res.Messages[2:3]))
	require.Equal(t, 4, res.Usage.Requests)
}

func TestLimitEndsTheRunThatItBoundsAndNoOther(t *testing.T) {
	inner, requests := endless(t, agent.Limits{Requests: -1})
	middle, err := agent.New(agent.Config[innerDeps, string]{
		Name: "middle", Model: asksOnce(), Limits: agent.Limits{Requests: 4},
		Toolsets: []toolset.Toolset[innerDeps]{toolset.Of(agent.AsTool("ask", "", inner, func(d innerDeps) innerDeps { return d }))},
	})
	require.NoError(t, err)
	a := newAgent(t, cfg{Model: asksOnce(), Limits: agent.Limits{Requests: 20}}, agent.AsTool("ask", "", middle, narrow))
	res, err := a.Run(context.Background(), deps{}, "go")
	require.NoError(t, err, "the limit of the middle agent does not bound the outer one")
	require.Contains(t, dump(res.Messages[2:3]), "tool_return 1 ask failed: ask failed: ")
	require.Equal(t, 3, *requests)
	require.Equal(t, 6, res.Usage.Requests)
}

func TestInnerDefaultLimitCountsTheInnerRunAlone(t *testing.T) {
	inner := expert(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("ok")), nil
	}), agent.Config[innerDeps, string]{})
	var script []modeltest.Step
	for range 60 {
		script = append(script, modeltest.Say(ask("1")))
	}
	a := newAgent(t, cfg{Model: modeltest.Script(append(script, modeltest.SayText("done"))...), Limits: agent.Limits{Requests: -1}}, agent.AsTool("ask", "", inner, narrow))
	res, err := a.Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, 121, res.Usage.Requests)
}

func TestUsageOfAResultIsTheRunsOwn(t *testing.T) {
	meter := toolset.NewMeter(toolset.Limits{Requests: 3})
	a := newAgent(t, cfg{Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("ok")), nil
	})})
	for range 3 {
		res, err := a.Run(context.Background(), deps{}, "go", agent.WithMeter(meter), agent.WithLimits(agent.Limits{Requests: 1}))
		require.NoError(t, err, "the run's own limit is compared with what the run has used")
		require.Equal(t, 1, res.Usage.Requests)
	}
	require.Equal(t, 3, meter.Usage().Requests)
	_, err := a.Run(context.Background(), deps{}, "go", agent.WithMeter(meter))
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit, "the meter bounds all runs that share it")
	require.EqualValues(t, 3, limit.Bound)
	require.Zero(t, asRunError(t, err).Usage.Requests)
}

func TestNoRequestFollowsExceededTokens(t *testing.T) {
	meter := toolset.NewMeter(toolset.Limits{TotalTokens: 20})
	inner, requests := endless(t, agent.Limits{Requests: -1})
	for range 3 {
		_, err := newAgent(t, cfg{Model: asksOnce()}, agent.AsTool("ask", "", inner, narrow)).Run(context.Background(), deps{}, "go", agent.WithMeter(meter))
		var limit *agent.LimitError
		require.ErrorAs(t, err, &limit)
		require.Equal(t, toolset.LimitTotalTokens, limit.Limit)
		require.EqualValues(t, 30, limit.Value)
		require.EqualValues(t, 20, limit.Bound)
	}
	require.Equal(t, 1, *requests, "the run that exceeds the limit is the last that makes a request")
	require.Equal(t, 2, meter.Usage().Requests)
}

// TestCancelledRunIsNotTakenForALimit cancels a run while an inner one reaches a limit of its own.
func TestCancelledRunIsNotTakenForALimit(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	m := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		cancel(errCancelled)
		resp := model.Response(model.Text("ok"))
		resp.Usage.OutputTokens = 2
		return resp, nil
	})
	inner := expert(t, m, agent.Config[innerDeps, string]{Limits: agent.Limits{OutputTokens: 1}})
	_, err := newAgent(t, cfg{Model: asksOnce()}, agent.AsTool("ask", "", inner, narrow)).Run(ctx, deps{}, "go")
	require.ErrorIs(t, err, errCancelled)
	require.ErrorContains(t, err, "usage limit reached: 2 output tokens, limit 1")
	require.False(t, errors.As(err, new(*agent.LimitError)), "a limit of the outer run was not reached")
}

func TestCancelledRunIsNotTakenForPending(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	inner, err := agent.New(agent.Config[innerDeps, string]{
		Model: modeltest.Script(modeltest.Say(call("1", "wait"))),
		Toolsets: []toolset.Toolset[innerDeps]{toolset.Of(toolset.Func("wait", "", func(context.Context, *toolset.RunContext[innerDeps], none) (string, error) {
			return "", toolset.Deferred(nil)
		}))},
	})
	require.NoError(t, err)
	s := newAgent(t, cfg{Model: asksOnce()}, agent.AsTool("ask", "", inner, narrow)).Stream(ctx, deps{}, "go")
	for e := range s.Events() {
		if nested, ok := e.Value.(agent.Nested); ok && nested.Event.Kind == agent.EventRunEnd {
			cancel(errCancelled)
		}
	}
	_, err = s.Result()
	require.ErrorIs(t, err, errCancelled)
	require.False(t, errors.As(err, new(*agent.PendingError)), "the outer run has no call that could be answered")
}

// TestCancelledRunDoesNotWaitForItsOwnCalls: its calls were left pending when it was cancelled, and the cause comes first.
func TestCancelledRunDoesNotWaitForItsOwnCalls(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ask := approves(func(toolset.ApprovalRequest) toolset.Decision {
		cancel(errCancelled)
		return toolset.Defer()
	})
	_, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "x"))), Asker: ask}, watched("x")).Run(ctx, deps{}, "go")
	require.ErrorIs(t, err, errCancelled)
	require.ErrorContains(t, err, `waiting for approval of "x" (call 1)`)
	require.False(t, errors.As(err, new(*agent.PendingError)), "nobody is to answer")
	require.Equal(t, agent.ErrorCancelled, agent.DescribeError(err).Kind)
}

func TestHandOverToARunThatWaitsLeavesTheOuterRunPending(t *testing.T) {
	inner, err := agent.New(agent.Config[innerDeps, string]{
		Model: modeltest.Script(modeltest.Say(call("1", "wait")), modeltest.SayText("over")),
		Toolsets: []toolset.Toolset[innerDeps]{toolset.Of(toolset.Func("wait", "", func(context.Context, *toolset.RunContext[innerDeps], none) (string, error) {
			return "", toolset.Deferred(nil)
		}))},
	})
	require.NoError(t, err)
	a := newAgent(t, cfg{Model: asksOnce(), Alternatives: []agent.Alternative[deps, string]{agent.HandOver("ask", "", inner, narrow)}})
	_, err = a.Run(context.Background(), deps{}, "go")
	require.ErrorContains(t, err, `waiting for the result of "wait" (call /1/1)`)
	_, failed := pendingOf(t, err)
	res, err := a.Run(context.Background(), deps{}, "", reread(t, failed.Messages), agent.WithResults(agent.DeferredResults{Results: map[string]toolset.Result{"/1/1": {Text: "here"}}}))
	require.NoError(t, err)
	require.Equal(t, "over", res.Output)
	require.Equal(t, 1, res.Usage.Requests, "the outer model is not asked again")
}

func TestWholeBatchIsCheckedBesideAnOutput(t *testing.T) {
	for _, end := range []agent.EndStrategy{agent.EndGraceful, agent.EndEarly, agent.EndExhaustive} {
		ran := 0
		count := tool("count", func(context.Context, *toolset.RunContext[deps]) (string, error) { ran++; return "", nil }, toolset.Sequential())
		script := modeltest.Script(modeltest.Say(call("1", "count"), final("2", `{"n":0}`), call("3", "count")))
		a, err := agent.New(agent.Config[deps, randomOut]{
			Model: script, Limits: agent.Limits{ToolCalls: 1}, EndStrategy: end, Toolsets: []toolset.Toolset[deps]{toolset.Of(count)},
		})
		require.NoError(t, err)
		_, err = a.Run(context.Background(), deps{}, "go")
		var limit *agent.LimitError
		require.ErrorAs(t, err, &limit, "%s", end)
		require.EqualValues(t, 2, limit.Value)
		require.Zero(t, ran)
	}
}
