// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestToolThatFailsBeforeItsTimeoutDidNotTimeOut(t *testing.T) {
	broken := fails("t", errBoom)
	broken.Timeout = time.Hour
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "t"))}, broken)
	require.ErrorIs(t, err, errBoom)

	again := fails("t", toolset.Retry("again"))
	again.Timeout = time.Hour
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "t")), modeltest.SayText("ok")}, again)
	require.Equal(t, "request\n  retry 1 t: again\n", last(script.Requests()[1].Messages))
}

// A tool that returns a result after its timeout has done its work, so the result counts.
func TestResultAfterTheTimeoutCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := tool("t", func(context.Context, *toolset.RunContext[deps]) (string, error) {
			time.Sleep(time.Hour)
			return "done", nil
		}, toolset.Timeout(time.Second))
		_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "t")), modeltest.SayText("ok")}, late)
		require.Equal(t, "request\n  tool_return 1 t: done\n", last(script.Requests()[1].Messages))
	})
}

func TestCallThatEndsTheRunHasAnEvent(t *testing.T) {
	script := modeltest.Script(modeltest.Say(call("1", "t")))
	var ends []agent.Event
	for e := range newAgent(t, cfg{Model: script}, fails("t", errBoom)).Stream(t.Context(), deps{}, "go").Events() {
		if e.Kind == agent.EventToolResult {
			ends = append(ends, e)
		}
	}
	require.Len(t, ends, 1)
	require.Equal(t, "1", ends[0].CallID)
	require.Equal(t, "t", ends[0].Tool)
	require.ErrorIs(t, ends[0].Err, errBoom)
}

func TestTokenLimitInAStreamCountsEarlierSteps(t *testing.T) {
	step, sent := 0, 0
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		if step++; step == 1 {
			resp := model.Response(call("1", "hi"))
			resp.Usage = model.Usage{OutputTokens: 15}
			return resp, nil
		}
		for i := range 100 {
			if err := sink(model.Delta{Kind: model.PartText, Text: "x", Usage: &model.Usage{OutputTokens: int64(i)}}); err != nil {
				return nil, err
			}
			sent++
		}
		return model.Response(model.Text("x")), nil
	})
	a := newAgent(t, cfg{Model: m, Limits: agent.Limits{OutputTokens: 20}}, says("hi", "hi"))
	_, err := a.Stream(t.Context(), deps{}, "go").Result()
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.EqualValues(t, 21, limit.Value)
	require.Equal(t, 6, sent)
}

func TestCallsThatNeedApprovalCountTowardsTheLimit(t *testing.T) {
	asked, ran := 0, 0
	guarded := tool("t", func(context.Context, *toolset.RunContext[deps]) (string, error) { ran++; return "", nil })
	guarded.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) {
		return &toolset.Approval{}, nil
	}
	config := cfg{
		Model:  modeltest.Script(modeltest.Say(call("1", "t"), call("2", "t"))),
		Limits: agent.Limits{ToolCalls: 1},
		Asker: toolset.AskerFuncs{OnApprove: func(_ context.Context, _ toolset.ApprovalRequest) (toolset.Decision, error) {
			asked++
			return toolset.Allow(), nil
		}},
	}
	_, err := newAgent(t, config, guarded).Run(t.Context(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.EqualValues(t, 2, limit.Value)
	require.Zero(t, asked)
	require.Zero(t, ran)
}

// A model may return a message that it keeps, for example from a cache. Repaired call ids must not appear in it.
func TestResponseOfTheModelIsNotChanged(t *testing.T) {
	kept := model.Response(call("", "hi"), call("x", "hi"), call("x", "hi"))
	step := 0
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		if step++; step == 1 {
			return kept, nil
		}
		return model.Response(model.Text("ok")), nil
	})
	_, err := newAgent(t, cfg{Model: m}, says("hi", "hi")).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, model.Response(call("", "hi"), call("x", "hi"), call("x", "hi")), kept)
}

func TestResumedBudgetBeginsWithTheUsersLastWords(t *testing.T) {
	history := []*model.Message{
		model.UserText("go"),
		model.Response(call("1", "t")), {Kind: model.KindRequest, Parts: []model.Part{model.Retry("1", "t", "no")}},
		model.Response(model.Text("gave up")),
		model.UserText("again"),
		model.Response(call("2", "t")),
	}
	broken := fails("t", toolset.Retry("no"))
	opts := []agent.RunOption{agent.WithHistory(history)}
	res, _, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("gave up again")}, "", opts, broken)
	require.NotNil(t, res, "the failure before the user spoke counts")
	require.Equal(t, "gave up again", res.Output)

	// One failure more exceeds the budget of one retry.
	_, err, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.Say(call("3", "t"))}, "", opts, broken)
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
}

// The history belongs to the caller. Two runs that continue it must not write to the memory behind it.
func TestRunsThatContinueOneHistoryDoNotShareMemory(t *testing.T) {
	a := newAgent(t, cfg{Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1]
		return model.Response(model.Text("re: " + last.Parts[0].Text)), nil
	})})
	for name, c := range map[string]struct {
		history []*model.Message
		prompts [2]string
	}{
		"with prompts":   {[]*model.Message{model.UserText("one"), model.Response(model.Text("first"))}, [2]string{"two", "three"}},
		"without prompt": {[]*model.Message{model.UserText("one")}, [2]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			shared := append(make([]*model.Message, 0, 16), c.history...)
			var results [2]*agent.Result[string]
			var said [2]string
			for i, prompt := range c.prompts {
				var err error
				results[i], err = a.Run(t.Context(), deps{}, prompt, agent.WithHistory(shared))
				require.NoError(t, err)
				said[i] = dump(results[i].Messages)
			}
			require.Equal(t, said[0], dump(results[0].Messages), "the second run has changed the history of the first")
			for _, m := range shared[len(shared):cap(shared)] {
				require.Nil(t, m)
			}
		})
	}
}

func TestRunsThatResumePendingCallsDoNotShareMemory(t *testing.T) {
	history := append(make([]*model.Message, 0, 16), model.UserText("go"), model.Response(call("1", "hi")))
	a := newAgent(t, cfg{Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("ok")), nil
	})}, says("hi", "hi"))
	_, err := a.Run(t.Context(), deps{}, "", agent.WithHistory(history))
	require.NoError(t, err)
	for _, m := range history[len(history):cap(history)] {
		require.Nil(t, m)
	}
}
