// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"

	"github.com/ponte-go/ponte/toolset"
)

// Toolset returns all tools of the agent and its capabilities. With [Agent.Override], a program offers some of them:
//
//	ctx = a.Override(ctx, agent.Overrides[Deps]{Toolsets: []toolset.Toolset[Deps]{toolset.Filtered(a.Toolset(), keep)}})
func (a *Agent[D, O]) Toolset() toolset.Toolset[D] { return a.tools }

// combined combines toolsets of the agent. Tools of servers do not get the names of its output.
func (a *Agent[D, O]) combined(sets []toolset.Toolset[D]) toolset.Toolset[D] {
	if a.output == nil || len(a.output.alternatives) == 0 {
		return toolset.Combine(sets...)
	}
	names := make([]string, len(a.output.alternatives))
	for i := range names {
		names[i] = a.output.alternatives[i].def.Name
	}
	return toolset.Combine(append(slices.Clip(sets), toolset.Reserved[D](names...))...)
}
