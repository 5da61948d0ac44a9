// SPDX-License-Identifier: Apache-2.0

// Package ask lets an agent ask the user questions while it works.
//
//	agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{ask.New[Deps](ask.Options{})},
//	}
//
// The tool ask_user asks the run's asker: a form in an editor, a prompt in a terminal. The question has a text, and may
// offer options to choose from. The run waits for the answer.
//
// If the question cannot be answered while the run waits, the model is told to continue with
// reasonable assumptions, or, with [Options.Defer], the call is left pending and the run ends. A
// later run takes the answer as the result of the call, as for an external tool: see
// agent.PendingError. [External] leaves every question pending.
package ask
