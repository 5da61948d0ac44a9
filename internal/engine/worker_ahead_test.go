// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestTaskThatIsExecutedAgainKeepsLimits kills a worker in a call that runs two agents side by side, and has another worker execute the
// task again. One of the agents begins late then.
func TestTaskThatIsExecutedAgainKeepsLimits(t *testing.T) {
	const limit = 9
	var late bool
	var made atomic.Int64
	inner := func() *agent.Agent[none, string] {
		return newAgent(t, config{Limits: agent.Limits{Requests: agent.Unlimited}}, model.Func(model.Info{}, func(ctx context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			made.Add(1)
			return model.Response(model.ToolCall("w", "work", "{}")), nil
		}), toolset.Plain[none]("work", "", func(context.Context, none) (string, error) { return "worked", nil }))
	}
	outer := func() *agent.Agent[none, string] {
		both := toolset.Func("both", "", func(ctx context.Context, run *runContext, _ none) (string, error) {
			var all sync.WaitGroup
			var errs [2]error
			for i := range errs {
				within := agent.Within(run)
				all.Go(func() {
					if late && i == 1 {
						time.Sleep(time.Hour)
					}
					_, errs[i] = inner().Run(ctx, none{}, "go", within)
				})
			}
			all.Wait()
			return "", errors.Join(errs[:]...)
		})
		return newAgent(t, config{Limits: agent.Limits{Requests: limit}}, modeltest.Script(calls("both")), both)
	}
	resumed := 0
	for kill, over := 1, false; !over; kill++ {
		synctest.Test(t, func(t *testing.T) {
			k := &known{Journal: new(journal.Memory)}
			late = false
			made.Store(0)
			recorded := -1
			_, err := outer().Run(t.Context(), none{}, "go", remotely(new(int), func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
				first, err := engine.UnmarshalTask(task)
				if err != nil {
					return nil, err
				}
				if first.Op == engine.OpTool {
					w := agent.NewWorker(outer(), none{}, agent.WithJournal(&mortal{Journal: k, left: kill}))
					done, err := engine.Execute(ctx, w, task, report)
					require.NoError(t, err)
					if !isKilled(t, first, done) {
						over = true
						return done, nil
					}
					recorded, late = k.used(t).Requests, true
					made.Store(0)
				}
				return engine.Execute(ctx, agent.NewWorker(outer(), none{}, agent.WithJournal(k)), task, report)
			}))
			require.ErrorAs(t, err, new(*agent.LimitError))
			if over {
				return
			}
			require.EqualValues(t, limit, 1+int64(recorded)+made.Load(), "kill %d: recorded %d, then made %d", kill, recorded, made.Load())
			resumed++
		})
	}
	require.Greater(t, resumed, 5)
}

func isKilled(t *testing.T, task *engine.Task, data []byte) bool {
	done, err := engine.UnmarshalDone(task, data)
	require.NoError(t, err)
	return done.Err != nil && !errors.As(done.Err, new(*agent.LimitError))
}
