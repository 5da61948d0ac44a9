// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestDefinitionErrorsAreSpecific(t *testing.T) {
	object := json.RawMessage(`{"type":"object"}`)
	for want, tool := range map[string]*toolset.Tool[deps]{
		`tool "t": function is nil`:                           toolset.Func[deps, noArgs, string]("t", "", nil),
		`tool "p": function is nil`:                           toolset.Plain[deps, noArgs, string]("p", "", nil),
		`tool "r": function is nil`:                           toolset.Raw[deps]("r", "", object, nil),
		`tool "r": schema is not valid JSON`:                  toolset.Raw("r", "", json.RawMessage(`{`), raw),
		`tool "t": arguments have type string, must be a str`: toolset.ExternalTool[deps, string]("t", ""),
		`tool "t": arguments: `:                               toolset.ExternalTool[deps, struct{ F func() }]("t", ""),
		`tool name "ä b": invalid character "ä"`:              toolset.Raw("ä b", "", object, raw),
		`tool name "": must have 1 to 64 characters`:          {Call: tell("x").Call},
	} {
		require.ErrorContains(t, tool.Err(), want)
		_, err := toolset.Named(toolset.Of(tool), "mine").Open(t.Context(), nil)
		require.ErrorContains(t, err, want)
	}
	_, err := toolset.Of(&toolset.Tool[deps]{Def: model.ToolDef{Name: "x", Schema: object}}).Open(t.Context(), nil)
	require.EqualError(t, err, `toolset of(x): tool "x" has no Call function`)
}

func raw(_ context.Context, _ *runContext, args json.RawMessage) (toolset.Result, error) {
	return toolset.Result{Text: string(args)}, nil
}

func TestRawToolGetsUnchangedArguments(t *testing.T) {
	s := toolset.Of(toolset.Raw("r", "", json.RawMessage(`{"type":"object"}`), raw, toolset.Sequential()))
	tr := run(t, []set{s}, modeltest.Say(model.ToolCall("1", "r", `{ "n" : 1e2 }`), model.ToolCall("2", "r", ""), model.ToolCall("3", "r", "{")), done)
	require.NoError(t, tr.err)
	require.Equal(t, []string{`{ "n" : 1e2 }`, "{}", "the arguments are not valid JSON"}, tr.answers)
}

func TestResultThatIsNotJSONEndsTheRun(t *testing.T) {
	s := toolset.Of(toolset.Plain[deps]("f", "", func(context.Context, noArgs) (any, error) { return func() {}, nil }),
		toolset.Plain[deps]("ok", "", func(context.Context, noArgs) (struct{}, error) { return struct{}{}, nil }))
	require.Equal(t, []string{"ok"}, run(t, []set{s}, say("ok"), done).answers)
	require.ErrorContains(t, run(t, []set{s}, say("f")).err, "result of type func() cannot be encoded for the model")
}

func TestOfCopiesItsSlice(t *testing.T) {
	tools := []*toolset.Tool[deps]{tell("a")}
	s := toolset.Of(tools...)
	tools[0] = tell("b")
	require.Equal(t, [][]string{{"a"}}, run(t, []set{s}, done).offered)
}
