// SPDX-License-Identifier: Apache-2.0

// Package capability has capabilities that need nothing but the run: [Ask], [Plan] and
// [Conversations]. Those for a larger area, such as notes, skills or pages of the web, are
// packages below this one.
//
// # Questions
//
// [Ask] lets an agent ask the user questions while it works:
//
//	agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{capability.Ask[Deps](capability.AskOptions{})},
//	}
//
// The tool ask_user asks the run's asker: a form in an editor, a prompt in a terminal. The
// question has a text, and may offer options to choose from. The run waits for the answer.
//
// If the question cannot be answered while the run waits, the model is told to continue with
// reasonable assumptions, or, with [AskOptions.Defer], the call is left pending and the run ends. A
// later run takes the answer as the result of the call, as for an external tool: see
// agent.PendingError. [AskExternal] leaves every question pending.
//
// # Plans
//
// [Plan] lets an agent keep a plan of its work where the user can see it:
//
//	agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{capability.Plan[Deps]()},
//	}
//
// The model writes the whole plan with each call of the tool update_plan. The run then emits a
// custom event, whose value is a [view.Change] that replaces the entity [PlanEntityID], of kind
// [view.Plan]. Editors show it as the protocol's plan. [PlanOf] reads the plan from a history. It
// stays there when the history is summarised or shortened.
//
// A plan of an agent inside a tool is an event of that agent, nested like the others.
//
// # Earlier conversations
//
// [Conversations] lets an agent search the conversations of earlier sessions:
//
//	capability.Conversations(func(d Deps) capability.ConversationScope {
//		return capability.ConversationScope{Store: d.Store, Dir: d.Dir, Current: d.SessionID}
//	})
//
// The tool search_conversations searches for words in what users and agents said, the latest
// sessions first, and returns excerpts. The tool read_conversation returns the text around one of
// them. Results of tools are not searched.
//
// A run sees only the sessions of its [ConversationScope]. To keep users of one store apart, give
// them different directories, or separate stores.
//
// A search reads at most [MaxConversations] sessions and [MaxConversationBytes] bytes. The model
// is told if there are more. If the store cannot be reached, the model is told that the
// conversations cannot be read, and the run continues.
package capability
