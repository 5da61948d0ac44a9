// SPDX-License-Identifier: Apache-2.0

// Package plan lets an agent keep a plan of its work where the user can see it.
//
//	agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{plan.New[Deps]()},
//	}
//
// The model writes the whole plan with each call of the tool update_plan. The run then emits a custom event, whose
// value is a [view.Change] that replaces the entity [EntityID], of kind [view.Plan]. Editors show it as the
// protocol's plan. [Of] reads the plan from a history. It stays there when the history is summarised or shortened.
//
// A plan of an agent inside a tool is an event of that agent, nested like the others.
package plan
