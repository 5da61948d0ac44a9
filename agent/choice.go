// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
)

// chosen returns the offer of a step with the run's tool choice.
func chosen(f engine.Offer, choice model.ToolChoice, step int) (*engine.Offer, error) {
	switch {
	case choice.Mode == model.ToolChoiceNone:
		forbidTools(&f)
	case choice.Mode == model.ToolChoiceTool && !slices.ContainsFunc(f.Defs, func(d model.ToolDef) bool { return d.Name == choice.Tool }):
		return nil, errs.Errorf("tool choice: unknown tool %q", choice.Tool)
	case step == 1:
		f.Choice = choice
	}
	return &f, nil
}

// forbidTools makes the output the only call that the offer accepts. If the output is not a call, the model still sees the
// definitions, because some providers require them when the history contains calls.
func forbidTools(f *engine.Offer) {
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
