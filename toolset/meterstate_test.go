// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// tower has a meter at the top, one of a run with a tap, and one of a run inside.
func tower(limits ...toolset.Limits) (top, run, tap, inner *toolset.Meter) {
	limits = append(limits, make([]toolset.Limits, 3)...)
	top = toolset.NewMeter(limits[0])
	run = top.Child(limits[1])
	tap = run.Sub()
	inner = tap.Child(limits[2])
	return top, run, tap, inner
}

// TestMetersAreMadeAgainOfTheirState: in another process, the meter has the usage and limits of every level. Taps are no levels.
func TestMetersAreMadeAgainOfTheirState(t *testing.T) {
	limits := []toolset.Limits{{Requests: 9}, {ToolCalls: 5}, {TotalTokens: 100, Cost: 2}}
	top, run, tap, inner := tower(limits...)
	top.Add(toolset.Usage{Requests: 1})
	run.Add(toolset.Usage{ToolCalls: 2})
	inner.Add(toolset.Usage{Cost: 0.5, Usage: model.Usage{InputTokens: 10}})
	state := inner.State()
	require.Equal(t, toolset.MeterState{
		{Used: inner.Usage(), Limits: limits[2]},
		{Used: run.Usage(), Limits: limits[1]},
		{Used: top.Usage(), Limits: limits[0]},
	}, state)
	require.Equal(t, toolset.MeterState{{Used: run.Usage(), Limits: limits[1]}, {Used: top.Usage(), Limits: limits[0]}}, tap.State())
	require.Equal(t, state[2:], top.State())

	made := state.Meter()
	require.Equal(t, state, made.State())
	made.Add(toolset.Usage{ToolCalls: 3})
	require.EqualError(t, made.CheckCalls(1), "usage limit reached: 6 tool calls, limit 5", "the limits above apply")
	require.EqualError(t, made.CheckTokens(model.Usage{InputTokens: 91}), "usage limit reached: 101 total tokens, limit 100", "and its own")
	require.ErrorIs(t, made.CheckPrice(asked, model.Message{}.Time), model.ErrNoPrice, "and that on cost")
	require.Equal(t, 2, inner.State()[1].Used.ToolCalls, "the other process's meter is not touched")

	require.True(t, made.Copied())
	require.True(t, made.Sub().Child(toolset.Limits{}).Copied(), "and so are those inside")
	for _, m := range []*toolset.Meter{top, run, tap, inner} {
		require.False(t, m.Copied())
	}
	empty := toolset.MeterState{}.Meter()
	require.Equal(t, toolset.MeterState{{}}, empty.State())
	require.True(t, empty.Copied())
}

// TestErrorsOfMetersKeepTheirLevel: an error of one process is that of the same meter in another.
func TestErrorsOfMetersKeepTheirLevel(t *testing.T) {
	for want, limits := range [][]toolset.Limits{
		{{}, {}, {ToolCalls: 1, Cost: 1}}, {{}, {ToolCalls: 1, Cost: 1}, {}}, {{ToolCalls: 1, Cost: 1}, {}, {}},
	} {
		top, run, tap, inner := tower(limits...)
		meters := []*toolset.Meter{inner, run, top}
		copied := inner.State().Meter()

		var limit, there *toolset.LimitError
		require.ErrorAs(t, inner.CheckCalls(2), &limit)
		require.Equal(t, want, limit.Level(inner))
		require.Equal(t, max(want-1, -1), limit.Level(tap), "a tap is on the level of the meter below it")
		there = limit.At(copied, want)
		require.EqualError(t, there, limit.Error())
		require.Equal(t, toolset.LimitToolCalls, there.Limit)
		require.Equal(t, want, there.Level(copied))
		require.Equal(t, -1, there.Level(inner), "another meter")

		var price, priceThere *toolset.PriceError
		require.ErrorAs(t, inner.CheckPrice(asked, model.Message{}.Time), &price)
		require.Equal(t, want, price.Level(inner))
		priceThere = price.At(copied, want)
		require.EqualError(t, priceThere, price.Error())
		require.Equal(t, want, priceThere.Level(copied))
		require.Equal(t, -1, priceThere.Level(inner))

		for level, m := range meters {
			require.Equal(t, level <= want, limit.Applies(m), "level %d of an error of level %d", level, want)
			require.Equal(t, level <= want, price.Applies(m), "level %d of an error of level %d", level, want)
		}
		for _, level := range []int{-1, 3} {
			require.Equal(t, -1, limit.At(inner, level).Level(inner), "there is no such level")
			require.Equal(t, -1, price.At(inner, level).Level(inner), "there is no such level")
			require.False(t, limit.At(inner, level).Applies(inner))
		}
	}
}

