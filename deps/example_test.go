// SPDX-License-Identifier: Apache-2.0

package deps_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
)

// printer is a client that prints updates.
type printer struct{ acp.UnimplementedClient }

func (printer) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	data, err := json.Marshal(n.Update)
	fmt.Println(string(data))
	return err
}

// A tool that shows its progress while it works.
func ExampleTracker() {
	ctx := context.Background()
	tracker := deps.NewTracker(printer{}, "session-1", nil)
	id := deps.ToolCallID("run-1", 1, "call-1")

	_ = tracker.Start(ctx, acp.ToolCall{ToolCallID: id, Title: "Deploy", Status: acp.ToolCallStatusInProgress})
	_ = tracker.Append(ctx, id, "uploading")
	_ = tracker.Complete(ctx, id)
	_ = tracker.Complete(ctx, id) // nothing changes, so nothing is sent
	// Output:
	// {"sessionUpdate":"tool_call","toolCallId":"run-1/1/call-1","title":"Deploy","status":"in_progress"}
	// {"sessionUpdate":"tool_call_update","toolCallId":"run-1/1/call-1","content":[{"type":"content","content":{"type":"text","text":"uploading"}}]}
	// {"sessionUpdate":"tool_call_update","toolCallId":"run-1/1/call-1","status":"completed"}
}
