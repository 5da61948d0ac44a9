// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// TestWaitingAgentIsShownAsWaiting has an agent inside a call wait for a result from elsewhere, and the next prompt go on without it.
func TestWaitingAgentIsShownAsWaiting(t *testing.T) {
	const pending, running, failed = acp.ToolCallStatusPending, acp.ToolCallStatusInProgress, acp.ToolCallStatusFailed
	external := toolset.Func("elsewhere", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { panic("called") },
		func(o *toolset.Options) { o.External = true })
	inner := agent.Must(agent.New(agent.Config[bare, string]{Name: "clerk", Model: callsOnce("elsewhere"), Tools: []*toolset.Tool[bare]{external}}))
	outer := modeltest.Script(modeltest.Say(model.ToolCall("1", "ask_clerk", `{"prompt":"Act."}`)), modeltest.SayText("without it then"))
	e := serve(t, unstableConfig(t, newStore(), outer, agent.AsTool("ask_clerk", "", inner, same)))
	e.initialize(`{"subagents":{}}`)
	id := e.newSession()

	requireError(t, acp.CodeInternal, acpbridge.KindApproval, e.prompt(id, "a"))
	require.Equal(t, map[string]acp.ToolCallStatus{"ask_clerk": running, "clerk: elsewhere": pending}, callStatuses(e.updates(id)))
	require.Equal(t, []string{"running", "requires_action"}, agentStates(t, e.updates(id)))
	calls := slices.DeleteFunc(e.updates(id), func(u acp.SessionUpdate) bool { return u.ToolCall == nil && u.ToolCallUpdate == nil })
	require.Equal(t, "elsewhere", lastCall(t, calls).Name)
	require.Equal(t, view.Pending, lastCall(t, calls).Status, "what clients like the terminal show")
	told := len(e.updates(id))
	require.Nil(t, e.load(acp.MethodLoadSession, id).Error)
	require.Equal(t, map[string]acp.ToolCallStatus{"ask_clerk": running, "clerk: elsewhere": pending}, callStatuses(e.updates(id)[told:]))
	require.Equal(t, []string{"running", "requires_action"}, agentStates(t, e.updates(id)[told:]))

	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "b"))
	require.Equal(t, map[string]acp.ToolCallStatus{"ask_clerk": failed, "clerk: elsewhere": failed}, callStatuses(e.updates(id)))
	states := agentStates(t, e.updates(id))
	require.Equal(t, "idle", states[len(states)-1])
}

// callStatuses returns how far calls are, by their titles.
func callStatuses(updates []acp.SessionUpdate) map[string]acp.ToolCallStatus {
	titles, all := map[acp.ToolCallID]string{}, map[string]acp.ToolCallStatus{}
	for _, u := range updates {
		switch {
		case u.ToolCall != nil:
			titles[u.ToolCall.ToolCallID] = u.ToolCall.Title
			all[u.ToolCall.Title] = u.ToolCall.Status
		case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != "":
			all[titles[u.ToolCallUpdate.ToolCallID]] = u.ToolCallUpdate.Status
		}
	}
	return all
}

// agentStates returns what a client is told of the agent inside a call.
func agentStates(t *testing.T, updates []acp.SessionUpdate) (all []string) {
	t.Helper()
	own, _ := unstableOf(t, updates)
	for _, u := range own {
		switch s := u.SubagentUpdate; {
		case s == nil || s.State == nil:
		case s.State.Running != nil:
			all = append(all, "running")
		case s.State.RequiresAction != nil:
			all = append(all, "requires_action")
		case s.State.Idle != nil:
			all = append(all, "idle")
		}
	}
	return all
}

// TestCallThatWaitedInAnotherProcessEndsForTheClient loads a session whose call waits since another process, and goes on without an answer.
func TestCallThatWaitedInAnotherProcessEndsForTheClient(t *testing.T) {
	external := toolset.Func("elsewhere", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { panic("called") },
		func(o *toolset.Options) { o.External = true })
	store := newStore()
	e, id := start(t, stored(t, store, callsOnce("elsewhere"), external))
	requireError(t, acp.CodeInternal, acpbridge.KindApproval, e.prompt(id, "a"))
	require.NoError(t, e.stop())

	e = serve(t, stored(t, store, modeltest.Script(modeltest.SayText("without it then")), external))
	e.initialize(`{}`)
	require.Nil(t, e.load(acp.MethodLoadSession, id).Error)
	require.Equal(t, map[string]acp.ToolCallStatus{"elsewhere": acp.ToolCallStatusPending}, callStatuses(e.updates(id)))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "b"))
	require.Equal(t, map[string]acp.ToolCallStatus{"elsewhere": acp.ToolCallStatusFailed}, callStatuses(e.updates(id)))
	require.NoError(t, e.stop())
}
