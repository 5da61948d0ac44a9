// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// unstableOf returns the updates of a session that are not stable, and how many plans of the stable kind there are.
func unstableOf(t *testing.T, updates []acp.SessionUpdate) (all []unstable.SessionUpdate, plans int) {
	t.Helper()
	for i := range updates {
		u, err := unstable.UpdateOf(&updates[i])
		require.NoError(t, err)
		if u != nil {
			require.Nil(t, u.Unknown, string(u.Unknown))
			all = append(all, *u)
		}
		if updates[i].Plan != nil {
			plans++
		}
	}
	return all, plans
}

func TestSubagentsAreAnnounced(t *testing.T) {
	store := newStore()
	inner := agent.Must(agent.New(agent.Config[bare, string]{Name: "guide", Tools: []*toolset.Tool[bare]{forecast()}, Model: modeltest.Script(
		modeltest.Say(model.ToolCall("1", "forecast", `{"city":"Oslo"}`)), modeltest.SayText("Warm."))}))
	conf := func(t *testing.T, m model.Model) *editor {
		return serve(t, unstableConfig(t, store, m, agent.AsTool("ask_guide", "", inner, same)))
	}
	e := conf(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "ask_guide", `{"prompt":"Weather?"}`)), modeltest.SayText("It is warm.")))
	e.initialize(`{"subagents":{}}`)
	id := e.newSession()
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	live, _ := unstableOf(t, e.updates(id))
	require.Len(t, live, 6)
	child := live[0].SubagentUpdate.SessionID
	require.Equal(t, "guide", *live[0].SubagentUpdate.Title)
	require.NotNil(t, live[0].SubagentUpdate.State.Running)
	require.Nil(t, live[0].SubagentUpdate.Capabilities, "only the agent talks to it")
	require.Equal(t, child, live[1].SessionMessage.RecipientSessionID)
	require.Equal(t, acp.TextBlock("Weather?"), live[2].SessionMessageChunk.Content)
	require.Equal(t, live[1].SessionMessage.MessageID, live[2].SessionMessageChunk.MessageID)
	require.Equal(t, child, live[3].SubagentUpdate.SessionID)
	require.Equal(t, "end_turn", *live[3].SubagentUpdate.State.Idle.StopReason)
	require.Equal(t, child, live[4].SessionMessage.SenderSessionID)
	require.Equal(t, acp.TextBlock("Warm."), live[5].SessionMessageChunk.Content)
	require.NoError(t, e.stop())

	again := conf(t, modeltest.Script())
	again.initialize(`{"subagents":{}}`)
	require.Nil(t, again.load(acp.MethodLoadSession, id).Error)
	replayed, _ := unstableOf(t, again.updates(id))
	require.Equal(t, live, replayed)
	require.Equal(t, acp.CodeResourceNotFound, again.prompt(child, "hello").Error.Code)

	simple := conf(t, modeltest.Script())
	simple.initialize(`{}`)
	require.NoError(t, again.stop())
	require.Nil(t, simple.load(acp.MethodLoadSession, id).Error)
	none, _ := unstableOf(t, simple.updates(id))
	require.Empty(t, none, "a client that has not announced them")
}

func TestSeveralPlans(t *testing.T) {
	store := newStore()
	planner := tool("plans", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
		step := []view.Step{{Text: "Look"}}
		run.Emit(upsert(view.Entity{ID: "plan", Kind: view.Plan, Steps: step}))
		run.Emit(upsert(view.Entity{ID: "b", Kind: view.Plan, Steps: step}))
		run.Emit(view.Change{Op: view.Remove, ID: "b", Entity: &view.Entity{ID: "b", Kind: view.Plan}})
		run.Emit(acp.SessionUpdate{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: "Own", Status: acp.PlanEntryStatusPending, Priority: acp.PlanEntryPriorityLow}}}})
		return "", nil
	})
	e := serve(t, unstableConfig(t, store, modeltest.Script(modeltest.Say(model.ToolCall("1", "plans", `{}`)), modeltest.SayText("ok")), planner))
	e.initialize(`{"plan":{}}`)
	id := e.newSession()
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	got, plans := unstableOf(t, e.updates(id))
	require.Zero(t, plans)
	require.Len(t, got, 4)
	require.EqualValues(t, "plan", got[0].PlanUpdate.Plan.Items.PlanID)
	require.Equal(t, "Look", got[0].PlanUpdate.Plan.Items.Entries[0].Content)
	require.EqualValues(t, "b", got[1].PlanUpdate.Plan.Items.PlanID)
	require.EqualValues(t, "b", got[2].PlanRemoved.PlanID)
	require.Equal(t, "Own", got[3].PlanUpdate.Plan.Items.Entries[0].Content)
	require.NoError(t, e.stop())

	again := serve(t, unstableConfig(t, store, modeltest.Script(), planner))
	again.initialize(`{"plan":{}}`)
	require.Nil(t, again.load(acp.MethodLoadSession, id).Error)
	got, _ = unstableOf(t, again.updates(id))
	require.Len(t, got, 1)
	require.Equal(t, "Own", got[0].PlanUpdate.Plan.Items.Entries[0].Content)
}
