// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

func TestFilteredDecidesInEachStep(t *testing.T) {
	s := toolset.Filtered(tells("a", "b", "c"), func(_ context.Context, run *runContext, tool *toolset.Tool[deps]) (bool, error) {
		return tool.Def.Name != "b" || run.Step == 2, nil
	})
	tr := run(t, []set{s}, say("b"), say("b"), done)
	require.NoError(t, tr.err)
	require.Equal(t, [][]string{{"a", "c"}, {"a", "b", "c"}, {"a", "c"}}, tr.offered)
	require.Equal(t, []string{`Unknown tool "b". Available tools: a, c.`, "b for Ada"}, tr.answers, "filtered tools cannot be called")
}

func TestFailedFilterEndsTheRun(t *testing.T) {
	s := toolset.Named(toolset.Filtered(tells("a"), func(context.Context, *runContext, *toolset.Tool[deps]) (bool, error) { return false, errBoom }), "mine")
	tr := run(t, []set{s, tells("other")}, done)
	require.ErrorIs(t, tr.err, errBoom)
	require.ErrorContains(t, tr.err, `tools of toolset "mine": filter tool "a": boom`)

	s = toolset.Filtered(tells("a"), func(context.Context, *runContext, *toolset.Tool[deps]) (bool, error) { panic("oops") })
	require.ErrorContains(t, run(t, []set{s}, done).err, "oops")
}

// Only administrators may delete.
func ExampleFiltered() {
	type Deps struct{ Admin bool }
	tool := func(name string) *toolset.Tool[Deps] {
		return toolset.Plain[Deps](name, "", func(context.Context, struct{}) (string, error) { return "done", nil })
	}
	s := toolset.Filtered(toolset.Of(tool("list"), tool("delete")),
		func(_ context.Context, run *toolset.RunContext[Deps], t *toolset.Tool[Deps]) (bool, error) {
			return run.Deps.Admin || t.Def.Name != "delete", nil
		})
	show(s, Deps{Admin: false})
	show(s, Deps{Admin: true})
	// Output:
	// [list]
	// [list delete]
}

// show prints the names of the tools that a toolset offers in its first step.
func show[D any](set toolset.Toolset[D], deps D) {
	ctx, run := context.Background(), &toolset.RunContext[D]{Deps: deps}
	in, err := set.Open(ctx, run)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := in.Tools(ctx, run)
	if err != nil {
		fmt.Println(err)
	}
	names := []string{}
	for _, t := range l.Tools {
		names = append(names, t.Def.Name)
	}
	fmt.Println(names)
	if err := in.Close(ctx); err != nil {
		fmt.Println(err)
	}
}
