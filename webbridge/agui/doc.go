// SPDX-License-Identifier: Apache-2.0

// Package agui lets clients of the AG-UI protocol talk to the agent of a webbridge. It speaks
// version 1.0 as server-sent events, for HttpAgent of @ag-ui/client works unchanged.
//
//	h, err := webbridge.New(webbridge.Config[Deps, string]{
//		Host:    host.Config[Deps, string]{Agent: a, Store: store},
//		Options: webbridge.Options{User: user, Protocols: []webbridge.Protocol{agui.New(agui.Options{})}},
//	})
//
// # Routes
//
//	POST /api/agui            runs the agent: the body is a RunAgentInput
//	POST /api/agui/ID/stop    cancels the turn of a thread
//
// A thread id is either chosen by the client or the id of one of the user's sessions: see
// [webbridge.Handler.Named].
//
// # Input
//
// The text and the files of the last message, if it is the user's, and the answers to interrupts
// that the store knows to be open. A run without either shows the thread as it is and follows a
// running turn: this is what a reloaded page needs. A last message that the thread has already is
// answered anew: the session is taken back to before it. History, state, context, tools and
// forwarded properties have no effect. Results of tools count for the external tools that
// [Options].Results names; clients cannot define tools.
//
// # Output
//
// A run begins with RUN_STARTED, MESSAGES_SNAPSHOT, in which messages have the ids of the store, and STATE_SNAPSHOT. The state has session, plan and
// usage. Responses of the model are steps with text messages, reasoning and tool calls; agents inside tool calls are subagents, with tool
// calls of their own. Notices, commands, compactions, files and sources are activities.
//
// Calls that need approval, and questions of tools, end the run with interrupts. The payload that answers an approval has approved, and optionally reason and
// editedArgs, which replace the arguments; that of a question is the form. The id of an interrupt holds for exactly what it asks. A turn that is
// cancelled ends with the outcome cancelled, one that fails with RUN_ERROR.
package agui
