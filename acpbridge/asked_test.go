// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// allowing answers the next question about permission with an option.
func (e *editor) allowing(seen int, option string) int {
	e.t.Helper()
	n := 0
	asked := e.await(func(l wireLine) bool {
		if l.Method != acp.MethodRequestPermission {
			return false
		}
		n++
		return n > seen
	})
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`+"\n", asked.ID, option))
	return n
}

// lastCall returns the last tool call that a client shows of updates.
func lastCall(t *testing.T, updates []acp.SessionUpdate) *view.Entity {
	t.Helper()
	var f acpclient.Fold
	for _, u := range updates {
		require.NoError(t, f.Apply(&u))
	}
	return f.View().Snapshot().Last(view.ToolCall)
}

func textsOf(e *view.Entity) (all []string) {
	for _, c := range e.Content {
		all = append(all, c.Text)
	}
	return all
}

// guarded is a tool that needs approval, with a preview that is a text.
func guarded() *toolset.Tool[bare] {
	return tool("look", func(context.Context, *toolset.RunContext[bare]) (string, error) { return "21 degrees", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[bare], none) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Look outside", Preview: []toolset.Preview{{Text: "look {}"}}}, nil
		}))
}

func TestApprovedCallShowsItsResult(t *testing.T) {
	store := newStore()
	look := guarded()
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "look", "{}")), modeltest.SayText("Warm."),
		modeltest.Say(model.ToolCall("1", "look", "{}")), modeltest.SayText("Warm."),
		modeltest.Say(model.ToolCall("1", "look", "{}")), modeltest.SayText("No."))
	e, id := start(t, stored(t, store, m, look))
	turn := e.sendPrompt(id, "go")
	e.allowing(0, "allow_always")
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	require.Equal(t, []string{"21 degrees"}, textsOf(lastCall(t, e.updates(id))), "and not the preview")
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "again"))
	texts := textsOf(lastCall(t, e.updates(id)))
	require.Len(t, texts, 2)
	require.Equal(t, "21 degrees", texts[0])
	require.Contains(t, texts[1], "Allowed by: ", "nobody was asked")
	live := e.updates(id)
	require.NoError(t, e.stop())

	again := serve(t, stored(t, store, modeltest.Script(), look))
	again.initialize(`{}`)
	require.Nil(t, again.load(acp.MethodLoadSession, id).Error)
	require.Equal(t, lastCall(t, live), lastCall(t, again.updates(id)))
}

func TestRejectedCallShowsWhatWasAskedFor(t *testing.T) {
	look := guarded()
	e, id := start(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "look", "{}")), modeltest.SayText("No.")), look))
	turn := e.sendPrompt(id, "go")
	e.allowing(0, "reject_once")
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	texts := textsOf(lastCall(t, e.updates(id)))
	require.Contains(t, texts[0], "look {}")
	require.Contains(t, texts[1], "rejected")
}

func TestAnsweredQuestionGivesWayToTheResult(t *testing.T) {
	var told string
	e, id := start(t, asking(t, toolset.Question{Message: "Which colour?", Schema: json.RawMessage(colourForm)}, &told))
	turn := e.sendPrompt(id, "go")
	e.allowing(0, "choice-1")
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	require.Equal(t, []string{`accept {"colour":"g"}`}, textsOf(lastCall(t, e.updates(id))))
}
