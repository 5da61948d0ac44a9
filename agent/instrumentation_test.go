// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestAddedInstrumentationIsInsideOfWhatIsThere(t *testing.T) {
	var order []string
	hook := func(name string) agent.Hooks[any] {
		return agent.Hooks[any]{Run: func(ctx context.Context, _ *toolset.RunContext[any], next agent.RunFunc) error {
			order = append(order, name)
			_, err := next(ctx)
			return err
		}}
	}
	run := func(ctx context.Context) []string {
		order = nil
		own := agent.Hooks[string]{Run: func(ctx context.Context, _ *toolset.RunContext[string], next agent.RunFunc) error {
			order = append(order, "own")
			_, err := next(ctx)
			return err
		}}
		typed := agent.Must(agent.New(agent.Config[string, string]{
			Model: modeltest.Script(modeltest.SayText("ok")), Hooks: []agent.Hooks[string]{own},
		}))
		_, err := typed.Run(ctx, "deps", "go")
		require.NoError(t, err)
		untyped := agent.Must(agent.New(agent.Config[any, string]{
			Model: modeltest.Script(modeltest.SayText("ok")), Hooks: []agent.Hooks[any]{hook("own")},
		}))
		before := order
		order = nil
		_, err = untyped.Run(ctx, nil, "go")
		require.NoError(t, err)
		require.Equal(t, before, order)
		return order
	}
	require.Equal(t, []string{"c", "own"}, run(agent.AddInstrumentation(t.Context(), hook("c"))))
	ctx := agent.WithInstrumentation(t.Context(), hook("a"), hook("b"))
	require.Equal(t, []string{"a", "b", "c", "own"}, run(agent.AddInstrumentation(ctx, hook("c"))))
	require.Equal(t, []string{"a", "b", "own"}, run(ctx))

	agent.SetInstrumentation(hook("program"))
	defer agent.SetInstrumentation()
	require.Equal(t, []string{"program", "c", "own"}, run(agent.AddInstrumentation(t.Context(), hook("c"))))
	none := agent.WithInstrumentation(t.Context())
	require.Equal(t, []string{"c", "own"}, run(agent.AddInstrumentation(none, hook("c"))))
}
