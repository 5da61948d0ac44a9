// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/ponte-go/ponte/toolset"

// Toolset returns all tools of the agent and its capabilities. With [Agent.Override], a program offers some of them:
//
//	ctx = a.Override(ctx, agent.Overrides[Deps]{Toolsets: []toolset.Toolset[Deps]{toolset.Filtered(a.Toolset(), keep)}})
func (a *Agent[D, O]) Toolset() toolset.Toolset[D] { return a.tools }
