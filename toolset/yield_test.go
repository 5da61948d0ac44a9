// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type nobody = struct{}

// saying returns a tool that says who it is, and under which name it was called.
func saying(name, who string) *toolset.Tool[nobody] {
	return toolset.Raw(name, "", json.RawMessage(`{"type":"object"}`), func(_ context.Context, run *toolset.RunContext[nobody], _ json.RawMessage) (toolset.Result, error) {
		return toolset.Result{Text: who + " as " + run.Call.Tool}, nil
	})
}

// ofServer returns a tool as one of a server, whose name was not chosen by the program.
func ofServer(name, server string) *toolset.Tool[nobody] {
	t := saying(name, server)
	t.Yield = func(name string) string { return fmt.Sprintf("%.50s_%s", name, server) }
	return t
}

// dynamic hides that a toolset is fixed.
func dynamic(set toolset.Toolset[nobody]) toolset.Toolset[nobody] {
	return toolset.PerRun("dynamic", func(context.Context, *toolset.RunContext[nobody]) (toolset.Toolset[nobody], error) { return set, nil })
}

// Whatever is between a tool and the agent, the program's tool keeps its name, and that of the server can be called under
// another one.
func TestToolsOfServersGiveWay(t *testing.T) {
	own := toolset.Of(saying("read_file", "own"))
	server := func() toolset.Toolset[nobody] { return toolset.Of(ofServer("read_file", "srv")) }
	all := func(*toolset.Tool[nobody]) bool { return true }
	type sets = []toolset.Toolset[nobody]
	for name, test := range map[string]sets{
		"fixed":    {own, server()},
		"first":    {server(), own},
		"dynamic":  {dynamic(server()), dynamic(own)},
		"one":      {dynamic(toolset.Combine(server(), own))},
		"nested":   {toolset.Combine(dynamic(toolset.Combine(server())), own)},
		"prefixed": {toolset.Prefixed(toolset.Of(ofServer("file", "srv")), "read_"), dynamic(own)},
		"renamed":  {toolset.Renamed(toolset.Of(ofServer("f", "srv")), map[string]string{"f": "read_file"}), own},
		"named":    {toolset.Named(dynamic(server()), "x"), own},
		"filtered": {toolset.Filtered(dynamic(server()), func(context.Context, *toolset.RunContext[nobody], *toolset.Tool[nobody]) (bool, error) {
			return true, nil
		}), own},
		"wrapped": {toolset.Wrapped(dynamic(server()), func(ctx context.Context, _ *toolset.RunContext[nobody], args any, next toolset.CallFunc) (toolset.Result, error) {
			return next(ctx, args)
		}), own},
		"hidden": {toolset.Searchable(dynamic(server()), toolset.Search[nobody]{Visible: all}), own},
		"per step": {toolset.PerStep("s", func(context.Context, *toolset.RunContext[nobody]) (toolset.Toolset[nobody], error) {
			return server(), nil
		}), own},
		"on tools":  {toolset.Combine(dynamic(own), dynamic(server()), toolset.Of(saying("z", "own")))},
		"many more": {dynamic(toolset.Of(many(20)...)), dynamic(server()), own},
	} {
		t.Run(name, func(t *testing.T) {
			m := modeltest.Script(modeltest.Say(model.ToolCall("1", "read_file", `{}`), model.ToolCall("2", "read_file_srv", `{}`)), modeltest.SayText("done"))
			a, err := agent.New(agent.Config[nobody, string]{Model: m, Toolsets: test})
			require.NoError(t, err)
			res, err := a.Run(t.Context(), nobody{}, "go")
			require.NoError(t, err)
			returns := res.Messages[2].Parts
			require.Equal(t, "own as read_file", returns[0].Text)
			require.Regexp(t, "^srv as (read_file|file|f)$", returns[1].Text, "the tool sees the name that the server gave it")
		})
	}
}

func many(n int) []*toolset.Tool[nobody] {
	var tools []*toolset.Tool[nobody]
	for i := range n {
		tools = append(tools, saying(fmt.Sprint("tool_", i), "own"))
	}
	return tools
}

// Of two tools of servers, none keeps a name that both have, so the name never means the one first and then the other.
func TestToolsOfTwoServersBothGiveWay(t *testing.T) {
	one, two, third := ofServer("a_b_c", "a"), ofServer("a_b_c", "a_b"), ofServer("other", "a")
	want := []string{"a_b_c_a", "a_b_c_a_b", "other"}
	for _, tools := range [][]*toolset.Tool[nobody]{{one, two, third}, {two, one, third}, {third, two, one}} {
		var sets []toolset.Toolset[nobody]
		for _, tool := range tools {
			sets = append(sets, dynamic(toolset.Of(tool)))
		}
		names := offered(t, toolset.Combine(sets...))
		slices.Sort(names)
		require.Equal(t, want, names)
	}
}

func TestToolsWithoutAnotherNameAreLeftOut(t *testing.T) {
	silent := ofServer("x", "s")
	silent.Yield = func(string) string { return "" }
	require.Equal(t, []string{"x", "x_s"}, offered(t, toolset.Combine(toolset.Of(saying("x", "own"), silent, saying("x_s", "own"), ofServer("x", "s")))))
	long := toolset.Prefixed(dynamic(toolset.Of(ofServer(strings.Repeat("n", 60), "s"))), "prefix_")
	require.Equal(t, []string{"prefix_" + strings.Repeat("n", 43) + "_s"}, offered(t, toolset.Combine(long)), "a name that is too long for providers is one that cannot be kept")
}

