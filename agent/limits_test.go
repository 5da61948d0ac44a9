// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// forever calls a tool in every response.
func forever() model.Model {
	return modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(add("1", 1, 2))
		resp.Usage = model.Usage{InputTokens: 10, OutputTokens: 5}
		return resp, nil
	})
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits agent.Limits
		want   agent.LimitError
		used   toolset.Usage
	}{
		{"requests default", agent.Limits{}, agent.LimitError{Limit: toolset.LimitRequests, Value: 50, Bound: 50}, toolset.Usage{Requests: 50, ToolCalls: 50, Usage: model.Usage{InputTokens: 500, OutputTokens: 250}}},
		{"requests", agent.Limits{Requests: 2}, agent.LimitError{Limit: toolset.LimitRequests, Value: 2, Bound: 2}, toolset.Usage{Requests: 2, ToolCalls: 2, Usage: model.Usage{InputTokens: 20, OutputTokens: 10}}},
		{"tool calls", agent.Limits{ToolCalls: 2}, agent.LimitError{Limit: toolset.LimitToolCalls, Value: 3, Bound: 2}, toolset.Usage{Requests: 3, ToolCalls: 2, Usage: model.Usage{InputTokens: 30, OutputTokens: 15}}},
		{"input tokens", agent.Limits{InputTokens: 19}, agent.LimitError{Limit: toolset.LimitInputTokens, Value: 20, Bound: 19}, toolset.Usage{Requests: 2, ToolCalls: 1, Usage: model.Usage{InputTokens: 20, OutputTokens: 10}}},
		{"output tokens", agent.Limits{OutputTokens: 10}, agent.LimitError{Limit: toolset.LimitOutputTokens, Value: 15, Bound: 10}, toolset.Usage{Requests: 3, ToolCalls: 2, Usage: model.Usage{InputTokens: 30, OutputTokens: 15}}},
		{"total tokens", agent.Limits{TotalTokens: 30}, agent.LimitError{Limit: toolset.LimitTotalTokens, Value: 45, Bound: 30}, toolset.Usage{Requests: 3, ToolCalls: 2, Usage: model.Usage{InputTokens: 30, OutputTokens: 15}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAgent(t, cfg{Model: forever(), Limits: c.limits}, addTool())
			_, err := a.Run(context.Background(), deps{}, "go")
			var limit *agent.LimitError
			require.ErrorAs(t, err, &limit)
			require.Equal(t, c.want, agent.LimitError{Limit: limit.Limit, Value: limit.Value, Bound: limit.Bound})
			require.Equal(t, c.used, asRunError(t, err).Usage)
			require.ErrorContains(t, err, string(c.want.Limit))

			_, streamErr := a.Stream(context.Background(), deps{}, "go").Result()
			require.EqualError(t, streamErr, err.Error())
		})
	}
}

func TestRequestLimitCanBeLifted(t *testing.T) {
	a := newAgent(t, cfg{Model: turns(60), Limits: agent.Limits{Requests: -1}}, addTool())
	res, err := a.Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, 61, res.Usage.Requests)
}

func TestLimitsOfARunMergeWithTheAgents(t *testing.T) {
	a := newAgent(t, cfg{Model: forever(), Limits: agent.Limits{Requests: 2, ToolCalls: 3}}, addTool())
	limits := func(l ...agent.Limits) []agent.RunOption {
		opts := make([]agent.RunOption, len(l))
		for i := range l {
			opts[i] = agent.WithLimits(l[i])
		}
		return opts
	}
	for name, test := range map[string]struct {
		opts  []agent.RunOption
		limit toolset.LimitName
		bound float64
	}{
		"the agent's":      {nil, toolset.LimitRequests, 2},
		"tighter":          {limits(agent.Limits{Requests: 1}), toolset.LimitRequests, 1},
		"the other stays":  {limits(agent.Limits{Requests: 9}), toolset.LimitToolCalls, 3},
		"lifted":           {limits(agent.Limits{Requests: agent.Unlimited, ToolCalls: agent.Unlimited, InputTokens: 1}), toolset.LimitInputTokens, 1},
		"two options":      {limits(agent.Limits{Requests: 9}, agent.Limits{ToolCalls: 1}), toolset.LimitToolCalls, 1},
		"the later option": {limits(agent.Limits{Requests: 9}, agent.Limits{Requests: 1}), toolset.LimitRequests, 1},
	} {
		_, err := a.Run(context.Background(), deps{}, "go", test.opts...)
		var limit *agent.LimitError
		require.ErrorAs(t, err, &limit, name)
		require.Equal(t, test.limit, limit.Limit, name)
		require.Equal(t, test.bound, limit.Bound, name)
	}
}

func TestNoToolCallsAllowsNone(t *testing.T) {
	ran := false
	look := tool("look", func(context.Context, *toolset.RunContext[deps]) (string, error) { ran = true; return "", nil })
	_, runErr, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "look"))}, "go", []agent.RunOption{agent.WithLimits(agent.Limits{ToolCalls: agent.NoToolCalls})}, look)
	require.EqualError(t, runErr, "agent: tool: usage limit reached: 1 tool call, limit 0")
	require.False(t, ran)

	res, _, _ := run(t, agent.Config[deps, city]{Limits: agent.Limits{ToolCalls: agent.NoToolCalls}}, []modeltest.Step{modeltest.Say(final("1", `{"city":"Oslo","population":1}`))})
	require.Equal(t, "Oslo", res.Output.City, "the output is not a tool call")
}

func TestWholeBatchIsCheckedBeforeAnyCallRuns(t *testing.T) {
	ran := 0
	count := tool("count", func(context.Context, *toolset.RunContext[deps]) (string, error) { ran++; return "", nil }, toolset.Sequential())
	script := modeltest.Script(modeltest.Say(call("1", "count"), call("2", "count"), call("3", "count")))
	_, err := newAgent(t, cfg{Model: script, Limits: agent.Limits{ToolCalls: 2}}, count).Run(context.Background(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Zero(t, ran)
	require.Equal(t, "request interrupted\n", last(asRunError(t, err).Messages))
}

func TestTokenLimitEndsAStreamAsSoonAsItIsReached(t *testing.T) {
	sent := 0
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for i := range 100 {
			if err := sink(model.Delta{Kind: model.PartText, Text: "x", Usage: &model.Usage{OutputTokens: int64(i)}}); err != nil {
				return nil, err
			}
			sent++
		}
		return model.Response(model.Text("x")), nil
	})
	_, err := newAgent(t, cfg{Model: m, Limits: agent.Limits{OutputTokens: 9}}).Stream(context.Background(), deps{}, "go").Result()
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, 10, sent)
}

func TestSettingsOfARunAreMergedIntoTheAgents(t *testing.T) {
	script := modeltest.Script(modeltest.SayText("ok"))
	a := newAgent(t, cfg{Model: script, Settings: &model.Settings{MaxTokens: 10, Seed: new(int64(1)), ExtraHeaders: map[string]string{"A": "1"}}})
	_, err := a.Run(context.Background(), deps{}, "go", agent.WithSettings(model.Settings{MaxTokens: 20, TopP: new(0.5), ExtraHeaders: map[string]string{"B": "2"}}))
	require.NoError(t, err)
	require.Equal(t, &model.Settings{MaxTokens: 20, Seed: new(int64(1)), TopP: new(0.5), ExtraHeaders: map[string]string{"A": "1", "B": "2"}}, script.Requests()[0].Settings)
}
