// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Overrides replace parts of an agent for a scope: see [Agent.Override]. What is nil is left as it is.
type Overrides[D any] struct {
	// Model answers in place of the agent's, and of that given by [WithModel].
	Model model.Model
	// Deps are passed in place of the caller's.
	Deps *D
	// Toolsets are offered in place of all tools of the agent and its capabilities; an empty slice that is not nil offers none.
	Toolsets []toolset.Toolset[D]
}

// Override returns a context in which the agent runs with other parts. It is meant for tests of code that runs the agent
// itself: overrides beat the options of a run, and other agents and contexts are not affected.
func (a *Agent[D, O]) Override(ctx context.Context, o Overrides[D]) context.Context {
	o.Toolsets = slices.Clone(o.Toolsets) // nil stays nil
	return context.WithValue(ctx, overrideKey[D, O]{a}, &o)
}

// overrideKey tells the overrides of agents apart, by their identity.
type overrideKey[D, O any] struct{ agent *Agent[D, O] }

// overridden returns what replaces parts of the agent in ctx, or nil.
func (a *Agent[D, O]) overridden(ctx context.Context) *Overrides[D] {
	o, _ := ctx.Value(overrideKey[D, O]{a}).(*Overrides[D])
	return o
}
