// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	native "github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// plain is a worker that has nothing to go by but the tasks. It notes what it was asked to do.
type plain struct{ done []string }

func (p *plain) Do(_ context.Context, t *engine.Task, _ engine.Listener, done *engine.Done) {
	note := fmt.Sprint(t.Op, " of step ", t.Info.Step)
	switch t.Op {
	case engine.OpPrepare:
		done.Offer = &engine.Offer{Text: true, Tools: []engine.Tool{{Name: "buy", Asks: true, Checks: true}, {Name: "look", Retries: 1}}, Defs: []model.ToolDef{{Name: "buy"}, {Name: "look"}}}
		if t.Process {
			note += ", processed"
		}
	case engine.OpModel:
		if done.Response = model.Response(model.Text("done")); t.Info.Step == 1 {
			done.Response = model.Response(model.ToolCall("a", "buy", `{"n":1}`), model.ToolCall("b", "look", `nonsense`))
		}
	case engine.OpCheck:
		for _, c := range t.Checks {
			note += fmt.Sprint(" ", c.Call.ID, c.Own)
		}
		done.Checked = []engine.Checked{{}, {Return: &engine.Return{Result: toolset.Result{Text: "no JSON"}, Retry: true}}}
	case engine.OpPreview:
		done.Return.Approval = &toolset.Approval{Reason: "money"}
	case engine.OpApprove:
		note += " " + t.Approval.Reason
		done.Decision = new(toolset.Allow())
	case engine.OpTool:
		note += fmt.Sprint(" ", t.Call.ID, t.Call.Approved)
		done.Return.Text = "bought"
	case engine.OpOutput:
		done.Output = t.Text
	}
	p.done = append(p.done, note)
}

func (p *plain) Emit(*engine.Event) bool { return true }

func TestEverythingOfAStepIsATask(t *testing.T) {
	var p plain
	eng := native.New(&p)
	res, err := loop.Run(t.Context(), eng, &p, &loop.Config{
		Prompt: []model.Part{model.User("go")}, Meter: new(toolset.Meter), Asks: true, Processed: true, Steered: true,
	})
	require.NoError(t, err)
	require.Equal(t, "done", res.Output)
	require.Equal(t, []string{
		"inbox of step 1", "prepare of step 1, processed", "model of step 1", "check of step 1 atrue bfalse",
		"preview of step 1", "approve of step 1 money", "tool of step 1 atrue",
		"inbox of step 2", "prepare of step 2, processed", "model of step 2", "output of step 2", "inbox of step 2",
	}, p.done)
	require.Equal(t, "no JSON", res.Messages[2].Parts[1].Text)
	require.Equal(t, model.PartRetry, res.Messages[2].Parts[1].Kind)
}
