// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// same is how an inner agent gets the dependencies of the outer one.
func same(d bare) bare { return d }

// The calls of agents inside others, and the questions about them, are shown in the editor with the agent's name.
func TestCallsOfInnerAgentsAreShownAsTheirs(t *testing.T) {
	act := toolset.Func("act", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { return "done it", nil },
		toolset.OfKind(toolset.KindExecute, "Act"),
		toolset.Approve(func(context.Context, *toolset.RunContext[bare], none) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Act now"}, nil
		}))
	innermost := agent.Must(agent.New(agent.Config[bare, string]{Name: "worker", Tools: []*toolset.Tool[bare]{act}, Model: modeltest.Script(
		modeltest.Say(model.ToolCall("1", "act", "{}")), modeltest.SayText("acted"))}))
	middle := agent.Must(agent.New(agent.Config[bare, string]{Name: "lead", Tools: []*toolset.Tool[bare]{agent.AsTool("delegate", "", innermost, same)}, Model: modeltest.Script(
		modeltest.Say(model.ToolCall("1", "delegate", `{"prompt":"Act."}`)), modeltest.SayText("delegated"))}))
	outer := modeltest.Script(modeltest.Say(model.ToolCall("1", "ask_lead", `{"prompt":"Act."}`)), modeltest.SayText("ok"))

	e, id := start(t, config(t, outer, agent.AsTool("ask_lead", "", middle, same)))
	turn := e.sendPrompt(id, "go")
	asked := e.await(func(l wireLine) bool { return l.Method == acp.MethodRequestPermission })
	var question struct{ Params acp.RequestPermissionRequest }
	require.NoError(t, json.Unmarshal([]byte(asked.Text), &question))
	require.Equal(t, "worker: Act now", *question.Params.ToolCall.Title)
	require.Equal(t, acp.ToolCallStatusPending, question.Params.ToolCall.Status)
	e.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}` + "\n")
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))

	titles, states := map[acp.ToolCallID]string{}, map[string][]acp.ToolCallStatus{}
	for _, u := range e.updates(id) {
		switch {
		case u.ToolCall != nil:
			titles[u.ToolCall.ToolCallID] = u.ToolCall.Title
			states[u.ToolCall.Title] = []acp.ToolCallStatus{u.ToolCall.Status}
		case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != "":
			title := titles[u.ToolCallUpdate.ToolCallID]
			states[title] = append(states[title], u.ToolCallUpdate.Status)
		}
	}
	asks := []acp.ToolCallStatus{acp.ToolCallStatusPending, acp.ToolCallStatusInProgress, acp.ToolCallStatusCompleted}
	require.Equal(t, map[string][]acp.ToolCallStatus{"ask_lead": asks[1:], "lead: delegate": asks[1:], "worker: Act now": asks}, states)
}

// A call that waits for a barrier, or for permission, is pending, whatever its name is.
func TestCallsThatWaitAreShownAsPending(t *testing.T) {
	release := make(chan struct{})
	first := toolset.Func("first", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) {
		<-release
		return "", nil
	}, toolset.Sequential())
	second := toolset.Func(workspace.ToolRunCommand, "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { return "", nil })
	third := toolset.Func("third", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { return "", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[bare], none) (*toolset.Approval, error) {
			return &toolset.Approval{}, nil
		}))
	e, id := start(t, config(t, modeltest.Script(
		modeltest.Say(model.ToolCall("1", "first", "{}"), model.ToolCall("2", workspace.ToolRunCommand, "{}"), model.ToolCall("3", "third", "{}")),
		modeltest.SayText("ok")), first, second, third))
	states := func() map[acp.ToolCallID]acp.ToolCallStatus {
		all := map[acp.ToolCallID]acp.ToolCallStatus{}
		for _, u := range e.updates(id) {
			switch {
			case u.ToolCall != nil:
				all[u.ToolCall.ToolCallID[len(u.ToolCall.ToolCallID)-1:]] = u.ToolCall.Status
			case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != "":
				all[u.ToolCallUpdate.ToolCallID[len(u.ToolCallUpdate.ToolCallID)-1:]] = u.ToolCallUpdate.Status
			}
		}
		return all
	}
	const pending, running, completed = acp.ToolCallStatusPending, acp.ToolCallStatusInProgress, acp.ToolCallStatusCompleted
	turn := e.sendPrompt(id, "go")
	e.awaitUpdate(func(u *acp.SessionUpdate) bool {
		return u.ToolCall != nil && strings.HasSuffix(string(u.ToolCall.ToolCallID), "/3")
	})
	require.Equal(t, map[acp.ToolCallID]acp.ToolCallStatus{"1": running, "2": pending, "3": pending}, states())
	close(release)
	asked := e.await(func(l wireLine) bool { return l.Method == acp.MethodRequestPermission })
	require.Equal(t, map[acp.ToolCallID]acp.ToolCallStatus{"1": completed, "2": completed, "3": pending}, states())
	e.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}` + "\n")
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	require.Equal(t, map[acp.ToolCallID]acp.ToolCallStatus{"1": completed, "2": completed, "3": completed}, states())
}

// A client whose answer to the question is malformed has refused.
func TestMalformedAnswerToAQuestionIsARefusal(t *testing.T) {
	for _, answer := range []string{`{"jsonrpc":"2.0","id":ID}`, `{"jsonrpc":"2.0","id":ID,"error":null}`, "{\"id\":ID,\"result\":\"\x01\"}", `{"jsonrpc":"2.0","id":ID,"result":{}}`, `{"id":99,"result":{}}`} {
		ran := false
		act := toolset.Func("act", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { ran = true; return "", nil },
			toolset.Approve(func(context.Context, *toolset.RunContext[bare], none) (*toolset.Approval, error) {
				return &toolset.Approval{}, nil
			}))
		e, id := start(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "act", "{}")), modeltest.SayText("ok")), act))
		turn := e.sendPrompt(id, "go")
		asked := e.await(func(l wireLine) bool { return l.Method == acp.MethodRequestPermission })
		e.write(strings.ReplaceAll(answer, "ID", string(asked.ID)) + "\n")
		requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
		require.False(t, ran)
	}
}
