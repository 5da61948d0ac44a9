// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestPerRunBuildsOncePerRun(t *testing.T) {
	built := 0
	inner := record("inner", tells("a"))
	s := toolset.PerRun("dynamic", func(_ context.Context, run *runContext) (set, error) {
		built++
		require.Equal(t, "Ada", run.Deps.Name)
		require.NotEmpty(t, run.RunID)
		return inner, nil
	})
	for range 2 {
		tr := run(t, []set{s}, say("a"), say("a"), done)
		require.NoError(t, tr.err)
	}
	require.Equal(t, 2, built)
	require.Equal(t, []string{"open", "tools", "tools", "tools", "close", "open", "tools", "tools", "tools", "close"}, inner.log)
}

func TestNilToolsetHasNoTools(t *testing.T) {
	none := func(context.Context, *runContext) (set, error) { return nil, nil }
	tr := run(t, []set{toolset.PerRun("r", none), toolset.PerStep("s", none)}, done)
	require.NoError(t, tr.err)
	require.Equal(t, [][]string{{}}, tr.offered)
}

func TestPerStepClosesReplacedInstances(t *testing.T) {
	a, b := record("a", tells("a")), record("b", tells("b"))
	s := perStep(func(step int) set { return []set{1: a, 2: a, 3: b, 4: nil, 5: a}[step] })
	tr := run(t, []set{s}, say("a"), say("a"), say("b"), say("b"), done)
	require.NoError(t, tr.err)
	require.Equal(t, [][]string{{"a"}, {"a"}, {"b"}, {}, {"a"}}, tr.offered)
	require.Equal(t, []string{"open", "tools", "tools", "close", "open", "tools", "close"}, a.log)
	require.Equal(t, []string{"open", "tools", "close"}, b.log)
}

func TestPerStepDropsToolsetsThatFailToOpen(t *testing.T) {
	a, b := record("a", tells("a")), record("b", tells("b"))
	a.closeErr, b.openErr = errors.New("stuck"), errBoom
	tr := run(t, []set{toolset.Named(perStep(func(step int) set { return []set{1: a, 2: b}[step] }), "x")}, say("a"))
	require.ErrorIs(t, tr.err, errBoom)
	require.ErrorContains(t, tr.err, `tools of toolset "x": open toolset "b": boom`)
	require.ErrorContains(t, tr.err, `close toolset "x": close toolset "a": stuck`, "earlier errors are kept")
	require.Equal(t, 1, a.count("close"))
	require.Equal(t, 0, b.count("close"))
}

func TestFailedBuildFunctionEndsTheRun(t *testing.T) {
	for _, makeSet := range []func(string, func(context.Context, *runContext) (set, error)) set{toolset.PerRun[deps], toolset.PerStep[deps]} {
		other := record("other", tells("other"))
		tr := run(t, []set{other, makeSet("mine", func(context.Context, *runContext) (set, error) { return nil, errBoom })}, done)
		require.ErrorIs(t, tr.err, errBoom)
		require.ErrorContains(t, tr.err, `toolset "mine": build: boom`)
		tr = run(t, []set{other, makeSet("mine", func(context.Context, *runContext) (set, error) { panic("oops") })}, done)
		require.ErrorContains(t, tr.err, "oops")
		require.Equal(t, 2, other.count("open"))
		require.Equal(t, 2, other.count("close"))
	}
}

// several is a toolset of a type that Go cannot compare.
type several []set

func (s several) Name() string { return "several" }

func (s several) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return toolset.Combine(s...).Open(ctx, run)
}

func TestPerStepAcceptsIncomparableToolsets(t *testing.T) {
	inner := record("inner", tells("a"))
	tr := run(t, []set{perStep(func(int) set { return several{inner} })}, say("a"), done)
	require.NoError(t, tr.err)
	require.Equal(t, 2, inner.count("open"))
	require.Equal(t, 2, inner.count("close"))
}

func TestPerStepInstancesBelongToOneRun(t *testing.T) {
	inner := record("inner", tells("a"))
	s := perStep(func(int) set { return inner })
	a := newAgent(t, modeltest.Script(say("a"), say("a"), done, done), s)
	for range 2 {
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
	}
	require.Equal(t, 2, inner.count("open"))
	require.Equal(t, 2, inner.count("close"))
}

func ExamplePerRun() {
	type Deps struct{ Tables []string }
	s := toolset.PerRun("tables", func(_ context.Context, run *toolset.RunContext[Deps]) (toolset.Toolset[Deps], error) {
		var tools []*toolset.Tool[Deps]
		for _, table := range run.Deps.Tables {
			tools = append(tools, toolset.Plain[Deps]("count_"+table, "", func(context.Context, struct{}) (int, error) { return 7, nil }))
		}
		return toolset.Of(tools...), nil
	})
	show(s, Deps{Tables: []string{"users", "orders"}})
	// Output: [count_users count_orders]
}

// The tools that an agent may use depend on the mode, which may change during a run.
func ExamplePerStep() {
	type Deps struct{ Mode *string }
	tool := func(name string) *toolset.Tool[Deps] {
		return toolset.Plain[Deps](name, "", func(context.Context, struct{}) (string, error) { return "", nil })
	}
	reading := toolset.Of(tool("read"))
	writing := toolset.Combine(reading, toolset.Of(tool("write")))
	s := toolset.PerStep("mode", func(_ context.Context, run *toolset.RunContext[Deps]) (toolset.Toolset[Deps], error) {
		if *run.Deps.Mode == "plan" {
			return reading, nil
		}
		return writing, nil
	})
	mode := "plan"
	show(s, Deps{&mode})
	mode = "act"
	show(s, Deps{&mode})
	fmt.Println(s.Name())
	// Output:
	// [read]
	// [read write]
	// mode
}
