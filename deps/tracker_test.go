// SPDX-License-Identifier: Apache-2.0

package deps_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
)

// recorder is a client that records updates as JSON.
type recorder struct {
	acp.UnimplementedClient
	before func(ctx context.Context, n *acp.SessionNotification) error

	mu      sync.Mutex
	updates []acp.SessionUpdate
}

func (r *recorder) SessionUpdate(ctx context.Context, n *acp.SessionNotification) error {
	if r.before != nil {
		if err := r.before(ctx, n); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates = append(r.updates, n.Update)
	return nil
}

// take returns the updates sent since the last call, each as JSON.
func (r *recorder) take(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := []string{}
	for _, u := range r.updates {
		data, err := json.Marshal(u)
		require.NoError(t, err)
		lines = append(lines, string(data))
	}
	r.updates = nil
	return lines
}

func newTracker(opts *deps.TrackerOptions) (*deps.Tracker, *recorder) {
	r := new(recorder)
	return deps.NewTracker(r, "s", opts), r
}

func TestCallIsAnnouncedOnce(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	start := acp.ToolCall{ToolCallID: "c", Title: "Read a", Kind: acp.ToolKindRead, Status: acp.ToolCallStatusPending, RawInput: json.RawMessage(`{"n":12345678901234567890}`)}
	require.NoError(t, tracker.Start(ctx, start))
	require.NoError(t, tracker.Start(ctx, start))
	start.Title = "Read b"
	require.NoError(t, tracker.Start(ctx, start))
	require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c", Title: new("Read b"), Kind: acp.ToolKindRead}))
	require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c", Status: acp.ToolCallStatusInProgress, Locations: []acp.ToolCallLocation{{Path: "/a"}}}))
	require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c", Locations: []acp.ToolCallLocation{{Path: "/a"}}}))
	require.NoError(t, tracker.Complete(ctx, "c", deps.TextContent("ok")))
	assert.Equal(t, []string{
		`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Read a","kind":"read","status":"pending","rawInput":{"n":12345678901234567890}}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"Read b"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress","locations":[{"path":"/a"}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":[{"type":"content","content":{"type":"text","text":"ok"}}]}`,
	}, r.take(t))
}

func TestStatusNeverGoesBack(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T", Status: acp.ToolCallStatusInProgress}))
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T", Status: acp.ToolCallStatusPending}))
	r.take(t)
	assert.Equal(t, acp.ToolCallStatusInProgress, tracker.Snapshot("c").Status)
}

func TestFinishedCallSendsNothing(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
	require.NoError(t, tracker.Fail(ctx, "c", "no"))
	require.Len(t, r.take(t), 2)
	require.NoError(t, tracker.Complete(ctx, "c", deps.TextContent("late")))
	require.NoError(t, tracker.Fail(ctx, "c", "late"))
	require.NoError(t, tracker.Append(ctx, "c", "late"))
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "late"}))
	assert.Empty(t, r.take(t))
}

func TestCallMustBeStarted(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	require.ErrorIs(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c"}), deps.ErrUnknownToolCall)
	require.ErrorIs(t, tracker.Append(ctx, "c", "x"), deps.ErrUnknownToolCall)
	assert.Equal(t, acp.ToolCallUpdate{ToolCallID: "c"}, tracker.Snapshot("c"))
	assert.Empty(t, r.take(t))
}

func TestNilTrackerReportsNothing(t *testing.T) {
	var tracker *deps.Tracker
	ctx := t.Context()
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c"}))
	require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c"}))
	require.NoError(t, tracker.Append(ctx, "c", "x"))
	require.NoError(t, tracker.Complete(ctx, "c"))
	require.NoError(t, tracker.Fail(ctx, "c", "x"))
	require.NoError(t, tracker.EndRun(ctx, "r"))
	assert.Equal(t, acp.ToolCallUpdate{ToolCallID: "c"}, tracker.Snapshot("c"))
}

func TestSnapshotIsACompleteCopy(t *testing.T) {
	tracker, _ := newTracker(nil)
	ctx := t.Context()
	diff := acp.ToolCallContent{Diff: &acp.Diff{Path: "/a", NewText: "x"}}
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T", Kind: acp.ToolKindEdit, Content: []acp.ToolCallContent{diff}}))
	require.NoError(t, tracker.Append(ctx, "c", "more"))
	snapshot := tracker.Snapshot("c")
	assert.Equal(t, []acp.ToolCallContent{diff, deps.TextContent("more")}, snapshot.Content)
	assert.Equal(t, "T", *snapshot.Title)
	snapshot.Content[0] = acp.ToolCallContent{}
	assert.Equal(t, diff, tracker.Snapshot("c").Content[0])
}

func TestStreamedTextIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, r := newTracker(nil)
		ctx := t.Context()
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
		r.take(t)
		for range 1000 {
			require.NoError(t, tracker.Append(ctx, "c", "x"))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		sent := r.take(t)
		assert.InDelta(t, 11, len(sent), 1)
		assert.Contains(t, sent[len(sent)-1], strings.Repeat("x", 1000), "the timer sends the rest")
		require.NoError(t, tracker.Complete(ctx, "c"))
		assert.Equal(t, []string{`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`}, r.take(t))
	})
}

