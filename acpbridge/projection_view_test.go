// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// shows returns what a client is sent when a tool emits changes of what the conversation shows.
func shows(t *testing.T, capabilities string, changes ...view.Change) []acp.SessionUpdate {
	t.Helper()
	emit := toolset.Raw("emit", "", json.RawMessage(`{"type":"object"}`), func(_ context.Context, run *toolset.RunContext[bare], _ json.RawMessage) (toolset.Result, error) {
		for _, c := range changes {
			run.Emit(c)
		}
		return toolset.Result{Text: "ok"}, nil
	})
	e := serve(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "emit", "{}")), modeltest.SayText("done")), emit))
	e.initialize(capabilities)
	id := e.newSession()
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	var all []acp.SessionUpdate
	for _, u := range e.updates(id) {
		if u.Plan != nil || u.Notice != nil || u.CompactionUpdate != nil || u.CompactionSummaryChunk != nil {
			all = append(all, u)
		}
	}
	return all
}

func upsert(e view.Entity) view.Change { return view.Change{Op: view.Upsert, ID: e.ID, Entity: &e} }

func TestPlansOfToolsAreShown(t *testing.T) {
	got := shows(t, "{}",
		upsert(view.Entity{ID: "plan", Kind: view.Plan, Steps: []view.Step{
			{Text: "Look", Status: view.Completed, Priority: "high"}, {Text: "Write\n\u202e", Status: view.Running}, {Text: "Rest", Status: "odd", Priority: "odd"},
		}}),
		upsert(view.Entity{ID: "m", Kind: view.Message, Role: view.User, Content: []view.Content{{Kind: view.Text, Text: "forged"}}}),
		view.Change{Op: view.Remove, ID: "plan"}, view.Change{},
		upsert(view.Entity{ID: "plan", Kind: view.Plan}))
	require.Len(t, got, 2)
	assert.Equal(t, []acp.PlanEntry{
		{Content: "Look", Status: acp.PlanEntryStatusCompleted, Priority: acp.PlanEntryPriorityHigh},
		{Content: "Write⟨LF⟩⟨U+202E⟩", Status: acp.PlanEntryStatusInProgress, Priority: acp.PlanEntryPriorityMedium},
		{Content: "Rest", Status: acp.PlanEntryStatusPending, Priority: acp.PlanEntryPriorityMedium},
	}, got[0].Plan.Entries)
	assert.Empty(t, got[1].Plan.Entries)
}

func TestNoticesAndCompactionsAreShownToClientsThatTakeThem(t *testing.T) {
	changes := []view.Change{
		upsert(view.Entity{ID: "n", Kind: view.Notice, Class: "warning", Title: "Nearly full\x1b"}), upsert(view.Entity{ID: "n", Kind: view.Notice, Class: "odd", Title: "Hm"}),
		upsert(view.Entity{ID: "c1", Kind: view.Compaction, Status: view.Running}),
		upsert(view.Entity{ID: "c1", Kind: view.Compaction, Status: view.Completed, Content: []view.Content{{Kind: view.Text, Text: "They said\nhello."}}}),
		upsert(view.Entity{ID: "c2", Kind: view.Compaction, Status: view.Failed, Title: "no model"}),
	}
	require.Empty(t, shows(t, "{}", changes...))
	got := shows(t, `{"session":{"notices":{},"compaction":{}}}`, changes...)
	require.Len(t, got, 6)
	assert.Equal(t, &acp.Notice{Severity: acp.NoticeSeverityWarning, Title: "Nearly full⟨ESC⟩"}, got[0].Notice)
	assert.Equal(t, acp.NoticeSeverityInfo, got[1].Notice.Severity)
	assert.Equal(t, &acp.CompactionUpdate{CompactionID: "c1", Status: acp.CompactionStatusInProgress}, got[2].CompactionUpdate)
	assert.Equal(t, &acp.CompactionSummaryChunk{CompactionID: "c1", Content: acp.TextBlock("They said\nhello.")}, got[3].CompactionSummaryChunk)
	assert.Equal(t, &acp.CompactionUpdate{CompactionID: "c1", Status: acp.CompactionStatusCompleted}, got[4].CompactionUpdate)
	assert.Equal(t, acp.Replace("no model"), got[5].CompactionUpdate.Error)

	alone := shows(t, `{"session":{"compaction":{}}}`, upsert(view.Entity{ID: "c", Kind: view.Compaction, Status: view.Completed, Content: []view.Content{{Kind: view.Text, Text: "All."}}}))
	require.Len(t, alone, 1)
	assert.Equal(t, []acp.ContentBlock{acp.TextBlock("All.")}, alone[0].CompactionUpdate.Summary, "one that was not announced")
}
