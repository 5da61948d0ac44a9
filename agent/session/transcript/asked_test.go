// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// What was shown with a call because of a question gives way to the result. What the tool shows itself
// stays, also if it says the same later, and so does everything beside a diff.
func TestResultsTakeThePlaceOfWhatWasShownForAQuestion(t *testing.T) {
	text := func(all ...string) (content []view.Content) {
		for _, s := range all {
			content = append(content, view.Content{Kind: view.Text, Text: s})
		}
		return content
	}
	diff := view.Content{Kind: view.Diff, Diff: &view.FileChange{Path: "/a", New: "b"}}
	call := transcript.CallID("r", 1, "c")
	shows := func(content ...view.Content) *view.Entity {
		return &view.Entity{ID: call, Kind: view.ToolCall, Content: content}
	}
	asks := func(status view.Status) *view.Entity {
		return &view.Entity{ID: "question:r/1/c", Kind: view.Question, Parent: call, Status: status}
	}
	open, over := asks(view.Pending), asks(view.Completed)
	for _, c := range []struct {
		name    string
		reports []*view.Entity
		want    []view.Content
	}{
		{"nothing", nil, text("done")},
		{"a question without a preview", []*view.Entity{open, over}, text("done")},
		{"a preview", []*view.Entity{open, shows(text("preview")...), over}, text("done")},
		{"two previews", []*view.Entity{open, shows(text("one")...), shows(text("two")...), over}, text("done")},
		{"a preview of two", []*view.Entity{open, shows(text("one", "two")...), over}, text("done")},
		{"a preview, while the question is open", []*view.Entity{open, shows(text("preview")...)}, text("done")},
		{"its own", []*view.Entity{shows(text("own")...)}, text("own")},
		{"its own before the question", []*view.Entity{shows(text("own")...), open, over}, text("own")},
		{"its own, which the preview has too", []*view.Entity{shows(text("own")...), open, shows(text("own", "preview")...), over}, text("own", "preview")},
		{"its own behind the question", []*view.Entity{open, shows(text("preview")...), over, shows(text("own")...)}, text("own")},
		{"a preview that it shows again", []*view.Entity{open, shows(text("preview")...), over, shows(text("own")...), shows(text("preview")...)}, text("preview")},
		{"the same preview in two questions", []*view.Entity{open, shows(text("preview")...), over, open, shows(text("preview")...), over}, text("done")},
		{"a preview that is a diff", []*view.Entity{open, shows(diff), over}, []view.Content{diff}},
		{"a preview with a diff", []*view.Entity{open, shows(append(text("preview"), diff)...), over}, append(text("preview"), diff)},
		{"a preview with a picture", []*view.Entity{open, shows(append(text("preview"), view.Content{Kind: view.Image})...), over}, append(text("preview"), view.Content{Kind: view.Image})},
	} {
		p := transcript.New("s", transcript.Options{})
		p.Start("r")
		for _, e := range []agent.Event{
			{Kind: agent.EventRequestStart, Step: 1},
			{Kind: agent.EventResponse, Step: 1, Message: model.Response(model.ToolCall("c", "pay", "{}"))},
			{Kind: agent.EventToolCall, Step: 1, CallID: "c", Tool: "pay"},
		} {
			p.Event(&e)
		}
		for _, e := range c.reports {
			p.Report(e)
		}
		result := model.ToolReturn("c", "pay", "done")
		p.Event(&agent.Event{Kind: agent.EventToolResult, Step: 1, CallID: "c", Tool: "pay", Result: &result})
		require.Equal(t, c.want, p.Fold().Get(call).Content, c.name)
	}
}

// Who follows without a store has an empty conversation and an error that says why.
func TestFollowingNeedsAStore(t *testing.T) {
	c, err := transcript.Follow(t.Context(), nil, "s", transcript.Options{First: []*view.Entity{{ID: "x", Kind: view.Session, Title: "T"}}})
	require.EqualError(t, err, "session: follow s: "+session.ErrInvalid.Error()+": the store is nil")
	require.Equal(t, "T", c.Fold().Get("x").Title)
	require.Zero(t, c.Taken())
	require.Empty(t, c.Going())
	p, err := transcript.Read(t.Context(), nil, "s", transcript.Options{First: []*view.Entity{{ID: "x", Kind: view.Session, Title: "T"}}})
	require.EqualError(t, err, "session: read s: "+session.ErrInvalid.Error()+": the store is nil")
	require.Equal(t, "T", p.Fold().Get("x").Title)
	turns, err := transcript.Past(t.Context(), nil, "s")
	require.EqualError(t, err, "session: read s: "+session.ErrInvalid.Error())
	require.Nil(t, turns)
}
