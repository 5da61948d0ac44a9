// SPDX-License-Identifier: Apache-2.0

package capability_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/view"
)

// What the model is told of a plan, and what people are shown of it.
func TestPlansAreToldAndShown(t *testing.T) {
	x := strings.Repeat("x", capability.MaxPlanText)
	for args, c := range map[string]struct {
		told string
		want []view.Step
	}{
		`{"plan":[]}`: {"Plan updated: 0 of 0 steps completed.", []view.Step{}},
		`{"plan":[{"step":"Look.","status":"completed","priority":"high"},{"step":"Do it..","status":"in_progress"},{"step":"More","status":"in_progress","priority":"low"},{"step":"Later","status":"pending"}]}`: {
			"Plan updated: 1 of 4 steps completed. In progress: Do it.", []view.Step{
				{Text: "Look.", Status: view.Completed, Priority: "high"}, {Text: "Do it..", Status: view.Running, Priority: "medium"}, {Text: "More", Status: view.Running, Priority: "low"}, {Text: "Later", Status: view.Pending, Priority: "medium"},
			}},
		`{"plan":[{"step":"` + x + `","status":"completed"}]}`: {"Plan updated: 1 of 1 steps completed.", []view.Step{{Text: x, Status: view.Completed, Priority: "medium"}}},
	} {
		script := modeltest.Script(modeltest.Say(model.ToolCall("1", capability.ToolUpdatePlan, args)), modeltest.SayText("done"))
		a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: script, Capabilities: []agent.Capability[struct{}]{capability.Plan[struct{}]()}}))
		s := a.Stream(t.Context(), struct{}{}, "go")
		var shown *view.Entity
		for e := range s.Events() {
			if change, ok := e.Value.(view.Change); ok {
				require.Equal(t, view.Upsert, change.Op)
				require.Equal(t, capability.PlanEntityID, change.ID)
				shown = change.Entity
			}
		}
		res, err := s.Result()
		require.NoError(t, err)
		require.Equal(t, c.told, res.Messages[2].Parts[0].Text)
		require.Equal(t, &view.Entity{ID: "plan", Kind: view.Plan, Steps: c.want}, shown)
		var meta []view.Step
		require.NoError(t, json.Unmarshal(res.Messages[2].Parts[0].Meta, &meta))
		require.Equal(t, c.want, meta)
		require.Equal(t, c.want, capability.PlanOf(res.Messages))
		require.Contains(t, script.Requests()[0].Instructions, "Use update_plan to show the user your plan when a task takes several steps.")
	}
	require.Nil(t, capability.PlanOf(nil))
}
