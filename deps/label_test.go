// SPDX-License-Identifier: Apache-2.0

package deps_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
)

func TestLabelNamesTheCallsOfARun(t *testing.T) {
	tracker, _ := newTracker(nil)
	ctx := t.Context()
	inner, other := deps.ToolCallID("in/ner", 1, "c"), deps.ToolCallID("in", 1, "c")
	tracker.Label("in/ner", "worker")
	tracker.Label("in", "")
	for range 2 {
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: inner, Title: "T"}))
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: other, Title: "T"}))
		require.Equal(t, "worker: T", *tracker.Snapshot(inner).Title)
		require.Equal(t, "T", *tracker.Snapshot(other).Title)
	}
	require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: inner, Title: new("worker: U")}))
	require.Equal(t, "worker: U", *tracker.Snapshot(inner).Title, "a title that has the label already")
	require.NoError(t, tracker.EndRun(ctx, "in/ner"))
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: inner, Title: "T"}))
	require.Equal(t, "T", *tracker.Snapshot(inner).Title)
	(*deps.Tracker)(nil).Label("in", "worker")
}
