// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// choose applies the run's tool choice to the offer of a step.
func (r *agentRun[D, O]) choose(step int) error {
	f, choice := &r.offer, r.options.choice
	f.Choice = model.ToolChoice{}
	switch {
	case choice.Mode == model.ToolChoiceNone:
		r.forbidTools()
	case choice.Mode == model.ToolChoiceTool && !slices.ContainsFunc(f.Defs, func(d model.ToolDef) bool { return d.Name == choice.Tool }):
		return fmt.Errorf("tool choice: unknown tool %q", choice.Tool)
	case step == 1:
		f.Choice = choice
	}
	return nil
}

// forbidTools makes the output the only call that the offer accepts. If the output is not a call, the model still sees the
// definitions, because some providers require them when the history contains calls.
func (r *agentRun[D, O]) forbidTools() {
	f := &r.offer
	all, defs := f.Tools, f.Defs
	f.Tools, f.Defs = nil, nil
	for i := range all {
		if all[i].Output { // Tools and Defs go together
			f.Tools, f.Defs = append(f.Tools, all[i]), append(f.Defs, defs[i])
		}
	}
	if f.Tools == nil {
		f.Defs = defs
		f.Choice = model.ToolChoice{Mode: model.ToolChoiceNone}
	}
}
