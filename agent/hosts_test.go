// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestHooksKnowWhatToolsAre: which tools give the output, and whose calls pass the hooks for calls.
func TestHooksKnowWhatToolsAre(t *testing.T) {
	inner := newAgent(t, agent.Config[deps, string]{Name: "inner", Model: modeltest.Script()})
	names := []string{"look", "elsewhere", "final", "over", "nothing", ""}
	told := map[string]string{}
	tell := func(at string, run *toolset.RunContext[deps]) {
		text := ""
		for _, name := range names {
			text += fmt.Sprintf("%s %v %v; ", name, agent.IsOutput(run, name), agent.IsCalled(run, name))
		}
		told[at] = text
	}
	config := agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.Say(call("1", "look")), modeltest.Say(model.ToolCall("2", "final", `{"do":"x"}`))),
		Alternatives: []agent.Alternative[deps, string]{
			agent.OutputFunc("final", "", func(context.Context, *toolset.RunContext[deps], doing) (string, error) { return "done", nil }),
			agent.HandOver("over", "", inner, sameDeps),
		},
		Hooks: []agent.Hooks[deps]{{Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			tell("request", run)
			return next(ctx, req)
		}}},
	}
	_, err := newAgent(t, config, says("look", "x"), toolset.ExternalTool[deps, none]("elsewhere", "")).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	tell("outside", &toolset.RunContext[deps]{})
	require.Equal(t, map[string]string{
		"request": "look false true; elsewhere false false; final true false; over false false; nothing false true;  false true; ",
		"outside": "look false true; elsewhere false true; final false true; over false true; nothing false true;  false true; ",
	}, told)
}

// TestHooksGetTheArgumentsOfTheirCall: decoded, in calls only.
func TestHooksGetTheArgumentsOfTheirCall(t *testing.T) {
	var told []string
	tell := func(at string, run *toolset.RunContext[deps]) {
		args, ok := agent.Arguments(run)
		told = append(told, fmt.Sprintf("%s: %s %v", at, plainJSON(args), ok))
	}
	config := agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.Say(add("1", 1, 2)), modeltest.SayText("done")),
		Hooks: []agent.Hooks[deps]{{
			Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				tell("request", run)
				return next(ctx, req)
			},
			Call: func(ctx context.Context, run *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
				tell("call", run)
				again, ok := agent.Arguments(run)
				require.True(t, ok)
				require.Equal(t, args, again)
				return next(ctx, args)
			},
		}},
	}
	_, err := newAgent(t, config, addTool()).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	tell("outside", &toolset.RunContext[deps]{})
	require.Equal(t, []string{"request: null false", "call: {x:1,y:2} true", "request: null false", "outside: null false"}, told)
}

// TestRequestsOfToolsHaveTheirCall: hooks see which call asks the model.
func TestRequestsOfToolsHaveTheirCall(t *testing.T) {
	var told []string
	config := agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.Say(call("1", "ask")), modeltest.SayText("inner"), modeltest.SayText("done")),
		Hooks: []agent.Hooks[deps]{{Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			told = append(told, fmt.Sprintf("%q %q in step %d", run.Call.ID, run.Call.Tool, run.Step))
			return next(ctx, req)
		}}},
	}
	ask := tool("ask", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
		resp, err := run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("x")}})
		if err != nil {
			return "", err
		}
		return resp.Text(), nil
	})
	_, err := newAgent(t, config, ask).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, []string{`"" "" in step 1`, `"1" "ask" in step 1`, `"" "" in step 2`}, told)
}

// TestArgumentsThatCannotBeDecodedAreToldToTheModel: what a panic said, and not where it was.
func TestArgumentsThatCannotBeDecodedAreToldToTheModel(t *testing.T) {
	for want, decode := range map[string]func([]byte) (any, error){
		"The arguments are not valid: panic: ouch": func([]byte) (any, error) { panic("ouch") },
		"The arguments are not valid: too hot":     func([]byte) (any, error) { return nil, errors.New(" too hot\n") },
		"once more":                                func([]byte) (any, error) { return nil, toolset.Retry("once more") },
	} {
		written := &toolset.Tool[deps]{
			Def: model.ToolDef{Name: "go", Schema: []byte(`{"type":"object"}`)}, Decode: decode,
			Call: func(context.Context, *toolset.RunContext[deps], any) (toolset.Result, error) {
				return toolset.Result{}, nil
			},
		}
		script := modeltest.Script(modeltest.Say(model.ToolCall("1", "go", "{}")), modeltest.SayText("done"))
		res, err := newAgent(t, agent.Config[deps, string]{Model: script}, written).Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		part := res.Messages[2].Parts[0]
		require.Equal(t, model.PartRetry, part.Kind)
		require.Equal(t, want, part.Text)
	}
}

// TestChoicesWithoutAToolAreNotLookedUp: only a choice of one tool has to name one that there is.
func TestChoicesWithoutAToolAreNotLookedUp(t *testing.T) {
	for choice, ok := range map[model.ToolChoice]bool{
		{}: true, {Mode: model.ToolChoiceRequired}: true, {Mode: model.ToolChoiceNone}: true, {Mode: model.ToolChoiceTool, Tool: "look"}: true, {Mode: model.ToolChoiceTool, Tool: "gone"}: false,
		{Tool: "gone"}: false, {Mode: model.ToolChoiceRequired, Tool: "gone"}: false,
	} {
		_, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(), ToolChoice: choice, Tools: []*toolset.Tool[deps]{says("look", "x")}})
		require.Equal(t, ok, err == nil, "%+v: %v", choice, err)
	}
	_, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(), ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool}, Tools: []*toolset.Tool[deps]{says("look", "x")}})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "unknown tool")
}

// TestCommandsNeedValidOptions: their meter is that of a run with these options.
func TestCommandsNeedValidOptions(t *testing.T) {
	called := 0
	a := newAgent(t, agent.Config[deps, string]{Name: "desk", Model: modeltest.Script(), Commands: []agent.Command[deps]{
		{Name: "sum", Run: func(_ context.Context, call agent.CommandCall[deps]) (agent.CommandResult, error) {
			called++
			require.NotNil(t, call.Meter)
			return agent.CommandResult{Notice: "ok"}, nil
		}},
	}})
	_, ok, err := a.Command(t.Context(), deps{}, "/sum", nil, agent.WithLimits(agent.Limits{Requests: -3}))
	require.True(t, ok)
	require.ErrorContains(t, err, "agent desk: /sum: ")
	require.Zero(t, called)
}
