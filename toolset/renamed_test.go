// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

func TestPrefixedPreventsClashes(t *testing.T) {
	tr := run(t, []set{toolset.Prefixed(tells("get"), "a_"), toolset.Prefixed(perRun(tells("get")), "b_")}, say("a_get", "b_get", "get"), done)
	require.NoError(t, tr.err)
	require.Equal(t, [][]string{{"a_get", "b_get"}, {"a_get", "b_get"}}, tr.offered)
	require.Equal(t, []string{"get for Ada", "get for Ada", `Unknown tool "get". Available tools: a_get, b_get.`}, tr.answers)
}

func TestRenamedCanSwapNames(t *testing.T) {
	both(t, tells("a", "b", "c"), func(t *testing.T, inner set) {
		tr := run(t, []set{toolset.Renamed(inner, map[string]string{"a": "b", "b": "a"})}, say("a", "b", "c"), done)
		require.NoError(t, tr.err)
		require.Equal(t, []string{"b", "a", "c"}, tr.offered[0], "in the old order")
		require.Equal(t, []string{"b for Ada", "a for Ada", "c for Ada"}, tr.answers)
	})
}

func TestRenamedCopiesItsMap(t *testing.T) {
	names := map[string]string{"a": "b"}
	s := toolset.Renamed(perRun(tells("a")), names)
	names["a"] = "c"
	require.Equal(t, []string{"b"}, run(t, []set{s}, done).offered[0])
}

func TestRenamedReportsUnknownNames(t *testing.T) {
	names := map[string]string{"a": "b", "x": "y", "d": "e"}
	_, err := agent.New(agent.Config[deps, string]{Toolsets: []set{toolset.Renamed(tells("a", "c"), names)}})
	require.ErrorContains(t, err, `toolset of(a,…): rename: unknown tool "d", "x"`)
	tr := run(t, []set{toolset.Renamed(perRun(tells("a", "c")), names)}, done)
	require.ErrorContains(t, tr.err, `tools of toolset "of(a,…)": rename: unknown tool "d", "x"`)
	_, err = agent.New(agent.Config[deps, string]{Toolsets: []set{toolset.Prefixed(toolset.Renamed(tells("a"), names), "x")}})
	require.ErrorContains(t, err, "unknown tool", "outside the filter too")
}

func TestRenamedAllowsToolsToDisappear(t *testing.T) {
	s := toolset.Renamed(perStep(func(step int) set { return tells([]string{"a", "b"}[:3-step]...) }), map[string]string{"b": "c"})
	tr := run(t, []set{s}, say("a"), done)
	require.NoError(t, tr.err)
	require.Equal(t, [][]string{{"a", "c"}, {"a"}}, tr.offered)
}

func TestRenamedReportsClashes(t *testing.T) {
	inner := toolset.Named(tells("a", "b"), "x")
	tr := run(t, []set{toolset.Renamed(perRun(inner), map[string]string{"a": "b"})}, done)
	require.ErrorContains(t, tr.err, `toolset "x" lists the tool "b" twice`)
	_, err := agent.New(agent.Config[deps, string]{Toolsets: []set{toolset.Renamed(inner, map[string]string{"a": "b"})}})
	require.ErrorContains(t, err, `toolset "x" lists the tool "b" twice`)
}

func TestNewNamesMustBeValid(t *testing.T) {
	_, err := agent.New(agent.Config[deps, string]{Toolsets: []set{toolset.Prefixed(tells("a"), "my ")}})
	require.ErrorContains(t, err, `tool name "my a": invalid character " "`)
	tr := run(t, []set{toolset.Prefixed(perRun(tells("a")), strings.Repeat("x", 64))}, done)
	require.ErrorContains(t, tr.err, "must have 1 to 64 characters")
}

func TestRenamedCanFixInvalidNames(t *testing.T) {
	in, err := tells("a").Open(t.Context(), nil)
	require.NoError(t, err)
	foreign := foreignNames{in}
	tr := run(t, []set{toolset.RenamedFunc[deps](foreign, func(name string) string { return strings.ReplaceAll(name, ".", "_") })}, say("server_a"), done)
	require.NoError(t, tr.err)
	require.Equal(t, []string{"a for Ada"}, tr.answers)
	require.ErrorContains(t, run(t, []set{foreign}, done).err, `tool name "server.a"`)
}

// foreignNames lists tools with names that a server might choose.
type foreignNames struct{ toolset.Instance[deps] }

func (foreignNames) Name() string { return "foreign" }

func (f foreignNames) Open(context.Context, *runContext) (toolset.Instance[deps], error) {
	return f, nil
}

func (f foreignNames) Tools(ctx context.Context, run *runContext) (toolset.Listing[deps], error) {
	l, err := f.Instance.Tools(ctx, run)
	t := *l.Tools[0]
	t.Def.Name = "server." + t.Def.Name
	t.Call = func(ctx context.Context, run *runContext, args any) (toolset.Result, error) {
		inside := *run
		inside.Call.Tool = strings.TrimPrefix(run.Call.Tool, "server.")
		return l.Tools[0].Call(ctx, &inside, args)
	}
	return toolset.Listing[deps]{Tools: []*toolset.Tool[deps]{&t}}, err
}

func ExamplePrefixed() {
	query := toolset.Func("query", "Run a query.", func(_ context.Context, run *toolset.RunContext[string], _ struct{}) (string, error) {
		return run.Call.Tool + " on " + run.Deps, nil
	})
	s := toolset.Prefixed(toolset.Of(query), "db_")
	res, err := toolsettest.Call(context.Background(), s, &toolset.RunContext[string]{Deps: "replica"}, "db_query", `{}`)
	fmt.Println(res.Text, err)
	// Output: query on replica <nil>
}

func ExampleRenamed() {
	tool := func(name string) *toolset.Tool[int] {
		return toolset.Plain[int](name, "", func(context.Context, struct{}) (string, error) { return "", nil })
	}
	show(toolset.Renamed(toolset.Of(tool("fetch"), tool("search")), map[string]string{"fetch": "open_page"}), 0)
	// Output: [open_page search]
}

func ExampleRenamedFunc() {
	tool := toolset.Plain[int]("readFile", "", func(context.Context, struct{}) (string, error) { return "", nil })
	show(toolset.RenamedFunc(toolset.Of(tool), strings.ToLower), 0)
	// Output: [readfile]
}
