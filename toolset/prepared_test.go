// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

type prepareFunc = func(context.Context, *runContext, model.ToolDef) (*model.ToolDef, error)

type prepareAllFunc = func(context.Context, *runContext, []model.ToolDef) ([]model.ToolDef, error)

func TestPreparedChangesDefinitions(t *testing.T) {
	s := toolset.Prepared(tells("a", "b"), func(_ context.Context, run *runContext, def model.ToolDef) (*model.ToolDef, error) {
		if def.Name == "b" && run.Step == 2 {
			return nil, nil
		}
		def.Description = fmt.Sprintf("%s in step %d", def.Name, run.Step)
		def.Strict = true
		return &def, nil
	})
	tr := run(t, []set{s}, say("a", "b"), done)
	require.NoError(t, tr.err)
	require.Equal(t, [][]string{{"a", "b"}, {"a"}}, tr.offered)
	for step, r := range tr.script.Requests() {
		require.Equal(t, fmt.Sprintf("a in step %d", step+1), r.Tools[0].Description)
		require.True(t, r.Tools[0].Strict)
	}
	require.Equal(t, []string{"a for Ada", "b for Ada"}, tr.answers)
}

func TestPreparedCopiesTools(t *testing.T) {
	tool := tell("a")
	run(t, []set{toolset.Prepared(toolset.Of(tool), func(_ context.Context, _ *runContext, def model.ToolDef) (*model.ToolDef, error) {
		def.Description = "another"
		return &def, nil
	})}, done)
	require.Equal(t, "Tells what it sees.", tool.Def.Description)
}

func TestPreparedAllChangesDefinitions(t *testing.T) {
	s := toolset.PreparedAll(tells("a", "b", "c"), func(_ context.Context, _ *runContext, defs []model.ToolDef) ([]model.ToolDef, error) {
		defs = slices.DeleteFunc(defs, func(d model.ToolDef) bool { return d.Name == "b" })
		slices.Reverse(defs)
		defs[0].Description = "first"
		return defs, nil
	})
	tr := run(t, []set{s}, say("a", "c"), done)
	require.NoError(t, tr.err)
	require.Equal(t, [][]string{{"c", "a"}, {"c", "a"}}, tr.offered)
	require.Equal(t, "first", tr.script.Requests()[0].Tools[0].Description)
	require.Equal(t, "Tells what it sees.", tr.script.Requests()[0].Tools[1].Description)
	require.Equal(t, []string{"a for Ada", "c for Ada"}, tr.answers)
}

func TestPreparedCannotAddOrRename(t *testing.T) {
	one := func(f prepareFunc) set { return toolset.Named(toolset.Prepared(tells("a", "b"), f), "x") }
	all := func(f prepareAllFunc) set { return toolset.Named(toolset.PreparedAll(tells("a", "b"), f), "x") }
	for want, s := range map[string]set{
		`prepare tool "a": must not be renamed to "z"`: one(func(_ context.Context, _ *runContext, d model.ToolDef) (*model.ToolDef, error) {
			d.Name = "z"
			return &d, nil
		}),
		`prepare tool "a": boom`: one(func(context.Context, *runContext, model.ToolDef) (*model.ToolDef, error) { return nil, errBoom }),
		`prepare tool "a": schema must have "type": "object", not array`: one(func(_ context.Context, _ *runContext, d model.ToolDef) (*model.ToolDef, error) {
			d.Schema = json.RawMessage(`{"type":"array"}`)
			return &d, nil
		}),
		"prepare panics": one(func(context.Context, *runContext, model.ToolDef) (*model.ToolDef, error) { panic("prepare panics") }),
		`prepare tools: tool "z" was added or renamed`: all(func(_ context.Context, _ *runContext, d []model.ToolDef) ([]model.ToolDef, error) {
			d[0].Name = "z"
			return d, nil
		}),
		`prepare tools: tool "b" is listed twice`: all(func(_ context.Context, _ *runContext, d []model.ToolDef) ([]model.ToolDef, error) {
			return append(d, d[1]), nil
		}),
		`prepare tools: boom`: all(func(context.Context, *runContext, []model.ToolDef) ([]model.ToolDef, error) { return nil, errBoom }),
		`prepare tools: tool "a": schema is missing`: all(func(_ context.Context, _ *runContext, d []model.ToolDef) ([]model.ToolDef, error) {
			d[0].Schema = nil
			return d, nil
		}),
	} {
		tr := run(t, []set{s, tells("other")}, done)
		require.ErrorContains(t, tr.err, want)
		if want != "prepare panics" {
			require.ErrorContains(t, tr.err, `toolset "x"`)
		}
	}
}

func TestPreparedReusesTools(t *testing.T) {
	s := toolset.Prepared(tells("a", "b"), func(_ context.Context, run *runContext, def model.ToolDef) (*model.ToolDef, error) {
		if def.Name == "a" {
			def.Description = fmt.Sprint("until step ", run.Step/3*3+2)
		}
		return &def, nil
	})
	in := open(t, s)
	var slices [][]*toolset.Tool[deps]
	for step := 1; step <= 5; step++ {
		rc := &runContext{}
		rc.Step = step
		l, err := in.Tools(t.Context(), rc)
		require.NoError(t, err)
		slices = append(slices, l.Tools)
	}
	require.Same(t, &slices[0][0], &slices[1][0])
	require.NotSame(t, &slices[1][0], &slices[2][0])
	require.Same(t, &slices[2][0], &slices[4][0])
	require.Equal(t, "until step 2", slices[0][0].Def.Description, "earlier listings do not change")
}

func ExamplePrepared() {
	type Deps struct{ Root string }
	read := toolset.Plain[Deps]("read", "Read a file.", func(context.Context, struct{}) (string, error) { return "", nil })
	s := toolset.Prepared(toolset.Of(read),
		func(_ context.Context, run *toolset.RunContext[Deps], def model.ToolDef) (*model.ToolDef, error) {
			def.Description += " Paths are relative to " + run.Deps.Root + "."
			return &def, nil
		})
	ctx, run := context.Background(), &toolset.RunContext[Deps]{Deps: Deps{Root: "/src"}}
	in, err := s.Open(ctx, run)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := in.Tools(ctx, run)
	fmt.Println(l.Tools[0].Def.Description, err)
	// Output: Read a file. Paths are relative to /src. <nil>
}

// Some models work better with few tools.
func ExamplePreparedAll() {
	tool := func(name string) *toolset.Tool[int] {
		return toolset.Plain[int](name, "", func(context.Context, struct{}) (string, error) { return "", nil })
	}
	s := toolset.PreparedAll(toolset.Of(tool("a"), tool("b"), tool("c")),
		func(_ context.Context, run *toolset.RunContext[int], defs []model.ToolDef) ([]model.ToolDef, error) {
			return defs[:min(len(defs), run.Deps)], nil
		})
	show(s, 2)
	// Output: [a b]
}
