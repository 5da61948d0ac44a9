// SPDX-License-Identifier: Apache-2.0

package capability_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

type noDeps = struct{}

func updatePlan(steps string) modeltest.Step {
	return modeltest.Say(model.ToolCall("1", capability.ToolUpdatePlan, `{"plan":[`+steps+`]}`))
}

// run returns the changes of what is shown, the texts that the model was told, and the history.
func runPlan(t *testing.T, history []*model.Message, steps ...modeltest.Step) (changes []view.Change, told []string, messages []*model.Message) {
	t.Helper()
	a := agent.Must(agent.New(agent.Config[noDeps, string]{
		Model: modeltest.Script(append(steps, modeltest.SayText("done"))...), Capabilities: []agent.Capability[noDeps]{capability.Plan[noDeps]()},
	}))
	s := a.Stream(t.Context(), noDeps{}, "go", agent.WithHistory(history))
	for e := range s.Events() {
		if c, ok := e.Value.(view.Change); ok && e.Kind == agent.EventCustom {
			changes = append(changes, c)
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	for _, m := range res.NewMessages() {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				told = append(told, p.Text)
			}
		}
	}
	return changes, told, res.Messages
}

func TestPlanIsShown(t *testing.T) {
	changes, told, _ := runPlan(t, nil,
		updatePlan(`{"step":"Look","status":"in_progress"},{"step":"Write.","status":"pending","priority":"high"}`),
		updatePlan(`{"step":"Look","status":"completed"},{"step":"Write.","status":"in_progress","priority":"high"}`),
		updatePlan(``))
	require.Equal(t, []string{
		"Plan updated: 0 of 2 steps completed. In progress: Look.", "Plan updated: 1 of 2 steps completed. In progress: Write.",
		"Plan updated: 0 of 0 steps completed.",
	}, told)
	require.Len(t, changes, 3)
	var f view.Fold
	for _, c := range changes[:2] {
		require.NoError(t, f.Apply(c))
	}
	require.Equal(t, []view.Step{{Text: "Look", Status: view.Completed, Priority: "medium"}, {Text: "Write.", Status: view.Running, Priority: "high"}},
		f.Snapshot().Last(view.Plan).Steps)
	require.NoError(t, f.Apply(changes[2]))
	require.Empty(t, f.Get(capability.PlanEntityID).Steps)
}

func TestPlansAreBounded(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"step":"x","status":"pending"},`, capability.MaxPlanSteps+1), ",")
	changes, told, _ := runPlan(t, nil, updatePlan(many))
	require.Empty(t, changes)
	require.Contains(t, told[0], "plan")
	for _, bad := range []string{`{"step":"","status":"pending"}`, `{"step":"x","status":"blocked"}`, `{"step":"x"}`, `{"step":"x","status":"pending","priority":"now"}`} {
		changes, told, _ = runPlan(t, nil, updatePlan(bad))
		require.Empty(t, changes)
		require.NotContains(t, told[0], "Plan updated")
	}
	changes, _, _ = runPlan(t, nil, updatePlan(`{"step":"one\ntwo\u202e `+strings.Repeat("x", 1000)+`","status":"pending"}`))
	text := changes[0].Entity.Steps[0].Text
	require.LessOrEqual(t, len(text), capability.MaxPlanText)
	require.True(t, strings.HasPrefix(text, "one two⟨U+202E⟩ xxx"))
}

func TestPlanIsInTheHistory(t *testing.T) {
	require.Nil(t, capability.PlanOf(nil))
	_, _, messages := runPlan(t, nil, updatePlan(`{"step":"Look","status":"pending"}`), updatePlan(`{"step":"x"}`))
	want := []view.Step{{Text: "Look", Status: view.Pending, Priority: "medium"}}
	require.Equal(t, want, capability.PlanOf(messages), "a plan that was refused does not count")
	_, _, messages = runPlan(t, messages, updatePlan(`{"step":"Next","status":"pending"}`))
	require.Equal(t, "Next", capability.PlanOf(messages)[0].Text)
}

func TestPlanOfAnInnerAgentIsNested(t *testing.T) {
	inner := agent.Must(agent.New(agent.Config[noDeps, string]{
		Name: "inner", Model: modeltest.Script(updatePlan(`{"step":"Look","status":"pending"}`), modeltest.SayText("done")), Capabilities: []agent.Capability[noDeps]{capability.Plan[noDeps]()},
	}))
	outer := agent.Must(agent.New(agent.Config[noDeps, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"go"}`)), modeltest.SayText("done")),
		Tools: []*toolset.Tool[noDeps]{agent.AsTool("inner", "", inner, func(noDeps) noDeps { return noDeps{} })},
	}))
	s, plans := outer.Stream(t.Context(), noDeps{}, "go"), 0
	for e := range s.Events() {
		if _, ok := e.Value.(view.Change); ok {
			t.Error("the plan of the inner agent is shown as that of the outer one")
		}
		if n, ok := e.Value.(agent.Nested); ok {
			if _, ok := n.Event.Value.(view.Change); ok {
				plans++
			}
		}
	}
	require.Equal(t, 1, plans)
}

func ExamplePlan() {
	a := agent.Must(agent.New(agent.Config[noDeps, string]{
		Model: modeltest.Script(
			modeltest.Say(model.ToolCall("1", "update_plan", `{"plan":[{"step":"Find the bug","status":"completed"},{"step":"Fix it","status":"in_progress"}]}`)),
			modeltest.SayText("Fixed."),
		),
		Capabilities: []agent.Capability[noDeps]{capability.Plan[noDeps]()},
	}))
	s := a.Stream(context.Background(), noDeps{}, "Fix the bug.")
	for e := range s.Events() {
		if c, ok := e.Value.(view.Change); ok {
			for _, step := range c.Entity.Steps {
				fmt.Println(step.Status, step.Text)
			}
		}
	}
	// Output:
	// completed Find the bug
	// in_progress Fix it
}

// The calls of a response run in parallel. Of several plans, users see the one that the history keeps.
func TestLastPlanOfAResponseIsShownAndKept(t *testing.T) {
	for range 20 {
		var calls []model.Part
		for i := range 8 {
			calls = append(calls, model.ToolCall(fmt.Sprint(i), capability.ToolUpdatePlan, fmt.Sprintf(`{"plan":[{"step":"%d","status":"pending"}]}`, i)))
		}
		a := agent.Must(agent.New(agent.Config[struct{}, string]{
			Model:        modeltest.Script(modeltest.Say(calls...), modeltest.SayText("ok")),
			Capabilities: []agent.Capability[struct{}]{capability.Plan[struct{}]()},
		}))
		s := a.Stream(t.Context(), struct{}{}, "go")
		shown := ""
		for e := range s.Events() {
			if c, ok := e.Value.(view.Change); ok {
				shown = c.Entity.Steps[0].Text
			}
		}
		res, err := s.Result()
		require.NoError(t, err)
		require.Equal(t, "7", capability.PlanOf(res.Messages)[0].Text)
		require.Equal(t, "7", shown)
	}
}
