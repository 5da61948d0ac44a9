// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

func TestAdaptKeepsTheRunContext(t *testing.T) {
	both(t, toolset.Of(toolset.Func("look", "", func(_ context.Context, run *runContext, _ noArgs) (string, error) {
		run.Emit("event")
		return fmt.Sprintf("%s %s step %d, messages %t, call %s of %s, %d retries",
			run.Deps.Name, run.RunID, run.Step, len(run.Messages) > 0, run.Call.ID, run.Call.Tool, run.Call.MaxRetries), nil
	}, toolset.Retries(7))), func(t *testing.T, inner set) {
		a, err := agent.New(agent.Config[wider, string]{
			Model:    modeltest.Script(say("x_look"), done),
			Toolsets: []toolset.Toolset[wider]{toolset.Prefixed(toolset.Adapt(inner, func(w wider) deps { return w.deps }), "x_")},
		})
		require.NoError(t, err)
		s := a.Stream(t.Context(), wider{deps{"Ada"}, 1}, "go", agent.WithRunID("r1"))
		var custom []any
		for e := range s.Events() {
			if e.Kind == agent.EventCustom {
				custom = append(custom, e.Value)
			}
		}
		res, err := s.Result()
		require.NoError(t, err)
		require.Equal(t, "Ada r1 step 1, messages true, call call0 of look, 7 retries", res.Messages[2].Parts[0].Text)
		require.Equal(t, []any{"event"}, custom)
	})
}

func TestAdaptPassesNarrowDepsEverywhere(t *testing.T) {
	var seen []string
	see := func(where string, run *runContext) { seen = append(seen, where+" "+run.Deps.Name) }
	inner := toolset.PerRun("inner", func(_ context.Context, run *runContext) (set, error) {
		see("open", run)
		return toolset.Filtered(tells("a"), func(_ context.Context, run *runContext, _ *toolset.Tool[deps]) (bool, error) {
			see("step", run)
			return true, nil
		}), nil
	})
	adapted := toolset.Adapt(inner, func(n int) deps { return deps{fmt.Sprint("number ", n)} })
	res, err := toolsettest.Call(t.Context(), adapted, &toolset.RunContext[int]{Deps: 42}, "a", "{}")
	require.NoError(t, err)
	require.Equal(t, "a for number 42", res.Text)
	require.Equal(t, []string{"open number 42", "step number 42"}, seen)
	require.Equal(t, "inner", adapted.Name())
}

func TestPanicOfAnAdapterEndsTheRun(t *testing.T) {
	tr := run(t, []set{toolset.Adapt(tells("a"), func(deps) deps { panic("oops") })}, say("a"))
	require.ErrorContains(t, tr.err, "oops")
}

func TestAdaptAllocatesOneRunContextPerCall(t *testing.T) {
	inner := &toolset.Tool[deps]{Call: func(context.Context, *runContext, any) (toolset.Result, error) { return toolset.Result{}, nil }}
	inner.Def = model.ToolDef{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}
	in, err := toolset.Adapt(toolset.Of(inner), func(w wider) deps { return w.deps }).Open(t.Context(), nil)
	require.NoError(t, err)
	l, err := in.Tools(t.Context(), nil)
	require.NoError(t, err)
	rc := &toolset.RunContext[wider]{}
	require.EqualValues(t, 1, testing.AllocsPerRun(100, func() {
		_, _ = l.Tools[0].Call(context.Background(), rc, nil)
	}))
}

func ExampleAdapt() {
	// A package of tools knows only what it needs itself.
	type Weather struct{ Station string }
	weather := toolset.Of(toolset.Func("station", "", func(_ context.Context, run *toolset.RunContext[Weather], _ struct{}) (string, error) {
		return run.Deps.Station, nil
	}))

	// The agent that uses it has more.
	type Deps struct {
		User    string
		Weather Weather
	}
	tools := toolset.Adapt(weather, func(d Deps) Weather { return d.Weather })
	run := &toolset.RunContext[Deps]{Deps: Deps{User: "Ada", Weather: Weather{Station: "Oslo"}}}
	res, err := toolsettest.Call(context.Background(), tools, run, "station", `{}`)
	fmt.Println(res.Text, err)
	// Output: Oslo <nil>
}
