// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

var (
	noCalls  = model.ToolChoice{Mode: model.ToolChoiceNone}
	someCall = model.ToolChoice{Mode: model.ToolChoiceRequired}
	addCall  = model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "add"}
)

// choices are the tool choices of the requests that a script has seen.
func choices(script *modeltest.Scripted) (all []model.ToolChoice) {
	for _, req := range script.Requests() {
		all = append(all, req.ToolChoice)
	}
	return all
}

func TestToolChoiceDemandsACallInTheFirstRequest(t *testing.T) {
	steps := []modeltest.Step{modeltest.Say(add("1", 1, 2)), modeltest.SayText("3")}
	for _, choice := range []model.ToolChoice{someCall, addCall} {
		_, _, script := run(t, cfg{ToolChoice: choice}, steps, addTool())
		require.Equal(t, []model.ToolChoice{choice, {}}, choices(script), "then the model is free to answer")
	}
	_, _, script := runWith(t, cfg{ToolChoice: someCall}, steps, "go", []agent.RunOption{agent.WithToolChoice(model.ToolChoice{})}, addTool())
	require.Equal(t, []model.ToolChoice{{}, {}}, choices(script), "the run comes before the agent")
	_, _, script = runWith(t, cfg{}, steps, "go", []agent.RunOption{agent.WithToolChoice(addCall)}, addTool())
	require.Equal(t, []model.ToolChoice{addCall, {}}, choices(script))

	out := model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "final_result"}
	_, _, script = run(t, agent.Config[deps, city]{ToolChoice: out}, []modeltest.Step{modeltest.Say(final("1", `{"city":"Oslo","population":1}`))}, addTool())
	require.Equal(t, []model.ToolChoice{out}, choices(script), "the output is a tool, too")
}

func TestToolChoiceNoneForbidsTheAgentsTools(t *testing.T) {
	steps := []modeltest.Step{modeltest.Say(add("1", 1, 2)), modeltest.SayText("3")}
	res, _, script := run(t, cfg{ToolChoice: noCalls}, steps, addTool())
	require.Equal(t, []model.ToolChoice{noCalls, noCalls}, choices(script))
	require.Len(t, script.Requests()[0].Tools, 1, "the model still sees what a history may mention")
	require.Equal(t, model.PartRetry, res.Messages[2].Parts[0].Kind, "a model that calls all the same is told")

	_, _, script = run(t, agent.Config[deps, city]{ToolChoice: noCalls}, []modeltest.Step{modeltest.Say(final("1", `{"city":"Oslo","population":1}`))}, addTool())
	require.Equal(t, []model.ToolChoice{{}}, choices(script))
	require.Len(t, script.Requests()[0].Tools, 1)
	require.Equal(t, "final_result", script.Requests()[0].Tools[0].Name, "the output can still be given")
}

func TestToolChoiceIsChecked(t *testing.T) {
	for want, choice := range map[string]model.ToolChoice{
		`ToolChoice: unknown mode "perhaps"`:                                        {Mode: "perhaps"},
		`ToolChoice: the mode is tool, but no tool is named`:                        {Mode: model.ToolChoiceTool},
		`ToolChoice: the tool "add" is named, so the mode must be tool, not "none"`: {Mode: model.ToolChoiceNone, Tool: "add"},
	} {
		_, err := agent.New(cfg{ToolChoice: choice})
		require.ErrorContains(t, err, want)
	}
	gone := model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "gone"}
	_, err := agent.New(cfg{ToolChoice: gone, Tools: []*toolset.Tool[deps]{addTool()}})
	require.ErrorContains(t, err, `ToolChoice: unknown tool "gone"`)
	_, err, script := runWith(t, cfg{}, nil, "go", []agent.RunOption{agent.WithToolChoice(gone)}, addTool())
	require.ErrorContains(t, err, `tool choice: unknown tool "gone"`)
	require.Empty(t, script.Requests())
}

func TestToolChoiceDoesNotLeakIntoOtherRuns(t *testing.T) {
	script := modeltest.Script(modeltest.SayText("a"), modeltest.Say(add("1", 1, 2)), modeltest.SayText("b"))
	a := newAgent(t, cfg{Model: script}, addTool())
	_, err := a.Run(t.Context(), deps{}, "go", agent.WithToolChoice(noCalls))
	require.NoError(t, err)
	_, err = a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, []model.ToolChoice{noCalls, {}, {}}, choices(script))
}

func TestFailedRunKnowsItsNewMessages(t *testing.T) {
	_, err, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.Say(add("1", 1, 2)), modeltest.Fail(errBoom)}, "go",
		[]agent.RunOption{agent.WithHistory([]*model.Message{model.UserText("hi"), model.Response(model.Text("hello"))})}, addTool())
	require.Len(t, err.Messages, 5)
	require.Equal(t, dump(err.Messages[2:]), dump(err.NewMessages()))
}
