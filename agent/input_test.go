// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type boundary = agent.Hooks[struct{}]

// marks appends a mark to the prompt.
func marks(mark string) boundary {
	return boundary{Input: func(_ context.Context, _ *toolset.RunContext[struct{}], parts []model.Part) ([]model.Part, error) {
		return []model.Part{model.User(parts[0].Text + mark)}, nil
	}}
}

func bounded(m model.Model, hooks ...boundary) *agent.Agent[struct{}, string] {
	return agent.Must(agent.New(agent.Config[struct{}, string]{Model: m, Hooks: hooks}))
}

func TestInputHooksComeInOrder(t *testing.T) {
	script := modeltest.Script(modeltest.SayText("Hi."))
	res, err := bounded(script, marks("a"), boundary{}, marks("b")).Run(t.Context(), struct{}{}, "x")
	require.NoError(t, err)
	require.Equal(t, "xab", res.Messages[0].Parts[0].Text)
	require.Equal(t, "xab", script.Requests()[0].Messages[0].Parts[0].Text)
}

func TestInputThatFailsEndsTheRun(t *testing.T) {
	boom := errors.New("boom")
	for name, hook := range map[string]agent.InputHook[struct{}]{
		"boom": func(context.Context, *toolset.RunContext[struct{}], []model.Part) ([]model.Part, error) {
			return nil, boom
		},
		"ouch": func(context.Context, *toolset.RunContext[struct{}], []model.Part) ([]model.Part, error) {
			panic("ouch")
		},
	} {
		a := bounded(modeltest.Script(), boundary{Input: hook})
		_, err := a.Run(t.Context(), struct{}{}, "x")
		var failed *agent.RunError
		require.ErrorAs(t, err, &failed)
		require.ErrorContains(t, err, name)
		require.Empty(t, failed.Messages)
		_, err = a.Input(t.Context(), struct{}{}, []model.Part{model.User("x")})
		require.ErrorAs(t, err, &failed)
		require.ErrorContains(t, err, name)
	}
}

func TestInputIsCheckedOnceAheadOfARun(t *testing.T) {
	asks := boundary{Input: func(ctx context.Context, run *toolset.RunContext[struct{}], parts []model.Part) ([]model.Part, error) {
		_, err := run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("ok?")}})
		return []model.Part{model.User(parts[0].Text + "!")}, err
	}}
	say := func(context.Context, *model.Request) (*model.Message, error) {
		m := model.Response(model.Text("Hi."))
		m.Usage = model.Usage{InputTokens: 5}
		return m, nil
	}
	for _, shared := range []bool{false, true} {
		script := modeltest.Script(say, say)
		a := bounded(script, asks)
		var options []agent.RunOption
		meter := toolset.NewMeter(toolset.Limits{Requests: 2})
		if shared {
			options = append(options, agent.WithMeter(meter))
		}
		in, err := a.Input(t.Context(), struct{}{}, []model.Part{model.User("x")}, options...)
		require.NoError(t, err)
		require.Equal(t, []model.Part{model.User("x!")}, in.Parts)
		res, err := a.Run(t.Context(), struct{}{}, "", append(options, agent.WithInput(in))...)
		require.NoError(t, err)
		require.Equal(t, "x!", res.Messages[0].Parts[0].Text)
		require.Equal(t, 2, res.Usage.Requests, "what the check has used counts as the run's")
		require.EqualValues(t, 10, res.Usage.InputTokens)
		if shared {
			require.Equal(t, 2, meter.Usage().Requests, "and once")
		}
	}
}

func TestSinksOfHooksNest(t *testing.T) {
	shout := func(f func(string) string) boundary {
		return boundary{Request: func(ctx context.Context, _ *toolset.RunContext[struct{}], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			return next(agent.WithSink(ctx, func(sink model.Sink) model.Sink {
				return func(d model.Delta) error {
					d.Text = f(d.Text)
					return sink(d)
				}
			}), req)
		}}
	}
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		if sink != nil {
			if err := sink(model.Delta{Kind: model.PartText, Text: "a"}); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text("a")), nil
	})
	a := bounded(m, shout(strings.ToUpper), shout(func(s string) string { return s + "b" }))
	var shown string
	s := a.Stream(t.Context(), struct{}{}, "x")
	for text := range s.Text() {
		shown += text
	}
	require.Equal(t, "AB", shown, "the inner sink gets a delta first")
	_, err := a.Run(t.Context(), struct{}{}, "x")
	require.NoError(t, err)
}

