// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

var confirmDef = model.ToolDef{Name: "confirm", Description: "Ask the user.", Schema: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"}}}`)}

func TestExternalCallIsPending(t *testing.T) {
	for name, s := range map[string]set{
		"untyped": toolset.External[deps](confirmDef),
		"typed":   toolset.Of(toolset.ExternalTool[deps, query]("confirm", "Ask the user.")),
		"wrapped": toolset.Limited(toolset.Wrapped(toolset.Prefixed(toolset.Renamed(toolset.External[deps](confirmDef), map[string]string{"confirm": "firm"}), "con"), pass), 1),
		"adapted": toolset.Adapt(toolset.External[int](confirmDef), func(deps) int { return 1 }),
	} {
		t.Run(name, func(t *testing.T) {
			call := model.ToolCall("1", "confirm", `{"city":"Oslo"}`)
			tr := run(t, []set{s}, modeltest.Say(call))
			calls := pending(t, tr.err)
			require.Len(t, calls, 1)
			require.JSONEq(t, `{"city":"Oslo"}`, string(calls[0].Args))
			require.Nil(t, calls[0].Approval)

			var e *agent.RunError
			require.ErrorAs(t, tr.err, &e)
			script := modeltest.Script(done)
			_, err := newAgent(t, script, s).Run(t.Context(), deps{}, "", agent.WithHistory(e.Messages),
				agent.WithResults(agent.DeferredResults{Results: map[string]toolset.Result{"1": {Text: "yes"}}}))
			require.NoError(t, err)
			messages := script.Requests()[0].Messages
			require.Equal(t, "yes", messages[len(messages)-1].Parts[0].Text)
		})
	}
}

// No combinator adds a function to a tool that has none.
func TestCombinatorsAddNoFunctionToExternalTools(t *testing.T) {
	external := toolset.External[deps](confirmDef)
	for name, s := range map[string]set{
		"limited":         toolset.Limited(external, 1),
		"limited per run": toolset.LimitedPerRun(external, 1),
		"wrapped":         toolset.Wrapped(external, pass),
		"adapted":         toolset.Adapt(toolset.External[int](confirmDef), func(deps) int { return 1 }),
	} {
		instance, err := s.Open(t.Context(), &runContext{})
		require.NoError(t, err, name)
		listing, err := instance.Tools(t.Context(), &runContext{})
		require.NoError(t, err, name)
		require.Nil(t, listing.Tools[0].Call, name)
		require.NoError(t, instance.Close(t.Context()), name)
	}
}

func TestExternalArgumentsAreChecked(t *testing.T) {
	s := toolset.Combine(toolset.External[deps](confirmDef), toolset.Of(toolset.ExternalTool[deps, query]("typed", "")))
	tr := run(t, []set{s}, modeltest.Say(model.ToolCall("1", "confirm", `[1]`), model.ToolCall("2", "confirm", `{`), model.ToolCall("3", "typed", `{}`), model.ToolCall("4", "confirm", "null")), done)
	require.NoError(t, tr.err)
	for i, want := range []string{"the arguments must be a JSON object", "the arguments are not valid JSON", "city: ", "the arguments must be a JSON object"} {
		require.Contains(t, tr.answers[i], want)
	}

	require.Empty(t, run(t, []set{s}, modeltest.Say(model.ToolCall("1", "confirm", ""))).answers, "no arguments equal an empty object")
}

func TestExternalDefinitionsMustBeValid(t *testing.T) {
	_, err := agent.New(agent.Config[deps, string]{Toolsets: []set{toolset.External[deps](
		model.ToolDef{Name: "no schema"}, model.ToolDef{Name: "list", Schema: json.RawMessage(`{"type":"array"}`)},
	)}})
	for _, want := range []string{"toolset external(no schema,…)", `tool name "no schema"`, `tool "no schema": schema is missing`, `tool "list": schema must have "type": "object", not array`} {
		require.ErrorContains(t, err, want)
	}
	_, err = agent.New(agent.Config[deps, string]{Toolsets: []set{toolset.Of(toolset.ExternalTool[deps, int]("n", ""))}})
	require.ErrorContains(t, err, "arguments have type int, must be a struct")
}

func TestExternalToolsetsKeepTheContract(t *testing.T) {
	toolsettest.Conformance(t, func() set { return toolset.External[deps](confirmDef) }, deps{}, toolsettest.Case{Tool: "confirm", Args: `{"question":"?"}`})
}

func ExampleExternal() {
	frontend := toolset.External[int](model.ToolDef{
		Name: "show_map", Description: "Show a place on the user's map.",
		Schema: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"}},"required":["place"]}`),
	})
	_, err := toolsettest.Call(context.Background(), frontend, nil, "show_map", `{"place":"Oslo"}`)
	fmt.Println(err)
	// Output: deferred
}

func ExampleExternalTool() {
	type Question struct {
		Text string `json:"text" validate:"required"`
	}
	s := toolset.Of(toolset.ExternalTool[int, Question]("ask_user", "Ask the user a question."))
	_, err := toolsettest.Call(context.Background(), s, nil, "ask_user", `{}`)
	var invalid *toolset.ValidationError
	fmt.Println(errors.As(err, &invalid), invalid.Problems[0].Path)
	_, err = toolsettest.Call(context.Background(), s, nil, "ask_user", `{"text":"Really?"}`)
	fmt.Println(err)
	// Output:
	// true text
	// deferred
}