func TestNextReportSendsStreamedText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, r := newTracker(nil)
		ctx := t.Context()
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
		require.NoError(t, tracker.Append(ctx, "c", "one "))
		require.NoError(t, tracker.Append(ctx, "c", "two"))
		require.Len(t, r.take(t), 2)
		require.NoError(t, tracker.Complete(ctx, "c"))
		assert.Equal(t, []string{`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":[{"type":"content","content":{"type":"text","text":"one two"}}]}`}, r.take(t))
		time.Sleep(time.Second)
		assert.Empty(t, r.take(t), "the timer has nothing left to do")
	})
}

func TestLongStreamedTextKeepsItsEnd(t *testing.T) {
	tracker, _ := newTracker(&deps.TrackerOptions{TextLimit: 10})
	ctx := t.Context()
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}))
	text := func() string { return tracker.Snapshot("c").Content[0].Content.Content.Text.Text }
	for i := range 100 {
		require.NoError(t, tracker.Append(ctx, "c", fmt.Sprintf("%02d ", i)))
	}
	assert.Equal(t, "[290 bytes omitted]\n 97 98 99 ", text())
	require.NoError(t, tracker.Append(ctx, "c", strings.Repeat("é", 100)))
	assert.Equal(t, "[490 bytes omitted]\nééééé", text())
	require.NoError(t, tracker.Append(ctx, "c", "a"))
	assert.Equal(t, "[492 bytes omitted]\néééé"+"a", text())
}

func TestNewContentReplacesStreamedText(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	content := []acp.ToolCallContent{deps.TextContent("fixed")}
	require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T", Content: content}))
	require.NoError(t, tracker.Append(ctx, "c", "streamed"))
	r.take(t)
	require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c", Content: content}))
	assert.Equal(t, []string{`{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"content","content":{"type":"text","text":"fixed"}}]}`}, r.take(t))
}

func TestNextReportSendsUnsentChanges(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	full := errors.New("queue full")
	r.before = func(context.Context, *acp.SessionNotification) error { return full }
	require.ErrorIs(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T", Status: acp.ToolCallStatusPending}), full)
	require.ErrorIs(t, tracker.Append(ctx, "c", "text"), full)
	require.ErrorIs(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c", Title: new("T2"), RawOutput: json.RawMessage(`1`)}), full)
	require.ErrorIs(t, tracker.Complete(ctx, "c"), full)
	r.before = nil
	require.NoError(t, tracker.Complete(ctx, "c"), "the client does not know yet that it ended")
	assert.Equal(t, []string{
		`{"sessionUpdate":"tool_call","toolCallId":"c","title":"T2","status":"completed","content":[{"type":"content","content":{"type":"text","text":"text"}}],"rawOutput":1}`,
	}, r.take(t))
}

func TestPanickingClientDoesNotBlockTheCall(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	r.before = func(context.Context, *acp.SessionNotification) error { panic("boom") }
	assert.Panics(t, func() { _ = tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "T"}) })
	r.before = nil
	require.NoError(t, tracker.Complete(ctx, "c"))
	assert.Equal(t, []string{`{"sessionUpdate":"tool_call","toolCallId":"c","title":"T","status":"completed"}`}, r.take(t))
}

func TestConcurrentReportsAreMergedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, r := newTracker(nil)
		ctx := t.Context()
		gate := make(chan struct{})
		r.before = func(context.Context, *acp.SessionNotification) error {
			<-gate
			return nil
		}
		go func() { _ = tracker.Start(ctx, acp.ToolCall{ToolCallID: "c", Title: "0"}) }()
		synctest.Wait()
		for i := 1; i <= 5; i++ {
			go func() { _ = tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "c", Title: new(fmt.Sprint(i))}) }()
			synctest.Wait()
		}
		ended, cancel := context.WithCancelCause(ctx)
		cancel(acp.ErrTurnCancelled)
		require.ErrorIs(t, tracker.Complete(ended, "c"), acp.ErrTurnCancelled, "waiting ends with the context")
		close(gate)
		synctest.Wait()
		assert.Equal(t, []string{
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"0"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","title":"5"}`,
		}, r.take(t))
	})
}

