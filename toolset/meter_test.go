// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

func TestSubMeterCountsOnItsParent(t *testing.T) {
	var whole toolset.Meter
	a, b := whole.Sub(), whole.Sub()
	deeper := a.Sub()
	spent := toolset.Usage{ToolCalls: 1, Usage: model.Usage{InputTokens: 10}}
	whole.Add(spent)
	require.Equal(t, 2, deeper.Add(spent).ToolCalls, "the total of the parent")
	require.Equal(t, spent, a.Own(), "nested Sub meters count on each level")
	require.Equal(t, spent, deeper.Own())
	require.Zero(t, b.Own())
	require.Equal(t, whole.Usage(), b.Usage())
	require.Equal(t, int64(20), b.Usage().InputTokens)

	require.NoError(t, b.Request())
	require.Equal(t, 1, b.Own().Requests)
	require.Equal(t, 1, whole.Usage().Requests)
	whole.SetLimits(toolset.Limits{Requests: 1})
	require.Error(t, deeper.Request(), "the limits of the parent")
	require.Zero(t, deeper.Own().Requests)
	require.Equal(t, 1, whole.Usage().Requests, "a request over the limit is not counted")
}

func TestMeterCountsOnItsAncestors(t *testing.T) {
	top := toolset.NewMeter(toolset.Limits{})
	child := top.Sub().Child(toolset.Limits{})
	top.Add(toolset.Usage{ToolCalls: 1})
	require.Equal(t, 2, child.Add(toolset.Usage{ToolCalls: 2}).ToolCalls, "a child has its own total")
	require.NoError(t, child.Request())
	require.Equal(t, toolset.Usage{Requests: 1, ToolCalls: 2}, child.Usage())
	require.Equal(t, toolset.Usage{Requests: 1, ToolCalls: 3}, top.Usage())
}

func TestTightestLimitApplies(t *testing.T) {
	for name, c := range map[toolset.LimitName]struct {
		limits toolset.Limits
		check  func(m *toolset.Meter) error
		value  int64
	}{
		toolset.LimitRequests:     {toolset.Limits{Requests: 2}, func(m *toolset.Meter) error { return m.Request() }, 2},
		toolset.LimitToolCalls:    {toolset.Limits{ToolCalls: 2}, func(m *toolset.Meter) error { return m.CheckCalls(1) }, 3},
		toolset.LimitInputTokens:  {toolset.Limits{InputTokens: 2}, func(m *toolset.Meter) error { return m.CheckTokens(model.Usage{InputTokens: 1}) }, 3},
		toolset.LimitOutputTokens: {toolset.Limits{OutputTokens: 2}, func(m *toolset.Meter) error { return m.CheckTokens(model.Usage{OutputTokens: 1}) }, 3},
		toolset.LimitTotalTokens:  {toolset.Limits{TotalTokens: 4}, func(m *toolset.Meter) error { return m.CheckTokens(model.Usage{OutputTokens: 1}) }, 5},
	} {
		t.Run(string(name), func(t *testing.T) {
			used := toolset.Usage{Requests: 2, ToolCalls: 2, Usage: model.Usage{InputTokens: 2, OutputTokens: 2}}
			for _, bounded := range []string{"outer", "inner", "both"} {
				var limits [2]toolset.Limits
				if bounded != "inner" {
					limits[0] = c.limits
				}
				if bounded != "outer" {
					limits[1] = c.limits
				}
				outer := toolset.NewMeter(limits[0])
				inner := outer.Sub().Child(limits[1])
				require.NoError(t, c.check(inner), "nothing has been used")
				inner.Add(used)
				if name == toolset.LimitRequests { // the first check counted one
					inner.Add(toolset.Usage{Requests: -1})
				}
				var limit *toolset.LimitError
				require.ErrorAs(t, c.check(inner), &limit)
				require.Equal(t, name, limit.Limit)
				require.InDelta(t, c.value, limit.Value, 0)
				require.True(t, limit.Applies(inner))
				require.Equal(t, bounded != "inner", limit.Applies(outer), "the outer limit wins if both are exceeded")
				require.False(t, limit.Applies(new(toolset.Meter)))
			}
		})
	}
}

func TestSharedLimitIsNeverExceeded(t *testing.T) {
	top := toolset.NewMeter(toolset.Limits{Requests: 100})
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		m := top.Child(toolset.Limits{Requests: 30})
		wg.Go(func() {
			for m.Request() == nil {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 100, made.Load())
	require.Equal(t, 100, top.Usage().Requests)
}

func TestIdempotencyKeyIdentifiesTheCall(t *testing.T) {
	run := toolset.RunContext[struct{}]{RunInfo: toolset.RunInfo{RunID: "job-17", Step: 3}, Call: toolset.Call{ID: "c1"}}
	require.Equal(t, "job-17/3/c1", run.IdempotencyKey())
}

// TestAdoptedUsageIsTheTasksAndCountsOnce: all tasks around have it, and the run has counted it already.
func TestAdoptedUsageIsTheTasksAndCountsOnce(t *testing.T) {
	run := toolset.NewMeter(toolset.Limits{})
	outer := run.Sub()
	inner := outer.Sub()
	left := inner.Outlive()
	left.Add(toolset.Usage{Requests: 2, ToolCalls: 1, Cost: 0.5})
	require.Equal(t, 2, run.Usage().Requests)
	require.Zero(t, inner.Own())
	require.Zero(t, outer.Own())
	inner.Adopt(left)
	want := toolset.Usage{Requests: 2, ToolCalls: 1, Cost: 0.5}
	require.Equal(t, want, inner.Own())
	require.Equal(t, want, outer.Own())
	require.Equal(t, want, run.Own(), "it is not counted twice")
	require.NoError(t, inner.Request(), "no lock is held")
	require.Equal(t, 3, outer.Own().Requests)
}
