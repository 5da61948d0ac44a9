// SPDX-License-Identifier: Apache-2.0

package deps_test

import (
	"context"
	"testing"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
)

// discard is a client that discards updates.
type discard struct{ acp.UnimplementedClient }

func (discard) SessionUpdate(context.Context, *acp.SessionNotification) error { return nil }

// BenchmarkToolCall measures the tracker's part of a tool call: start, progress and completion.
func BenchmarkToolCall(b *testing.B) {
	tracker := deps.NewTracker(discard{}, "s", nil)
	ctx := b.Context()
	b.ReportAllocs()
	for step := 0; b.Loop(); step++ {
		id := deps.ToolCallID("run", step, "call")
		_ = tracker.Start(ctx, acp.ToolCall{ToolCallID: id, Title: "T", Kind: acp.ToolKindRead, Status: acp.ToolCallStatusPending})
		_ = tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: id, Status: acp.ToolCallStatusInProgress})
		_ = tracker.Complete(ctx, id)
	}
}

// BenchmarkAppend appends one chunk of streamed text.
func BenchmarkAppend(b *testing.B) {
	tracker := deps.NewTracker(discard{}, "s", nil)
	ctx := b.Context()
	_ = tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"})
	b.ReportAllocs()
	for b.Loop() {
		_ = tracker.Append(ctx, "c", "a chunk of text\n")
	}
	_ = tracker.Complete(ctx, "c")
}
