// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// TestHooksKnowWhatIsRepeated: the loop is executed again when a workflow is replayed, and its Run hooks with it. Requests and calls are
// not. Package otelagent records by that.
func TestHooksKnowWhatIsRepeated(t *testing.T) {
	var mu sync.Mutex
	var seen []engine.Part
	note := func(ctx context.Context) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, engine.PartOf(ctx))
	}
	hooks := func(c *agent.Config[deps, report]) {
		c.Hooks = []agent.Hooks[deps]{{
			Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
				note(ctx)
				_, err := next(ctx)
				return err
			},
			Request: func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				note(ctx)
				return next(ctx, req)
			},
			Call: func(ctx context.Context, _ *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
				note(ctx)
				return next(ctx, args)
			},
		}}
	}
	m := said(model.Response(model.ToolCall("a", "work", `{"n":1}`)), model.Response(final("done")))
	k := new(keys)
	_, err := play(t, config(storyteller(m, researcher(insideModel(), k), k, hooks), new(temporalengine.MemoryBlobs)), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	require.Equal(t, []engine.Part{engine.LoopOnly, engine.TaskOnly, engine.TaskOnly, engine.TaskOnly}, seen[:4])

	for _, file := range goldenFiles(t, "plain") {
		seen = nil
		outer, inner := goldenStories["plain"].configs(hooks)
		require.NoError(t, replay(t, file, outer, inner), file)
		require.NotEmpty(t, seen)
		for _, part := range seen {
			require.Equal(t, engine.LoopOnly, part, "nothing but the loop is repeated")
		}
	}
}
