// SPDX-License-Identifier: Apache-2.0

package deps_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
)

func TestStreamedTextDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, r := newTracker(nil)
		ctx := t.Context()
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
		require.NoError(t, tracker.Append(ctx, "c", strings.Repeat("x", 20<<10)))
		r.take(t)
		shown := tracker.Snapshot("c").Content[0].Content.Content.Text.Text
		require.Equal(t, "[4096 bytes omitted]\n"+strings.Repeat("x", 16<<10), shown)

		require.NoError(t, tracker.Append(ctx, "c", "more"))
		time.Sleep(100*time.Millisecond - 1)
		synctest.Wait()
		require.Empty(t, r.take(t))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Len(t, r.take(t), 1)
	})
}

// Sending text with another report starts a new interval.
func TestReportWithTextStartsAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, r := newTracker(nil)
		ctx := t.Context()
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
		require.NoError(t, tracker.Append(ctx, "c", "a"))
		require.NoError(t, tracker.Append(ctx, "c", "b"))
		time.Sleep(50 * time.Millisecond)
		require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c", Title: new("T2")}))
		require.NoError(t, tracker.Append(ctx, "c", "c"))
		r.take(t)
		time.Sleep(99 * time.Millisecond)
		synctest.Wait()
		require.Empty(t, r.take(t))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Len(t, r.take(t), 1)
	})
}

func TestInvalidUTF8IsCut(t *testing.T) {
	tracker, _ := newTracker(&deps.TrackerOptions{TextLimit: 10})
	ctx := t.Context()
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
	require.NoError(t, tracker.Append(ctx, "c", strings.Repeat("\x80", 100)))
	require.Equal(t, "[100 bytes omitted]\n", tracker.Snapshot("c").Content[0].Content.Content.Text.Text)
}

func TestContentReplacesText(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	content := []acp.ToolCallContent{deps.TextContent("fixed")}
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T", Content: content}))
	require.NoError(t, tracker.Append(ctx, "c", "x"))
	r.take(t)
	require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c", Content: content}))
	require.Len(t, r.take(t), 1)
	require.Equal(t, content, tracker.Snapshot("c").Content)
}

func TestFinishedCallKeepsNoText(t *testing.T) {
	tracker, _ := newTracker(nil)
	ctx := t.Context()
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
	require.NoError(t, tracker.Append(ctx, "c", "streamed"))
	require.NoError(t, tracker.Complete(ctx, "c"))
	require.Empty(t, tracker.Snapshot("c").Content)
}
