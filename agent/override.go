// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Overrides replace parts of an agent within a context. See [Agent.Override]. Nil fields replace nothing.
type Overrides[D any] struct {
	// Model replaces the agent's model and the model of [WithModel].
	Model model.Model
	// Deps replaces the caller's dependencies.
	Deps *D
	// Toolsets replace all tools of the agent and its capabilities. A slice that is empty but not nil offers no tools.
	Toolsets []toolset.Toolset[D]
}

// Override returns a context in which the agent runs with other parts. It is meant for tests of code that runs the agent.
// Overrides take precedence over the options of a run. Other agents are not affected.
func (a *Agent[D, O]) Override(ctx context.Context, o Overrides[D]) context.Context {
	o.Toolsets = slices.Clone(o.Toolsets) // nil stays nil
	return context.WithValue(ctx, overrideKey[D, O]{a}, &o)
}

// overrideKey identifies the overrides of one agent.
type overrideKey[D, O any] struct{ agent *Agent[D, O] }

// overridden returns the overrides of the agent in ctx, or nil.
func (a *Agent[D, O]) overridden(ctx context.Context) *Overrides[D] {
	o, _ := ctx.Value(overrideKey[D, O]{a}).(*Overrides[D])
	return o
}