// TestHeldEventsArePassedOnOrDropped: all hooks that hold events back must pass them on, and a hook that calls the tool again keeps the
// events of the attempt that passed.
func TestHeldEventsArePassedOnOrDropped(t *testing.T) {
	for name, c := range map[string]struct {
		outer bool
		inner []bool // an attempt each
		want  []any
	}{
		"both pass":             {true, []bool{true}, []any{1}},
		"the outer one drops":   {false, []bool{true}, nil},
		"the inner one drops":   {true, []bool{false}, nil},
		"both drop":             {false, []bool{false}, nil},
		"a second attempt":      {true, []bool{false, true}, []any{2}},
		"a bad second attempt":  {true, []bool{true, false}, []any{1}},
		"both attempts pass":    {true, []bool{true, true}, []any{1, 2}},
		"the outer drops twice": {false, []bool{true, true}, nil},
	} {
		attempt := 0
		tool := toolset.Func("t", "", func(_ context.Context, run *toolset.RunContext[struct{}], _ struct{}) (string, error) {
			attempt++
			run.Emit(attempt)
			return "", nil
		})
		var late []func(bool)
		outer := func(ctx context.Context, run *toolset.RunContext[struct{}], args any, next toolset.CallFunc) (res toolset.Result, err error) {
			release := agent.HoldEvents(run)
			for range c.inner {
				res, err = next(ctx, args)
			}
			release(c.outer)
			late = append(late, release)
			return res, err
		}
		inner := func(ctx context.Context, run *toolset.RunContext[struct{}], args any, next toolset.CallFunc) (toolset.Result, error) {
			release := agent.HoldEvents(run)
			res, err := next(ctx, args)
			release(c.inner[attempt-1])
			late = append(late, release)
			return res, err
		}
		script := modeltest.Script(modeltest.Say(model.ToolCall("1", "t", "{}")), modeltest.SayText("Hi."))
		a := agent.Must(agent.New(agent.Config[struct{}, string]{
			Model: script, Tools: []*toolset.Tool[struct{}]{tool}, Hooks: []boundary{{Call: outer}, {Call: inner}},
		}))
		var values []any
		for e := range a.Stream(t.Context(), struct{}{}, "x").Events() {
			if e.Kind == agent.EventCustom {
				values = append(values, e.Value)
			}
		}
		require.Equal(t, c.want, values, name)
		for _, release := range late {
			release(true) // does nothing
		}
	}
	agent.HoldEvents(&toolset.RunContext[struct{}]{})(true)
}

func TestApprovalHooksChangeWhatIsAsked(t *testing.T) {
	hook := boundary{Approval: func(_ context.Context, run *toolset.RunContext[struct{}], a *toolset.Approval) (*toolset.Approval, error) {
		changed := *a
		changed.Reason += " and " + run.Call.Tool
		return &changed, nil
	}}
	script := modeltest.Script(modeltest.Say(model.ToolCall("1", "t", "{}")))
	narrow := agent.Capability[struct{}]{Name: "narrow", Hooks: []boundary{hook, marks("!")}}
	a := agent.Must(agent.New(agent.Config[int, string]{
		Model: script, Tools: []*toolset.Tool[int]{toolset.Func("t", "", func(context.Context, *toolset.RunContext[int], struct{}) (string, error) { return "ok", nil },
			toolset.Approve(func(context.Context, *toolset.RunContext[int], struct{}) (*toolset.Approval, error) {
				return &toolset.Approval{Reason: "own"}, nil
			}))},
		Capabilities: []agent.Capability[int]{agent.Adapt(narrow, func(int) struct{} { return struct{}{} })},
	}))
	_, err := a.Run(t.Context(), 1, "x")
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	require.Equal(t, "own and t", pending.Calls[0].Approval.Reason)
	require.Equal(t, "x!", script.Requests()[0].Messages[0].Parts[0].Text)
}
