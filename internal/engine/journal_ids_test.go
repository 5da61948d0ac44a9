// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// hostileIDs are ids of calls that look like the way to other calls.
var hostileIDs = []string{"c", "c/2", "c/~2", "c~12", "c~1~02", "c/1/c", "c/1/c/2", "c/2/1/c", "1", "1/2", "1/1/1", "/", "/2", "~2", "~", "2"}

// spread is an agent whose tool runs the agent below twice in each call, down to depth 0. Its calls are made one a step.
func spread(t *testing.T, depth int, keys *[]string) *agent.Agent[none, string] {
	ids := hostileIDs
	if depth == 1 {
		ids = []string{"1", "2", "c", "c/2"}
	}
	var steps []modeltest.Step
	var tools []*toolset.Tool[none]
	if depth > 0 {
		var calls []model.Part
		for _, id := range ids {
			calls = append(calls, model.ToolCall(id, "ask", "{}"))
		}
		steps = []modeltest.Step{modeltest.Say(calls...), modeltest.Say(calls[:2]...)}
		tools = append(tools, toolset.Func("ask", "", func(ctx context.Context, run *runContext, _ none) (string, error) {
			*keys = append(*keys, run.IdempotencyKey())
			for range 2 {
				if _, err := spread(t, depth-1, keys).Run(ctx, none{}, "go", agent.Within(run)); err != nil {
					return "", err
				}
			}
			return "", nil
		}, toolset.Sequential()))
	}
	return newAgent(t, config{Limits: agent.Limits{Requests: 10_000}}, modeltest.Script(append(steps, modeltest.SayText("done"))...), tools...)
}

func TestNoTwoRunsInsideARunShareAnID(t *testing.T) {
	var memory journal.Memory
	var ids, keys []string
	j := journal.Func(func(ctx context.Context, run string) (journal.Log, error) {
		ids = append(ids, run)
		return memory.Open(ctx, run)
	})
	_, err := spread(t, 2, &keys).Run(t.Context(), none{}, "go", withRun(j)...)
	require.NoError(t, err)
	outer := len(hostileIDs) + 2
	require.Len(t, ids, 1+2*outer+2*outer*2*6)
	for _, all := range [][]string{ids, keys} {
		slices.Sort(all)
		require.Len(t, slices.Compact(slices.Clone(all)), len(all), "%q", all)
	}
}

func TestTasksThatDifferHaveDifferentKeys(t *testing.T) {
	seen := map[string]engine.Task{}
	for _, op := range []engine.Op{engine.OpTool, engine.OpApprove, engine.OpOutput} {
		for _, approved := range []bool{false, true} {
			for _, id := range append([]string{"c/approved", "approved"}, hostileIDs...) {
				if approved && op != engine.OpTool {
					continue
				}
				task := engine.Task{Op: op, Info: &toolset.RunInfo{Step: 1}, Call: &engine.Call{Call: toolset.Call{ID: id, Approved: approved}}}
				require.NotContains(t, seen, task.Key(), "%v", task)
				seen[task.Key()] = task
			}
		}
	}
}