func TestConcurrentCallsKeepTheProtocol(t *testing.T) {
	tracker, r := newTracker(&deps.TrackerOptions{TextInterval: time.Nanosecond})
	var all sync.WaitGroup
	for n := range 8 {
		for range 4 {
			all.Go(func() {
				id := acp.ToolCallID(fmt.Sprint(n))
				for range 50 {
					_ = tracker.Start(t.Context(), acp.ToolCall{ToolCallID: id, Title: "T", Status: acp.ToolCallStatusPending})
					_ = tracker.Append(t.Context(), id, "x")
				}
				_ = tracker.Complete(t.Context(), id)
			})
		}
	}
	all.Wait()
	announced, ended := map[acp.ToolCallID]bool{}, map[acp.ToolCallID]bool{}
	for _, u := range r.updates {
		if c := u.ToolCall; c != nil {
			assert.False(t, announced[c.ToolCallID])
			announced[c.ToolCallID] = true
			continue
		}
		id := u.ToolCallUpdate.ToolCallID
		assert.True(t, announced[id])
		assert.False(t, ended[id])
		ended[id] = u.ToolCallUpdate.Status == acp.ToolCallStatusCompleted
	}
	assert.Len(t, announced, 8)
	for id := range announced {
		assert.True(t, ended[id])
	}
}

func TestEndRunFailsUnfinishedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, r := newTracker(nil)
		ctx := t.Context()
		for _, id := range []acp.ToolCallID{deps.ToolCallID("a", 1, "x"), deps.ToolCallID("a", 2, "x"), deps.ToolCallID("ab", 1, "x"), deps.ToolCallID("a/b", 1, "x")} {
			require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: id, Title: "T"}))
		}
		require.NoError(t, tracker.Complete(ctx, "a/1/x"))
		require.NoError(t, tracker.Append(ctx, "a/2/x", "first"))
		require.NoError(t, tracker.Append(ctx, "a/2/x", ", rest"))
		r.take(t)
		require.NoError(t, tracker.EndRun(ctx, "a"))
		assert.Equal(t, []string{
			`{"sessionUpdate":"tool_call_update","toolCallId":"a/2/x","status":"failed","content":[{"type":"content","content":{"type":"text","text":"first, rest"}}]}`,
		}, r.take(t))
		require.NoError(t, tracker.EndRun(ctx, "a"))
		require.ErrorIs(t, tracker.Complete(ctx, "a/1/x"), deps.ErrUnknownToolCall)
		require.NoError(t, tracker.Complete(ctx, deps.ToolCallID("ab", 1, "x")))
		require.NoError(t, tracker.Complete(ctx, deps.ToolCallID("a/b", 1, "x")))
		assert.Len(t, r.take(t), 2)
		time.Sleep(time.Second)
		assert.Empty(t, r.take(t))
	})
}

func TestFinishedCallsAreForgotten(t *testing.T) {
	tracker, r := newTracker(nil)
	ctx := t.Context()
	for i := range 2000 {
		id := deps.ToolCallID("r", i, "c")
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: id, Title: "T", RawInput: json.RawMessage(`{"a":1}`)}))
		require.NoError(t, tracker.Complete(ctx, id, deps.TextContent("x")))
	}
	require.ErrorIs(t, tracker.Complete(ctx, deps.ToolCallID("r", 0, "c")), deps.ErrUnknownToolCall)
	last := tracker.Snapshot(deps.ToolCallID("r", 1999, "c"))
	assert.Equal(t, acp.ToolCallStatusCompleted, last.Status)
	assert.Empty(t, last.Content)
	assert.Empty(t, last.RawInput)
	assert.Len(t, r.take(t), 4000)
}

func TestToolCallIDsOfDifferentCallsDiffer(t *testing.T) {
	ids := map[acp.ToolCallID]bool{}
	for _, run := range []string{"", "a", "a/1", "a%2F1", "a/", "%"} {
		for step := range 12 {
			for _, callID := range []string{"", "c", "1/c", "/"} {
				id := deps.ToolCallID(run, step, callID)
				assert.False(t, ids[id], id)
				ids[id] = true
			}
		}
	}
	assert.Equal(t, acp.ToolCallID("run/3/call_1"), deps.ToolCallID("run", 3, "call_1"))
}
