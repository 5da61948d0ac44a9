// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// pieces returns the pieces of messages and thoughts among updates, without those of the model.
func pieces(updates []acp.SessionUpdate) (all []string) {
	for _, u := range updates {
		kind, c := "message", u.AgentMessageChunk
		if u.AgentThoughtChunk != nil {
			kind, c = "thought", u.AgentThoughtChunk
		}
		switch {
		case c == nil:
		case c.Content.Text != nil && c.Content.Text.Text != "Done.":
			all = append(all, kind+": "+c.Content.Text.Text)
		case c.Content.Image != nil:
			all = append(all, kind+" with an image")
		}
	}
	return all
}

// What a tool says under one id is one message, with images in their places, and a thought beside
// it. Who loads the session gets each text as a whole.
func TestPiecesOfAToolAreOneMessage(t *testing.T) {
	store := newStore()
	say := func(id acp.MessageID, content acp.ContentBlock) *acp.ContentChunk {
		return &acp.ContentChunk{MessageID: id, Content: content}
	}
	image := acp.ContentBlock{Image: &acp.ImageContent{Data: "aGk=", MIMEType: "image/png"}}
	tell := tool("tell", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
		run.Emit(acp.SessionUpdate{AgentMessageChunk: say("m", acp.TextBlock("I am "))})
		run.Emit(acp.SessionUpdate{AgentThoughtChunk: say("m", acp.TextBlock("Is "))})
		run.Emit(acp.SessionUpdate{AgentMessageChunk: say("m", acp.TextBlock("looking."))})
		run.Emit(acp.SessionUpdate{AgentMessageChunk: say("m", image)})
		run.Emit(acp.SessionUpdate{AgentMessageChunk: say("m", acp.TextBlock("There."))})
		run.Emit(acp.SessionUpdate{AgentThoughtChunk: say("m", acp.TextBlock("it?"))})
		run.Emit(acp.SessionUpdate{AgentMessageChunk: say("other", acp.TextBlock("Apart."))})
		return "told", nil
	})
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("a", "tell", `{}`)), modeltest.SayText("Done."))
	e, id := start(t, stored(t, store, m, tell))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "Go"))
	require.NoError(t, e.stop())
	require.Equal(t, []string{
		"message: I am ", "thought: Is ", "message: looking.", "message with an image", "message: There.",
		"thought: it?", "message: Apart.",
	}, pieces(e.updates(id)))
	again := serve(t, stored(t, store, modeltest.Script(), tell))
	again.initialize(`{}`)
	require.Nil(t, again.load(acp.MethodLoadSession, id).Error)
	require.Equal(t, []string{
		"message: I am looking.", "message with an image", "message: There.", "thought: Is it?",
		"message: Apart.",
	}, pieces(again.updates(id)))
}

// Dependencies that are kept longer than their turn show nothing any more, but what is about the
// session as a whole. In a turn, calls have to be begun before they change.
func TestKeptDependenciesShowNothingAfterTheirTurn(t *testing.T) {
	var kept bare
	keep := tool("keep", func(ctx context.Context, run *toolset.RunContext[bare]) (string, error) {
		kept = run.Deps
		require.ErrorIs(t, kept.Tracker.Update(ctx, acp.ToolCallUpdate{
			ToolCallID: "own", Status: acp.ToolCallStatusCompleted,
		}), deps.ErrUnknownToolCall)
		require.NoError(t, kept.Tracker.Start(ctx, acp.ToolCall{ToolCallID: "own", Title: "Mine"}))
		require.NoError(t, kept.Tracker.Update(ctx, acp.ToolCallUpdate{
			ToolCallID: "own", Status: acp.ToolCallStatusInProgress,
		}))
		require.Equal(t, "Mine", *kept.Tracker.Snapshot("own").Title)
		return "kept", nil
	})
	e, id := start(t, config(t, callsOnce("keep"), keep))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "Go"))
	before := len(e.updates(id))

	ctx := t.Context()
	update := func(u acp.SessionUpdate) error {
		return kept.Client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: id, Update: u})
	}
	for what, err := range map[string]error{
		"a call":    kept.Tracker.Start(ctx, acp.ToolCall{ToolCallID: "late", Title: "Late"}),
		"an update": kept.Tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: "own", Title: new("Late")}),
		"a message": update(acp.TextChunk("late")),
		"a plan":    update(acp.SessionUpdate{Plan: &acp.Plan{}}),
		"the end":   kept.Tracker.EndRun(ctx, "run"),
	} {
		require.ErrorIs(t, err, acp.ErrAnswered, what)
		require.EqualError(t, err, "acpbridge: no turn of the session is running", what)
	}
	require.Equal(t, acp.ToolCallUpdate{ToolCallID: "own"}, kept.Tracker.Snapshot("own"))
	require.Len(t, e.updates(id), before)
	require.NoError(t, update(acp.SessionUpdate{
		SessionInfoUpdate: &acp.SessionInfoUpdate{Title: acp.Replace("later")},
	}))
	e.awaitUpdate(func(u *acp.SessionUpdate) bool {
		return u.SessionInfoUpdate != nil && u.SessionInfoUpdate.Title == acp.Replace("later")
	})

	require.Nil(t, e.about(acp.MethodCloseSession, id, "").Error)
	require.EqualError(t, update(acp.SessionUpdate{
		SessionInfoUpdate: &acp.SessionInfoUpdate{Title: acp.Replace("closed")},
	}), "acpbridge: the session has been closed")
	require.NotContains(t, wireText(e.all()), "closed")
	require.NoError(t, e.stop())
}
