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

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
)

// noted is a transcript that writes down what it is told.
type noted struct {
	calls  map[string]*view.Entity
	agent  string
	failed error // of each report

	mu    sync.Mutex
	lines []string
}

func (n *noted) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *noted) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := n.lines
	n.lines = nil
	return lines
}

func (n *noted) Call(id string) (*view.Entity, string) { return n.calls[id], n.agent }

func (n *noted) Report(patch *view.Entity, begin bool) error {
	data, _ := json.Marshal(patch)
	n.note("report %s %t", data, begin)
	return n.failed
}

func (n *noted) EndRun(run string) { n.note("end %s", run) }

func (n *noted) Show(context.Context) error { n.note("show"); return n.failed }

// What a tracker is told reaches the transcript of the session at once, text when its time has come.
func TestReportsToATranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := []view.Content{{Kind: view.Text, Text: "before"}}
		n := &noted{agent: "inner", calls: map[string]*view.Entity{
			"call:r/1/c": {ID: "call:r/1/c", Kind: view.ToolCall, Title: "T", Status: view.Running, Content: shown, Input: json.RawMessage("1"), Output: json.RawMessage("2")},
			"call:ended": {ID: "call:ended", Kind: view.ToolCall, Title: "E", Class: "read", Name: "n", Status: view.Completed, Content: shown, Input: json.RawMessage("1"), Output: json.RawMessage("2"), Locations: []view.Location{{Path: "/a", Line: 3}}},
		}}
		tracker := deps.NewTracker(nil, "s", &deps.TrackerOptions{Transcript: n, TextLimit: 6})
		ctx := t.Context()
		told := func(want ...string) {
			t.Helper()
			synctest.Wait()
			require.Equal(t, want, n.take())
		}
		const id = acp.ToolCallID("r/1/c")
		tracker.Label("r", "label")
		require.NoError(t, tracker.Start(ctx, acp.ToolCall{ToolCallID: id, Title: "T", Kind: "edit"}))
		told(`report {"id":"call:r/1/c","kind":"tool_call","title":"T","class":"edit"} true`, "show")
		require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: id, Title: new("U")}))
		told(`report {"id":"call:r/1/c","kind":"tool_call","title":"U"} false`, "show")
		require.NoError(t, tracker.Complete(ctx, id, deps.TextContent("done")))
		told(`report {"id":"call:r/1/c","kind":"tool_call","status":"completed","content":[{"kind":"text","text":"done"}]} false`, "show")
		require.NoError(t, tracker.Fail(ctx, id, ""))
		told(`report {"id":"call:r/1/c","kind":"tool_call","status":"failed"} false`, "show")
		require.NoError(t, tracker.Fail(ctx, id, "why"))
		told(`report {"id":"call:r/1/c","kind":"tool_call","status":"failed","content":[{"kind":"text","text":"before"},{"kind":"text","text":"why"}]} false`, "show")

		text := func(text string) string {
			return `report {"id":"call:r/1/c","kind":"","content":[{"kind":"text","text":"before"},{"kind":"text","text":"` + text + `"}]} false`
		}
		require.NoError(t, tracker.Append(ctx, id, ""))
		told()
		require.NoError(t, tracker.Append(ctx, id, "one"))
		told(text("one"), "show")
		require.NoError(t, tracker.Append(ctx, id, "two"))
		require.NoError(t, tracker.Append(ctx, id, "3"))
		told()
		time.Sleep(100*time.Millisecond - 1)
		told()
		time.Sleep(time.Nanosecond)
		told(text(`[1 bytes omitted]\nnetwo3`), "show")
		time.Sleep(time.Hour)
		told()
		require.NoError(t, tracker.Append(ctx, id, "4"))
		told(text(`[2 bytes omitted]\netwo34`), "show")

		// A report takes the text along that has not been shown, unless it has content of its own.
		require.NoError(t, tracker.Append(ctx, id, "5"))
		require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: id, Title: new("V")}))
		told(strings.Replace(strings.Replace(text(`[3 bytes omitted]\ntwo345`), `"kind":""`, `"kind":"tool_call","title":"V"`, 1), "  ", " ", 1), "show")
		require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: id, Title: new("W")}))
		told(`report {"id":"call:r/1/c","kind":"tool_call","title":"W"} false`, "show")
		require.NoError(t, tracker.Append(ctx, id, "6"))
		require.NoError(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: id, Content: []acp.ToolCallContent{}}))
		told(`report {"id":"call:r/1/c","kind":"tool_call"} false`, "show")
		time.Sleep(time.Hour)
		told()

		// Text whose context has ended waits for the next report.
		ended, cancel := context.WithCancel(ctx)
		require.NoError(t, tracker.Append(ctx, id, "a"))
		require.NoError(t, tracker.Append(ended, id, "b"))
		cancel()
		told(text("a"), "show")
		time.Sleep(time.Second)
		told()
		require.NoError(t, tracker.Append(ctx, id, "c"))
		told(text("abc"), "show")

		// The end of a run shows the text that is left, and forgets the rest.
		require.NoError(t, tracker.Append(ctx, id, "d"))
		require.NoError(t, tracker.EndRun(ctx, "other"))
		told("end other", "show")
		require.NoError(t, tracker.EndRun(ctx, "r"))
		told(text("abcd"), "end r", "show")
		time.Sleep(time.Hour)
		told()
		require.NoError(t, tracker.Append(ctx, id, "e"))
		told(text("e"), "show")
		require.NoError(t, tracker.EndRun(ctx, "r"))
		told("end r", "show")

		// What is not known is an error, and what has ended is only shown.
		require.ErrorIs(t, tracker.Append(ctx, "none", "x"), deps.ErrUnknownToolCall)
		told()
		require.NoError(t, tracker.Append(ctx, "ended", "x"))
		told("show")
		because := errors.New("because")
		n.failed = because
		require.ErrorIs(t, tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: id}), because)
		told(`report {"id":"call:r/1/c","kind":"tool_call"} false`)
		require.ErrorIs(t, tracker.Append(ctx, id, "f"), because)
		told(text("f"))
		require.ErrorIs(t, tracker.EndRun(ctx, "r"), because)
		told("end r", "show")
		n.failed = nil

		// A snapshot has the text that has not been shown. Of a call that has ended, it is small.
		require.NoError(t, tracker.Append(ctx, id, "g"))
		require.NoError(t, tracker.Append(ctx, id, "h"))
		snapshot := func(id acp.ToolCallID) string {
			data, err := json.Marshal(tracker.Snapshot(id))
			require.NoError(t, err)
			return string(data)
		}
		require.JSONEq(t, `{"toolCallId":"r/1/c","title":"inner: T","status":"in_progress","rawInput":1,"rawOutput":2,"content":[{"type":"content","content":{"type":"text","text":"before"}},{"type":"content","content":{"type":"text","text":"gh"}}]}`, snapshot(id))
		require.JSONEq(t, `{"toolCallId":"ended","title":"inner: E","name":"n","kind":"read","status":"completed","locations":[{"path":"/a","line":3}]}`, snapshot("ended"))
		require.JSONEq(t, `{"toolCallId":"none"}`, snapshot("none"))
		require.Equal(t, shown, n.calls["call:r/1/c"].Content, "the call stays as it is")
	})
}

// Between two reports of text there is the shortest time that can be, if that was asked for.
func TestTextWaitsForANanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &noted{calls: map[string]*view.Entity{"call:c": {ID: "call:c", Kind: view.ToolCall, Status: view.Running}}}
		tracker := deps.NewTracker(nil, "s", &deps.TrackerOptions{Transcript: n, TextInterval: 1})
		require.NoError(t, tracker.Append(t.Context(), "c", "a"))
		require.Len(t, n.take(), 2)
		require.NoError(t, tracker.Append(t.Context(), "c", "b"))
		require.Empty(t, n.take())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, []string{`report {"id":"call:c","kind":"","content":[{"kind":"text","text":"ab"}]} false`, "show"}, n.take())
	})
}
