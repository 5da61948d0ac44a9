// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

func TestSettledResultsAreWorthRecording(t *testing.T) {
	cut := model.Response(model.Text("cut o"))
	cut.Interrupted = true
	failed := engine.Return{Result: toolset.Result{Text: "stopped", Outcome: model.OutcomeFailed}}
	denied, allowed := toolset.Deny("nobody is there"), toolset.Allow()
	gone := errors.New("the user is gone")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for name, c := range map[string]struct {
		op    engine.Op
		done  engine.Done
		shape bool // an ended context may have shaped it
	}{
		"a response":              {engine.OpModel, engine.Done{Response: model.Response(model.Text("whole"))}, false},
		"a response that was cut": {engine.OpModel, engine.Done{Response: cut}, true},
		"a step":                  {engine.OpStep, engine.Done{Response: model.Response(model.Text("whole"))}, false},
		"a step without response": {engine.OpStep, engine.Done{Offer: new(engine.Offer)}, true},
		"a step with a wrong call": {engine.OpStep, engine.Done{
			Response: model.Response(model.Text("whole")), Checked: []engine.Checked{{Return: &failed, Own: true}},
		}, true},
		"arguments that are wrong":  {engine.OpCheck, engine.Done{Checked: []engine.Checked{{Return: &failed}}}, false},
		"a tool's own check":        {engine.OpCheck, engine.Done{Checked: []engine.Checked{{}, {Return: &failed, Own: true}}}, true},
		"own checks without errors": {engine.OpCheck, engine.Done{}, false},
		"a result":                  {engine.OpTool, engine.Done{Return: engine.Return{Result: toolset.Result{Text: "done"}}}, false},
		"a failure":                 {engine.OpTool, engine.Done{Return: failed}, true},
		"a retry":                   {engine.OpOutput, engine.Done{Return: engine.Return{Retry: true}}, true},
		"a denial":                  {engine.OpApprove, engine.Done{Decision: &denied}, true},
		"an approval":               {engine.OpApprove, engine.Done{Decision: &allowed}, false},
		"messages":                  {engine.OpInbox, engine.Done{Inbox: [][]model.Part{{model.User("Stop.")}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			task := &engine.Task{Op: c.op}
			live := c.done
			require.True(t, live.Settle(t.Context(), task), "its context has not ended")
			require.Equal(t, c.done, live)
			late := c.done
			require.Equal(t, !c.shape, late.Settle(ended, task))
			if c.shape {
				require.Equal(t, engine.Done{Err: gone}, late)
			} else {
				require.Equal(t, c.done, late)
			}
			wrong := c.done
			wrong.Err = errors.New("lost")
			require.False(t, wrong.Settle(t.Context(), task))
			require.EqualError(t, wrong.Err, "lost")
		})
	}
}