// TestSharesOfEveryLimit: a share is what is left, cut into equal parts, at least one token; it is no one else's until it is returned.
func TestSharesOfEveryLimit(t *testing.T) {
	limits := toolset.Limits{Requests: 11, ToolCalls: 12, InputTokens: 130, OutputTokens: 140, TotalTokens: 250, Cost: 1.6}
	used := toolset.Usage{Requests: 1, ToolCalls: 2, Cost: 0.6, Usage: model.Usage{InputTokens: 30, OutputTokens: 40}}
	m := toolset.NewMeter(limits)
	m.Add(used)
	share := func(r, c int, in, out, total int64, cost float64) toolset.Limits {
		return toolset.Limits{Requests: 1 + r, ToolCalls: 2 + c, InputTokens: 30 + in, OutputTokens: 40 + out, TotalTokens: 70 + total, Cost: cost}
	}
	for range 2 { // the second time, all has been returned
		first := m.Grant(2)
		require.Equal(t, toolset.MeterState{{Used: used, Limits: share(5, 5, 50, 50, 90, 1.1)}}, first.State())
		second := m.Grant(2)
		require.Equal(t, share(2, 2, 25, 25, 45, 0.85), second.State()[0].Limits, "half of what the first has left")
		second.Return()
		second.Return()
		third := m.Grant(1)
		require.Equal(t, share(5, 5, 50, 50, 90, 1.1), third.State()[0].Limits)
		fourth := m.Grant(0)
		require.Equal(t, toolset.Limits{Requests: 1, ToolCalls: 2, InputTokens: 30, OutputTokens: 40, TotalTokens: 70, Cost: 0.6}, fourth.State()[0].Limits, "nothing is left")
		for _, g := range []*toolset.Grant{first, third, fourth} {
			g.Return()
		}
	}
	whole := m.Grant(1)
	require.Equal(t, limits, whole.State()[0].Limits, "all that is left is the limit itself")
	require.Equal(t, toolset.MeterState{{}}, new(toolset.Meter).Grant(3).State(), "no limits, no shares")
}

// TestEmptySharesAllowNothing: a limit of zero would be none.
func TestEmptySharesAllowNothing(t *testing.T) {
	m := toolset.NewMeter(toolset.Limits{Requests: 1, ToolCalls: 1, InputTokens: 1, OutputTokens: 1, TotalTokens: 1, Cost: 1e-9})
	m.SetPrices(prices)
	task := m.Grant(2).State()
	require.Equal(t, toolset.MeterState{{
		Used:   toolset.Usage{Requests: 1},
		Limits: toolset.Limits{Requests: 1, ToolCalls: toolset.NoToolCalls, InputTokens: 1, OutputTokens: 1, TotalTokens: 1, Cost: 1e-9},
	}}, task)
	require.EqualError(t, task.Meter().Request(), "usage limit reached: 1 request, limit 1")
	require.EqualError(t, task.Meter().CheckCalls(1), "usage limit reached: 1 tool call, limit 0")
}

// TestReachedSharesAreNotTheLimit: the run goes on in its own process if only a task's share is used up.
func TestReachedSharesAreNotTheLimit(t *testing.T) {
	_, run, _, inner := tower(toolset.Limits{ToolCalls: 4}, toolset.Limits{ToolCalls: 2}, toolset.Limits{ToolCalls: 7})
	run.Add(toolset.Usage{ToolCalls: 1})
	g := inner.Grant(2)
	var shares []int
	for _, level := range g.State() {
		shares = append(shares, level.Limits.ToolCalls)
	}
	require.Equal(t, []int{3, 1, 2}, shares, "half of 7, nothing of the run's last call, and one of three")
	reached := func(level int, name toolset.LimitName) bool {
		err := (&toolset.LimitError{Limit: name}).At(inner, level)
		limit, ok := g.Reached(fmt.Errorf("task: %w", err))
		require.Same(t, err, limit)
		return ok
	}
	for level := range 3 {
		require.True(t, reached(level, toolset.LimitToolCalls), level)
		require.False(t, reached(level, toolset.LimitRequests), "was not cut")
	}
	_, ok := g.Reached(errors.New("another error"))
	require.False(t, ok)
	limit, ok := g.Reached((&toolset.LimitError{Limit: toolset.LimitToolCalls}).At(new(toolset.Meter), 0))
	require.False(t, ok, "a meter that has nothing to do with it")
	require.Nil(t, limit)
}
