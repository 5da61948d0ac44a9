// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/toolset"
)

// metered returns a model that answers with text and a usage, or with what answer returns.
func metered(name string, tokens int64, finish model.FinishReason) model.Model {
	return model.Func(model.Info{Provider: "p", Name: name}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		resp := model.Response(model.Text("from " + name))
		resp.Usage, resp.Finish = model.Usage{OutputTokens: tokens}, finish
		return resp, nil
	})
}

// anybodys is a wrapper that knows nothing of how requests are counted.
type anybodys struct{ model.Model }

func (a anybodys) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	return a.Model.Generate(ctx, req, sink)
}

var perMillion = model.Prices{"cheap": {Output: 1}, "dear": {Output: 10}}

func TestEachAttemptOfAWrapperCountsOnce(t *testing.T) {
	rejected, answers := metered("cheap", 1_000_000, model.FinishError), metered("dear", 2_000_000, "")
	fallback := modelwrap.Fallback([]model.Model{rejected, answers}, modelwrap.FallbackPolicy{Check: modelwrap.Usable})
	for name, m := range map[string]model.Model{
		"fallback": fallback, "within a retry": modelwrap.Retry(fallback, model.RetryPolicy{}), "of fallbacks": modelwrap.Fallback([]model.Model{fallback}, modelwrap.FallbackPolicy{}),
		"in a wrapper of one's own": anybodys{fallback}, "in a function": model.Func(fallback.Info(), fallback.Generate),
	} {
		for _, streamed := range []bool{false, true} {
			a := newAgent(t, cfg{Model: m, Prices: perMillion})
			var res *agent.Result[string]
			var err error
			if streamed {
				res, err = a.Stream(t.Context(), deps{}, "go").Result()
			} else {
				res, err = a.Run(t.Context(), deps{}, "go")
			}
			require.NoError(t, err, name)
			require.Equal(t, toolset.Usage{Requests: 2, Usage: model.Usage{OutputTokens: 3_000_000}, Cost: 21}, res.Usage, name)
		}
	}
}

func TestLimitAppliesToEachAttempt(t *testing.T) {
	rejected := metered("cheap", 100, model.FinishError)
	m := modelwrap.Fallback([]model.Model{rejected, rejected, rejected}, modelwrap.FallbackPolicy{Check: modelwrap.Usable})
	_, err := newAgent(t, cfg{Model: m, Limits: agent.Limits{Requests: 2}}).Run(t.Context(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, 2, asRunError(t, err).Usage.Requests)

	_, err = newAgent(t, cfg{Model: m, Limits: agent.Limits{TotalTokens: 150}}).Run(t.Context(), deps{}, "go")
	require.ErrorAs(t, err, &limit)
	require.Equal(t, toolset.LimitTotalTokens, limit.Limit)
	require.EqualValues(t, 200, asRunError(t, err).Usage.TotalTokens())
}

func TestUnpricedFallbackCountsAsItsReservation(t *testing.T) {
	down := model.Func(model.Info{Provider: "p", Name: "dear"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, &model.APIError{Status: 503}
	})
	m := modelwrap.Fallback([]model.Model{down, metered("unknown", 5, "")}, modelwrap.FallbackPolicy{})
	a := newAgent(t, cfg{Model: m, Prices: perMillion, Limits: agent.Limits{Cost: 100}, Settings: &model.Settings{MaxTokens: 1_000_000}})
	res, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, toolset.Usage{Requests: 2, Usage: model.Usage{OutputTokens: 5}, Cost: 10, Unpriced: 1}, res.Usage, "the longest response at the price of the model asked")
}

func TestAnswersThatAreNotSentDoNotCount(t *testing.T) {
	m := modelwrap.Cache(metered("cheap", 7, ""), modelwrap.NewMemory(modelwrap.MemoryLimits{}), modelwrap.CachePolicy{})
	for _, want := range []toolset.Usage{{Requests: 1, Usage: model.Usage{OutputTokens: 7}}, {}} {
		res, err := newAgent(t, cfg{Model: anybodys{m}}).Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, want, res.Usage)
	}
}

func TestHooksThatCallNextTwiceMakeTwoCountedRequests(t *testing.T) {
	for calls := range 4 {
		hook := func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			for range calls {
				if _, err := next(ctx, req); err != nil {
					return nil, err
				}
			}
			return model.Response(model.Text("from the hook")), nil
		}
		a := newAgent(t, cfg{Model: metered("cheap", 10, ""), Prices: perMillion, Hooks: []agent.Hooks[deps]{{Request: hook}}})
		res, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, toolset.Usage{Requests: calls, Usage: model.Usage{OutputTokens: int64(10 * calls)}, Cost: res.Usage.Cost}, res.Usage)
		require.InDelta(t, float64(calls)*1e-5, res.Usage.Cost, 1e-12)
	}
}

func TestHookThatAnswersForEverIsStoppedByTheLimit(t *testing.T) {
	steps := 0
	hook := func(context.Context, *toolset.RunContext[deps], *model.Request, agent.RequestFunc) (*model.Message, error) {
		steps++
		return model.Response(call(fmt.Sprint(steps), "add")), nil
	}
	a := newAgent(t, cfg{Model: modeltest.Script(), Hooks: []agent.Hooks[deps]{{Request: hook}}, ToolRetries: new(1000)}, addTool())
	_, err := a.Run(t.Context(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, toolset.LimitRequests, limit.Limit)
	require.Zero(t, asRunError(t, err).Usage.Requests)
}

func TestGateCostsNoAllocation(t *testing.T) {
	m, req, resp := new(toolset.Meter), new(model.Request), model.Response(model.Text("ok"))
	says := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return resp, nil })
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = m.Generate(ctx, says, req, nil) }))
}
