// SPDX-License-Identifier: Apache-2.0

package capability

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
)

// ToolUpdatePlan is the name of the tool.
const ToolUpdatePlan = "update_plan"

// PlanEntityID is the id of the plan among what a conversation shows.
const PlanEntityID = "plan"

// Limits of a plan.
const (
	MaxPlanSteps = 50
	// MaxPlanText bounds the text of a step, in bytes. Longer text is cut.
	MaxPlanText = 500
)

const planInstructions = "Use " + ToolUpdatePlan + " to show the user your plan when a task takes several steps. Send the whole plan each time. Mark a step in_progress before you begin it and completed as soon as it is done. Do not plan simple tasks."

const planDescription = "Show the user the plan for the current task: all steps, in order, with the status of each. It replaces the plan shown before."

type planArgs struct {
	Explanation string     `json:"explanation,omitempty" jsonschema_description:"Why the plan has changed." validate:"max=4000"`
	Plan        []planStep `json:"plan" jsonschema_description:"All steps, in order." validate:"max=50,dive"`
}

type planStep struct {
	Step     string `json:"step" jsonschema_description:"The step, in a few words." validate:"required,max=4000"`
	Status   string `json:"status" validate:"required,oneof=pending in_progress completed"`
	Priority string `json:"priority,omitempty" jsonschema_description:"Default: medium." validate:"omitempty,oneof=high medium low"`
}

// Plan returns the capability.
func Plan[D any]() agent.Capability[D] {
	return agent.Capability[D]{
		Name:         "plan",
		Instructions: planInstructions,
		Tools: []*toolset.Tool[D]{toolset.Func(ToolUpdatePlan, planDescription, updatePlan[D],
			toolset.Sequential(), // of several plans of a response, the last one is shown and kept
			toolset.OfKind(toolset.KindThink, "Update plan"))},
	}
}

func updatePlan[D any](_ context.Context, run *toolset.RunContext[D], in planArgs) (toolset.Result, error) {
	steps := in.steps()
	run.Emit(view.Change{Op: view.Upsert, ID: PlanEntityID, Entity: &view.Entity{ID: PlanEntityID, Kind: view.Plan, Steps: steps}})
	done, now := 0, ""
	for _, s := range steps {
		switch s.Status {
		case view.Completed:
			done++
		case view.Running:
			if now == "" {
				now = s.Text
			}
		}
	}
	text := fmt.Sprintf("Plan updated: %d of %d steps completed.", done, len(steps))
	if now != "" {
		text += " In progress: " + strings.TrimRight(now, ".") + "."
	}
	meta, err := json.Marshal(steps)
	return toolset.Result{Text: text, Meta: meta, Keep: "plan"}, err
}

func (in *planArgs) steps() []view.Step {
	steps := make([]view.Step, len(in.Plan))
	for i, s := range in.Plan {
		steps[i] = view.Step{Text: clean.Short(s.Step, MaxPlanText), Status: view.Status(s.Status), Priority: s.Priority}
		if s.Priority == "" {
			steps[i].Priority = "medium"
		}
	}
	return steps
}

// PlanOf returns the plan of a conversation, from the last successful call of update_plan. It is
// nil if there is none.
func PlanOf(messages []*model.Message) []view.Step {
	var steps []view.Step
	for _, p := range model.Kept(messages, ToolUpdatePlan) {
		_ = json.Unmarshal(p.Meta, &steps) // another tool of that name has no plan
	}
	return steps
}
