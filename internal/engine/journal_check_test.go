// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// judging is a check of a tool that asks a model, which counts how often.
func judging(asked *int, verdict func(run *runContext) error) toolset.Option {
	judge := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		*asked++
		resp := model.Response(model.Text("fine"))
		resp.Usage = stepUsage
		return resp, nil
	})
	return toolset.Check(func(ctx context.Context, run *runContext, _ none) error {
		if _, err := run.Meter.Generate(ctx, judge, &model.Request{Messages: []*model.Message{model.UserText("May it?")}}, nil); err != nil {
			return err
		}
		return verdict(run)
	})
}

// TestChecksThatAskModelsAreCountedOnce kills a run at every record. A check that is recorded is not
// made again, in the process that ends the run as little as in one that repeats it, and what it has
// asked counts in all of them.
func TestChecksThatAskModelsAreCountedOnce(t *testing.T) {
	for _, written := range []bool{false, true} {
		for kill := 0; ; kill++ {
			name := fmt.Sprintf("kill %d, written %v", kill, written)
			var j journal.Memory
			asked, acted := 0, 0
			live := func(j journal.Journal) (toolset.Usage, error) {
				tool := counted("act", &acted, says("acted"), judging(&asked, func(run *runContext) error {
					if run.Call.ID == "1" {
						return toolset.Retry("not like this")
					}
					return nil
				}))
				m := model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
					if len(req.Messages) == 1 {
						return model.Response(model.ToolCall("0", "act", "{}"), model.ToolCall("1", "act", "{}")), nil
					}
					return model.Response(model.Text("done")), nil
				})
				meter := toolset.NewMeter(toolset.Limits{})
				a := newAgent(t, config{MaxParallelCalls: 1}, m, tool)
				_, err := a.Run(t.Context(), none{}, "go", agent.WithJournal(j), agent.WithRunID("r"), agent.WithMeter(meter))
				return meter.Usage(), err
			}
			_, err := live(&mortal{Journal: &j, left: kill, written: written})
			if err == nil {
				require.Greater(t, kill, 4, "there are records of checks")
				break
			}
			require.ErrorIs(t, err, errKilled)
			unrecorded := 0 // of the checks: the first record has the usage of both
			if kill == 2 && !written {
				unrecorded = 2
			}
			used, err := live(&j)
			require.NoError(t, err, name)
			require.Equal(t, asked-unrecorded, used.Requests-2, name)
			require.Equal(t, int64(asked-unrecorded)*stepUsage.InputTokens, used.Usage.InputTokens, name)
			before := asked
			again, err := live(&j)
			require.NoError(t, err, name)
			require.Equal(t, used, again, name)
			require.Equal(t, before, asked, name)
		}
	}
}

// TestChecksThatTheEndOfTheRunHasShapedAreNotRecorded: a check that fails because the run was
// cancelled is made again when the run is resumed.
func TestChecksThatTheEndOfTheRunHasShapedAreNotRecorded(t *testing.T) {
	var j journal.Memory
	acted := 0
	live := func(ctx context.Context, check func() error, steps ...modeltest.Step) error {
		tool := counted("act", &acted, says("acted"), toolset.Check(func(context.Context, *runContext, none) error { return check() }))
		_, err := newAgent(t, config{}, modeltest.Script(steps...), tool).Run(ctx, none{}, "go", agent.WithJournal(&j), agent.WithRunID("r"))
		return err
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the user is gone")
	err := live(ctx, func() error {
		cancel(gone)
		return toolset.Failed("no answer: %v", ctx.Err())
	}, calls("act"))
	require.ErrorIs(t, err, gone)
	require.NoError(t, live(t.Context(), func() error { return nil }, modeltest.SayText("done")))
	require.Equal(t, 1, acted)
}
