// SPDX-License-Identifier: Apache-2.0

package deps_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
)

func TestTrackerRemembers512FinishedCalls(t *testing.T) {
	tracker, _ := newTracker(nil)
	ctx := t.Context()
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "open", Title: "T"}))
	const n = 1000
	for i := range n {
		id := deps.ToolCallID("r", i, "c")
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: id, Title: "T"}))
		require.NoError(t, tracker.Complete(ctx, id))
		require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "open", Title: new(string(id))}))
	}
	for i := range n {
		err := tracker.Complete(ctx, deps.ToolCallID("r", i, "c"))
		if i < n-512 {
			require.ErrorIs(t, err, deps.ErrUnknownToolCall, i)
		} else {
			require.NoError(t, err, i)
		}
	}
	require.NoError(t, tracker.Complete(ctx, "open"), "a call that has not ended is never forgotten")
}

// A call may change while a report about it is being sent. If the report fails, the newer values are sent.
func TestFailedReportKeepsNewerValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, r := newTracker(nil)
		ctx := t.Context()
		old := acp.ToolCall{
			ToolCallID: "c", Title: "old", Name: new("old"), Kind: acp.ToolKindRead, Status: acp.ToolCallStatusPending,
			Content: []acp.ToolCallContent{deps.TextContent("old")}, Locations: []acp.ToolCallLocation{{Path: "/old"}},
			RawInput: json.RawMessage(`"old"`), RawOutput: json.RawMessage(`"old"`), Meta: map[string]json.RawMessage{"v": json.RawMessage(`"old"`)},
		}
		failed := errors.New("queue full")
		gate := make(chan error)
		r.before = func(context.Context, *acp.SessionNotification) error { return <-gate }
		go func() { require.ErrorIs(t, tracker.Start(ctx, old), failed) }()
		synctest.Wait()
		go func() {
			require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{
				ToolCallID: "c", Title: new("new"), Name: new("new"), Kind: acp.ToolKindEdit, Status: acp.ToolCallStatusInProgress,
				Content: []acp.ToolCallContent{deps.TextContent("new")}, Locations: []acp.ToolCallLocation{{Path: "/new"}},
				RawInput: json.RawMessage(`"new"`), RawOutput: json.RawMessage(`"new"`), Meta: map[string]json.RawMessage{"v": json.RawMessage(`"new"`)},
			}))
		}()
		synctest.Wait()
		gate <- failed
		gate <- nil
		synctest.Wait()
		require.Equal(t, []string{`{"sessionUpdate":"tool_call","toolCallId":"c","title":"new","name":"new","kind":"edit","status":"in_progress",` +
			`"content":[{"type":"content","content":{"type":"text","text":"new"}}],"locations":[{"path":"/new"}],` +
			`"rawInput":"new","rawOutput":"new","_meta":{"v":"new"}}`}, r.take(t))
	})
}

func TestUpdateReportsEveryChangedField(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
	r.take(t)
	for _, u := range []acp.ToolCallUpdate{
		{Title: new("T2")},
		{Name: new("n")},
		{Name: new("n2")},
		{Kind: acp.ToolKindRead},
		{Kind: acp.ToolKindEdit},
		{Status: acp.ToolCallStatusPending},
		{Status: acp.ToolCallStatusInProgress},
		{Locations: []acp.ToolCallLocation{{Path: "/a"}}},
		{Locations: []acp.ToolCallLocation{{Path: "/b"}}},
		{RawInput: json.RawMessage(`1`)},
		{RawInput: json.RawMessage(`2`)},
		{RawOutput: json.RawMessage(`1`)},
		{RawOutput: json.RawMessage(`2`)},
		{Meta: map[string]json.RawMessage{"v": json.RawMessage(`"1"`)}},
		{Meta: map[string]json.RawMessage{"v": json.RawMessage(`"2"`)}},
		{Content: []acp.ToolCallContent{deps.TextContent("1")}},
		{Content: []acp.ToolCallContent{deps.TextContent("2")}},
	} {
		u.ToolCallID = "c"
		require.NoError(t, tracker.Update(ctx, u))
		want, err := json.Marshal(acp.SessionUpdate{ToolCallUpdate: &u})
		require.NoError(t, err)
		require.Equal(t, []string{string(want)}, r.take(t))
		require.NoError(t, tracker.Update(ctx, u))
		require.Empty(t, r.take(t), "unchanged fields are not sent: %s", want)
	}
}

func TestEndRunFailsCallsInOrder(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	var want []string
	for _, id := range "abcdefghij" {
		id := deps.ToolCallID("r", 1, string(id))
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: id, Title: "T"}))
		want = append(want, `{"sessionUpdate":"tool_call_update","toolCallId":"`+string(id)+`","status":"failed"}`)
	}
	r.take(t)
	require.NoError(t, tracker.EndRun(ctx, "r"))
	require.Equal(t, want, r.take(t))
}

// Text for a finished call is dropped. The final state is still sent if that failed before.
func TestLateTextSendsTheFinalState(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
	r.take(t)
	r.before = func(context.Context, *acp.SessionNotification) error { return errors.New("queue full") }
	require.Error(t, tracker.Complete(ctx, "c"))
	r.before = nil
	require.NoError(t, tracker.Append(ctx, "c", "late"))
	require.Equal(t, []string{`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`}, r.take(t))
}
