// SPDX-License-Identifier: Apache-2.0

// Package deps holds what an agent needs to know about the editor it works in: the client side of
// an ACP connection, the session, the state of its tool calls, and the user's decisions about
// permissions.
//
// An agent for editors embeds [ACPDeps] in its dependencies. The dependencies are then a [Carrier],
// which acpbridge.Toolset requires, and acpbridge.Serve fills in ACPDeps for each session:
//
//	type Deps struct {
//		deps.ACPDeps
//		DB *sql.DB
//	}
//
// In unit tests, acptest.Client fills it in without a connection.
//
// # Tool calls
//
// A [Tracker] keeps the state of every tool call of a session and sends its changes as updates of
// protocol version 1: one tool_call when the call is first reported, and a tool_call_update
// whenever something has changed. Several parties may report the same call, for example the bridge
// that observes the run and the tool that does the work. The first report announces it.
//
// # Permissions
//
// An [approval.Policy] remembers the user's "always" answers. It belongs to a session and is stored
// with it as JSON.
//
// # Concurrency
//
// All types are safe for concurrent use. The fields of [Session] are set before the session's first
// run and not changed afterwards. A nil [*Tracker] is valid and reports nothing. A nil
// [*approval.Policy] is valid and remembers nothing.
package deps
