// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// TestRunsInsideOldRecordsAreFound has records in which the ids of runs inside are those of version 2.
func TestRunsInsideOldRecordsAreFound(t *testing.T) {
	made, keys := 0, []string(nil)
	tool := func(err error) *toolset.Tool[none] {
		return toolset.Func("ask", "", func(ctx context.Context, run *runContext, _ none) (string, error) {
			keys = append(keys, run.IdempotencyKey())
			for n := range 2 {
				inner := newAgent(t, config{}, model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
					made++
					return model.Response(model.Text(fmt.Sprint("answer ", n))), nil
				}))
				if _, err := inner.Run(ctx, none{}, "go", agent.Within(run)); err != nil {
					return "", err
				}
			}
			return "", err
		})
	}
	var now, old journal.Memory
	call := modeltest.Say(model.ToolCall("a/b~", "ask", "{}"))
	_, err := run(t, &now, config{}, []modeltest.Step{call}, tool(errBoom))
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, 2, made)
	for id, was := range map[string]string{"r": "r", "r/1/a~1b~0": "r/1/a/b~", "r/1/a~1b~0/~2": "r/1/a/b~/2"} {
		log, err := old.Open(t.Context(), was)
		require.NoError(t, err)
		records := raw(t, &now, id)
		require.NotEmpty(t, records, id)
		for _, r := range records {
			r = strings.Replace(strings.Replace(r, `"v":3`, `"v":2`, 1), `"run":"`+id+`"`, `"run":"`+was+`"`, 1)
			require.NoError(t, log.Append(t.Context(), []byte(r)))
		}
		require.NoError(t, log.Close())
	}
	res, err := run(t, &old, config{}, []modeltest.Step{modeltest.SayText("done")}, tool(nil))
	require.NoError(t, err)
	require.Equal(t, 2, made, "the runs inside are resumed")
	require.Equal(t, []string{"r/1/a~1b~0", "r/1/a/b~"}, keys, "the key of the old records is the same when the call is made again")
	require.Equal(t, 4, res.Usage.Requests)
}
