// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// two is what a run of these tests has recorded.
var two = toolset.Usage{Requests: 2, ToolCalls: 1, Usage: model.Usage{InputTokens: 20, OutputTokens: 4, CacheReadTokens: 3, CacheWriteTokens: 2, ReasoningTokens: 1}, Cost: 2, Unpriced: 1}

func TestPrepaidUsageCountsOnce(t *testing.T) {
	user := toolset.NewMeter(toolset.Limits{})
	outer := user.Child(toolset.Limits{})
	settle := toolset.Prepay(outer, "inner", two)
	require.Equal(t, two, outer.Usage())
	require.Equal(t, two, user.Usage())

	call := outer.Sub()
	inner := call.Child(toolset.Limits{})
	end := toolset.Replay(inner, "inner", nil)
	require.Equal(t, two, call.Own(), "what the call has used includes it")
	require.Zero(t, inner.Usage())
	require.NoError(t, inner.Request())
	require.Equal(t, 1, inner.Usage().Requests)
	inner.Add(toolset.Usage{Requests: 1, ToolCalls: 1, Usage: two.Usage, Cost: 2, Unpriced: 1})
	require.Equal(t, two, inner.Usage())
	require.Equal(t, two, outer.Usage())
	require.Equal(t, two, call.Own())

	inner.Add(toolset.Usage{ToolCalls: 1}) // more than was prepaid
	require.Equal(t, 2, user.Usage().ToolCalls)
	end()
	require.NoError(t, inner.Request())
	require.Equal(t, 3, user.Usage().Requests)
	require.Equal(t, 3, call.Own().Requests)
	end()
	require.Zero(t, settle(true), "all of it was asked for")
	require.Zero(t, settle(false))
	require.Equal(t, 3, user.Usage().Requests)
}

func TestPrepaidUsageIsTakenBackOrKept(t *testing.T) {
	outer := toolset.NewMeter(toolset.Limits{})
	settle := toolset.Prepay(outer, "never", two)
	require.Equal(t, two, settle(false))
	require.Zero(t, settle(false))
	require.Zero(t, outer.Usage())
	require.Equal(t, two, toolset.Prepay(outer, "kept", two)(true))
	require.Equal(t, two, outer.Usage())
	outer.Add(toolset.Usage{
		Requests: -2, ToolCalls: -1, Cost: -2, Unpriced: -1,
		Usage: model.Usage{InputTokens: -20, OutputTokens: -4, CacheReadTokens: -3, CacheWriteTokens: -2, ReasoningTokens: -1},
	})

	toolset.Prepay(outer, "inner", two)
	call := outer.Sub()
	inner := call.Child(toolset.Limits{})
	end := toolset.Replay(inner, "inner", nil)
	require.NoError(t, inner.Request())
	inner.Add(toolset.Usage{Requests: -1}) // it was not made
	require.NoError(t, inner.Request())
	end()
	require.Equal(t, toolset.Usage{Requests: 1}, outer.Usage())
	require.Equal(t, toolset.Usage{Requests: 1}, call.Own())
}

func TestReplayCountsAheadWhatNobodyHas(t *testing.T) {
	user := toolset.NewMeter(toolset.Limits{})
	run := user.Child(toolset.Limits{})
	end := toolset.Replay(run, "run", func() toolset.Usage { return two })
	require.Equal(t, two, user.Usage())
	run.Add(two)
	require.Equal(t, two, user.Usage())
	end()
	require.Equal(t, two, user.Usage())

	alone := new(toolset.Meter)
	toolset.Replay(alone, "run", nil)()
	require.Zero(t, alone.Usage())
}

func TestReplayIsLimitedByItsOwnRunOnly(t *testing.T) {
	user := toolset.NewMeter(toolset.Limits{Requests: 1, ToolCalls: 1, TotalTokens: 1, Cost: 1})
	user.SetPrices(model.Prices{"p/*": {Request: 1}})
	asked := model.Info{Provider: "p", Name: "m"}
	run := user.Child(toolset.Limits{Requests: 3, ToolCalls: 5})
	tool := run.Sub().Child(toolset.Limits{})
	end := toolset.Replay(run, "run", func() toolset.Usage { return two })
	for range 2 {
		require.NoError(t, tool.CheckPrice(asked, model.Message{}.Time))
		require.NoError(t, tool.Request())
		require.NoError(t, tool.CheckTokens(model.Usage{InputTokens: 10}))
		require.NoError(t, tool.CheckCost(1))
		require.NoError(t, tool.CheckCalls(5))
	}
	var limit *toolset.LimitError
	require.ErrorAs(t, tool.CheckCalls(6), &limit)
	require.True(t, limit.Applies(run))
	require.InDelta(t, 5, limit.Bound, 0)
	require.NoError(t, tool.Request())
	require.ErrorAs(t, tool.Request(), &limit)
	require.InDelta(t, 3, limit.Bound, 0)
	tool.Add(toolset.Usage{ToolCalls: 1, Usage: two.Usage, Cost: 2})
	end()
	for _, err := range []error{
		tool.CheckPrice(asked, model.Message{}.Time), tool.Request(), tool.CheckTokens(model.Usage{}), tool.CheckCost(0), tool.CheckCalls(1),
	} {
		require.ErrorAs(t, err, &limit)
		require.InDelta(t, 1, limit.Bound, 0, "the limits above apply again")
	}
}
