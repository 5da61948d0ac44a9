// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func plainTool(name string) *toolset.Tool[any] {
	return toolset.Plain[any](name, "A tool that one searches for.",
		func(context.Context, struct{}) (string, error) { return name, nil })
}

// A tool with the name of the search tool could never be offered beside it.
func TestSearchableReportsAToolWithTheNameOfItsSearch(t *testing.T) {
	for name, search := range map[string]toolset.Search[any]{
		"search_tools": {}, "look_up": {Name: "look_up"},
	} {
		set := toolset.Searchable(toolset.Of(plainTool(name), plainTool("a b")), search)
		_, err := agent.New(agent.Config[any, string]{
			Model: modeltest.Script(), Toolsets: []toolset.Toolset[any]{toolset.Named(set, "tools")},
		})
		var clash *toolset.NameClashError
		require.ErrorAs(t, err, &clash)
		require.Equal(t, name, clash.Tool)
		require.ErrorContains(t, err, `"a b"`, "other problems are reported too")
	}
}

// If it is the only tool that is hidden, there is no search, and it is not offered either.
func TestToolWithTheNameOfTheSearchIsNotOfferedWithoutASearch(t *testing.T) {
	found := toolset.PerRun("server", func(context.Context, *toolset.RunContext[any]) (toolset.Toolset[any], error) {
		return toolset.Of(plainTool("search_tools"), plainTool("other")), nil
	})
	script := modeltest.Script(modeltest.SayText("Done."))
	a, err := agent.New(agent.Config[any, string]{
		Model: script, Toolsets: []toolset.Toolset[any]{toolset.Searchable(found, toolset.Search[any]{
			Visible: func(t *toolset.Tool[any]) bool { return t.Def.Name == "other" },
		})},
	})
	require.NoError(t, err)
	_, err = a.Run(context.Background(), nil, "Go.")
	require.NoError(t, err)
	require.Len(t, script.Requests()[0].Tools, 1)
	require.Equal(t, "other", script.Requests()[0].Tools[0].Name)
}

// Where the tools are not known before a run, such as those of a server, that tool is left out, and
// the run goes on.
func TestToolWithTheNameOfTheSearchDoesNotEndARun(t *testing.T) {
	found := toolset.PerRun("server", func(context.Context, *toolset.RunContext[any]) (toolset.Toolset[any], error) {
		return toolset.Of(plainTool("search_tools"), plainTool("other")), nil
	})
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "search_tools", `{"query":"search tools, and others"}`)),
		modeltest.Say(model.ToolCall("2", "other", `{}`)),
		modeltest.SayText("Done."),
	)
	a, err := agent.New(agent.Config[any, string]{
		Model: script, Toolsets: []toolset.Toolset[any]{toolset.Searchable(found, toolset.Search[any]{})},
	})
	require.NoError(t, err)
	res, err := a.Run(context.Background(), nil, "Find the tools.")
	require.NoError(t, err)
	require.Equal(t, "Done.", res.Output)
	require.NotContains(t, res.Messages[2].Parts[0].Text, "- search_tools")
	require.Contains(t, res.Messages[2].Parts[0].Text, "- other")
}
