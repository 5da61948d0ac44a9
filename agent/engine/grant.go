// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// textShare is what the model is told of a call that has used up its share.
const textShare = "%s failed: its share of the limit on %s is used up. " +
	"Calls of one response that run at the same time share what is left."

// grant holds a [*toolset.Grant]. With that type, every program would link grants.
type grant struct{ any }

func (g *grant) of() *toolset.Grant { return g.any.(*toolset.Grant) }

// Lend gives a call that may run beside others a [toolset.Grant], which [MarshalTask] writes in
// place of the state of the meter. Package agent calls it before it starts a task.
func (t *Task) Lend() {
	if t.Beside > 0 {
		t.grant = &grant{t.Info.Meter.Grant(int(t.Beside))}
	}
}

// Settle gives the grant back. If the task has ended because its share of a limit was used up, the
// call has failed, and the run continues. Package agent calls it with the result of the task.
func (t *Task) Settle(d *Done) {
	if t.grant == nil {
		return
	}
	g := t.grant.of()
	g.Return()
	if limit, ok := g.Reached(d.Err); ok {
		text := fmt.Sprintf(textShare, t.Call.Tool, limit.Limit)
		d.Return = Return{Result: toolset.Result{Text: text, Outcome: model.OutcomeFailed}}
		d.Err = nil
	}
}
