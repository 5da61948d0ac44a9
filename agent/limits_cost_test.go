// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// dollar is what a request of the models in these tests costs.
var dollar = model.Prices{"modeltest/*": {Input: 100_000}, "turns": {Input: 1}}

func TestCostLimitEndsARun(t *testing.T) {
	a := newAgent(t, cfg{Model: forever(), Prices: dollar, Limits: agent.Limits{Cost: 3.5}}, addTool())
	_, err := a.Run(t.Context(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, toolset.LimitCost, limit.Limit)
	require.InDelta(t, 4, limit.Value, 1e-9)
	require.InDelta(t, 3.5, limit.Bound, 1e-9)
	require.Equal(t, 4, asRunError(t, err).Usage.Requests)
	require.InDelta(t, 4, asRunError(t, err).Usage.Cost, 1e-9)

	_, streamErr := a.Stream(t.Context(), deps{}, "go").Result()
	require.EqualError(t, streamErr, err.Error())
}

func TestCostOfARunIsInItsUsage(t *testing.T) {
	a := newAgent(t, cfg{Model: turns(2), Prices: model.Prices{"turns": {Request: 0.5}}}, addTool())
	res, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, 3, res.Usage.Requests)
	require.Equal(t, 3, res.Usage.Unpriced, "the script reports no usage")
	require.Zero(t, res.Usage.Cost)

	res, err = newAgent(t, cfg{Model: turns(2)}, addTool()).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Zero(t, res.Usage.Unpriced, "without prices nothing is said about cost")
}

func TestCostLimitRefusesAModelWithoutAPriceBeforeTheRequest(t *testing.T) {
	asked := 0
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		asked++
		return model.Response(model.Text("hi")), nil
	})
	for name, config := range map[string]cfg{
		"no such price": {Model: m, Prices: model.Prices{"openai/gpt-5": {Input: 1}}, Limits: agent.Limits{Cost: 1}},
		"no prices":     {Model: m},
	} {
		_, err := newAgent(t, config).Run(t.Context(), deps{}, "go", agent.WithLimits(agent.Limits{Cost: 1}))
		var unknown *agent.PriceError
		require.ErrorAs(t, err, &unknown, name)
		require.ErrorIs(t, err, model.ErrNoPrice, name)
		require.Equal(t, m.Info().Provider, unknown.Provider)
		require.Equal(t, m.Info().Name, unknown.Model)
		require.Zero(t, asRunError(t, err).Usage, "the request was not made")
	}
	require.Zero(t, asked)
}

func TestResponseWithoutUsageCountsAsItsReservation(t *testing.T) {
	a := newAgent(t, cfg{Model: turns(2), Prices: dollar, Limits: agent.Limits{Cost: 100}}, addTool())
	res, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, 3, res.Usage.Unpriced, "it is visible that the cost is not known")
	require.InDelta(t, 15, res.Usage.Cost, 0, "a twentieth of the limit each")

	endless := newAgent(t, cfg{Model: turns(1000), Prices: dollar, Limits: agent.Limits{Cost: 100}}, addTool())
	_, err = endless.Run(t.Context(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, toolset.LimitCost, limit.Limit)
	require.Equal(t, 20, asRunError(t, err).Usage.Requests)

	free := newAgent(t, cfg{Model: turns(2), Prices: model.Prices{"turns": {}}, Limits: agent.Limits{Cost: 100}}, addTool())
	_, err = free.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
}

func TestCostLimitEndsAStreamAsSoonAsItIsReached(t *testing.T) {
	var usage model.Usage
	told := 0
	m := model.Func(model.Info{Provider: "modeltest", Name: "slow"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		resp := model.Response(model.Text("x"))
		for range 100 {
			usage.InputTokens += 10
			resp.Usage = usage
			told++
			if err := sink(model.Delta{Kind: model.PartText, Text: "x", Usage: &usage}); err != nil {
				return nil, err
			}
		}
		return resp, nil
	})
	a := newAgent(t, cfg{Model: m, Prices: dollar, Limits: agent.Limits{Cost: 2.5}})
	s := a.Stream(t.Context(), deps{}, "go")
	var last float64
	for e := range s.Events() {
		if e.Kind == agent.EventUsage {
			last = e.Usage.Cost
		}
	}
	_, err := s.Result()
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, toolset.LimitCost, limit.Limit)
	require.Equal(t, 3, told)
	require.InDelta(t, 3, last, 1e-9)
	require.InDelta(t, 3, asRunError(t, err).Usage.Cost, 1e-9, "what was cut off is paid for")
}

