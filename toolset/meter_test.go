package toolset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

func TestPartOfAMeterCountsOnTheWholeAndKnowsItsOwn(t *testing.T) {
	var whole toolset.Meter
	a, b := whole.Sub(), whole.Sub()
	deeper := a.Sub()
	spent := toolset.Usage{ToolCalls: 1, Usage: model.Usage{InputTokens: 10}}
	whole.Add(spent)
	require.Equal(t, 2, deeper.Add(spent).ToolCalls, "the total is that of the whole")
	require.Equal(t, spent, a.Own(), "what a part of a part counts is its own, too")
	require.Equal(t, spent, deeper.Own())
	require.Zero(t, b.Own())
	require.Equal(t, whole.Usage(), b.Usage())
	require.Equal(t, int64(20), b.Usage().InputTokens)

	used, ok := b.Request(1)
	require.True(t, ok)
	require.Equal(t, 1, used.Requests)
	_, ok = deeper.Request(1)
	require.False(t, ok, "limits hold for the whole")
	require.Zero(t, deeper.Own().Requests)
	require.Equal(t, 1, b.Own().Requests)
}

func TestIdempotencyKeyNamesRunStepAndCall(t *testing.T) {
	run := toolset.RunContext[struct{}]{RunInfo: toolset.RunInfo{RunID: "job-17", Step: 3}, Call: toolset.Call{ID: "c1"}}
	require.Equal(t, "job-17/3/c1", run.IdempotencyKey())
}
