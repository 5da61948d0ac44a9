// SPDX-License-Identifier: Apache-2.0

// Package plan lets an agent keep a plan of its work where the user can see it.
//
//	agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{plan.New[Deps]()},
//	}
//
// The model writes the plan with the tool update_plan, as a whole each time. Each plan is an event of the run: a custom event
// whose value is a [view.Change] that replaces the entity [EntityID], of the kind [view.Plan]. acpbridge shows it in the editor as the protocol's
// plan. The plan is in the history as well, as the arguments of the last call; [Of] reads it from there.
//
// A plan of an agent inside a tool is an event of that agent, nested like the others.
package plan