func TestOuterCostLimitBoundsInnerAgents(t *testing.T) {
	inner := newAgent(t, cfg{Model: forever(), Limits: agent.Limits{Requests: -1}}, addTool())
	ask := agent.AsTool("ask", "Asks another agent.", inner, func(d deps) deps { return d })
	outerModel := func() model.Model {
		return modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			resp := model.Response(model.ToolCall("1", "ask", `{"prompt":"go"}`))
			resp.Usage = model.Usage{InputTokens: 10}
			return resp, nil
		})
	}
	outer := newAgent(t, cfg{Model: outerModel(), Prices: dollar, Limits: agent.Limits{Cost: 10}}, ask)
	_, err := outer.Run(t.Context(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.InDelta(t, 10, asRunError(t, err).Usage.Cost, 1e-9, "the inner agent has the outer prices")
	require.Equal(t, 10, asRunError(t, err).Usage.Requests)

	// A price that the outer limit needs, and nobody knows, ends the outer run: its model cannot do anything about it.
	unknown := model.Func(model.Info{Provider: "who", Name: "knows"}, nil)
	ask = agent.AsTool("ask", "Asks another agent.", newAgent(t, cfg{Model: unknown}), func(d deps) deps { return d })
	outer = newAgent(t, cfg{Model: outerModel(), Prices: dollar, Limits: agent.Limits{Cost: 10}}, ask)
	_, err = outer.Run(t.Context(), deps{}, "go")
	var price *agent.PriceError
	require.ErrorAs(t, err, &price)
	require.Equal(t, "who", price.Provider)
	require.Equal(t, 1, asRunError(t, err).Usage.Requests)
}

func TestRunsOfOneUserShareALimitOnCost(t *testing.T) {
	user := toolset.NewMeter(toolset.Limits{Cost: 2})
	one := func() model.Model {
		return modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			resp := model.Response(model.Text("hi"))
			resp.Usage = model.Usage{InputTokens: 10}
			return resp, nil
		})
	}
	a := newAgent(t, cfg{Model: one(), Prices: dollar})
	for range 2 {
		_, err := a.Run(t.Context(), deps{}, "go", agent.WithMeter(user))
		require.NoError(t, err)
	}
	_, err := a.Run(t.Context(), deps{}, "go", agent.WithMeter(user))
	require.ErrorAs(t, err, new(*agent.LimitError))
	require.Zero(t, asRunError(t, err).Usage.Requests)
}

func TestCostLimitMustMakeSense(t *testing.T) {
	_, err := agent.New(agent.Config[deps, string]{Limits: agent.Limits{Cost: -2}})
	require.ErrorContains(t, err, "Limits: Cost is -2, must be positive, 0 (not set) or Unlimited")
}

func TestReplayedRunCostsTheSame(t *testing.T) {
	inner := newAgent(t, cfg{Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(model.Text("done"))
		resp.Usage = model.Usage{InputTokens: 5}
		return resp, nil
	})})
	asked := 0
	outer := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(call("1", "ask"))
		if asked++; asked == 2 {
			resp = model.Response(model.Text("fine"))
		}
		resp.Usage = model.Usage{InputTokens: 10}
		return resp, nil
	})
	// A tool that does not run the agent in the journal's sight: what it used is recorded with its result.
	ask := tool("ask", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
		res, err := inner.Run(ctx, deps{}, "go", agent.WithMeter(run.Meter))
		if err != nil {
			return "", err
		}
		return res.Output, nil
	})
	a := newAgent(t, cfg{Model: outer, Prices: dollar, Limits: agent.Limits{Cost: 10}}, ask)
	var runs journal.Memory
	for range 2 {
		res, err := a.Run(t.Context(), deps{}, "go", agent.WithJournal(&runs), agent.WithRunID("r"))
		require.NoError(t, err)
		require.Equal(t, "fine", res.Output)
		require.InDelta(t, 2.5, res.Usage.Cost, 1e-9)
		require.Equal(t, 3, res.Usage.Requests)
	}
	require.Equal(t, 2, asked)
}