// The output of an agent is the program's, too.
func TestToolsOfServersGiveWayToTheOutput(t *testing.T) {
	type answer struct{ N int }
	for name, set := range map[string]toolset.Toolset[nobody]{"fixed": toolset.Of(ofServer("final_result", "srv")), "dynamic": dynamic(toolset.Of(ofServer("final_result", "srv")))} {
		config := agent.Config[nobody, answer]{
			Model:    modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result_srv", `{}`)), modeltest.Say(model.ToolCall("2", "final_result", `{"N":3}`))),
			Toolsets: []toolset.Toolset[nobody]{set},
		}
		a, err := agent.New(config)
		require.NoError(t, err, name)
		for _, ctx := range []context.Context{t.Context(), a.Override(t.Context(), agent.Overrides[nobody]{
			Toolsets: []toolset.Toolset[nobody]{set},
			Model:    modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result_srv", `{}`)), modeltest.Say(model.ToolCall("2", "final_result", `{"N":3}`))),
		})} {
			res, err := a.Run(ctx, nobody{}, "go")
			require.NoError(t, err, name)
			require.Equal(t, 3, res.Output.N)
			require.Equal(t, "srv as final_result", res.Messages[2].Parts[0].Text)
		}
	}
}

// Two tools of the program itself with one name are a mistake, which is told with both toolsets.
func TestToolsOfTheProgramDoNotGiveWay(t *testing.T) {
	sets := []toolset.Toolset[nobody]{toolset.Named(toolset.Of(saying("x", "own")), "one"), toolset.Of(ofServer("x", "srv")), toolset.Named(toolset.Of(saying("x", "own")), "two")}
	_, err := agent.New(agent.Config[nobody, string]{Model: modeltest.Script(), Toolsets: sets})
	require.ErrorContains(t, err, `toolsets "one" and "two" both have a tool "x"`)
	for i, set := range sets {
		sets[i] = toolset.Named(dynamic(set), set.Name())
	}
	_, err = agent.Must(agent.New(agent.Config[nobody, string]{Model: modeltest.Script(modeltest.SayText("done")), Toolsets: sets})).Run(t.Context(), nobody{}, "go")
	require.ErrorContains(t, err, `toolsets "one" and "two" both have a tool "x"`)
}

func TestErrorsOfAllToolsetsAreTold(t *testing.T) {
	broken := func(name string) toolset.Toolset[nobody] {
		return toolset.PerStep(name, func(context.Context, *toolset.RunContext[nobody]) (toolset.Toolset[nobody], error) {
			return nil, fmt.Errorf("%s is broken", name)
		})
	}
	run := &toolset.RunContext[nobody]{}
	in, err := toolset.Combine(broken("one"), dynamic(toolset.Of(saying("x", "own"))), broken("two")).Open(t.Context(), run)
	require.NoError(t, err)
	_, err = in.Tools(t.Context(), run)
	require.ErrorContains(t, err, "one is broken")
	require.ErrorContains(t, err, "two is broken")
	require.NoError(t, in.Close(t.Context()))
}

func offered(t *testing.T, set toolset.Toolset[nobody]) []string {
	t.Helper()
	run := &toolset.RunContext[nobody]{}
	in, err := set.Open(t.Context(), run)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close(t.Context())) }()
	l, err := in.Tools(t.Context(), run)
	require.NoError(t, err)
	again, err := in.Tools(t.Context(), run)
	require.NoError(t, err)
	require.Same(t, l.Tools[0], again.Tools[0], "what does not change costs nothing")
	var names []string
	for _, tool := range l.Tools {
		require.NoError(t, tool.Err())
		names = append(names, tool.Def.Name)
	}
	return names
}

// A search names the tools that it finds as the server does. It says that another tool's name gets a suffix, if it found such tools.
func TestSearchSaysThatFoundToolsGiveWay(t *testing.T) {
	const told = "\nA tool whose name you had is offered under that name with a suffix."
	own := toolset.Of(saying("read_file", "own"))
	for _, test := range []struct {
		found *toolset.Tool[nobody]
		says  string
	}{
		{ofServer("read_file", "srv"), "These tools are now available:\n- read_file" + told},
		{saying("write_file", "own"), "These tools are now available:\n- write_file"},
	} {
		m := modeltest.Script(
			modeltest.Say(model.ToolCall("1", "search_tools", `{"query":"file"}`)),
			modeltest.Say(model.ToolCall("2", "read_file_srv", `{}`), model.ToolCall("3", "read_file", `{}`)), modeltest.SayText("done"),
		)
		a, err := agent.New(agent.Config[nobody, string]{Model: m, Toolsets: []toolset.Toolset[nobody]{own, toolset.Searchable(toolset.Of(test.found), toolset.Search[nobody]{})}})
		require.NoError(t, err)
		res, err := a.Run(t.Context(), nobody{}, "go")
		require.NoError(t, err)
		require.Equal(t, test.says, res.Messages[2].Parts[0].Text)
		if test.found.Yield != nil {
			require.Equal(t, "srv as read_file", res.Messages[4].Parts[0].Text)
			require.Equal(t, "own as read_file", res.Messages[4].Parts[1].Text)
		}
	}
}
