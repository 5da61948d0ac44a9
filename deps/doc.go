// SPDX-License-Identifier: Apache-2.0

// Package deps is what an agent needs of the editor that it works in: the client's end of an ACP connection, the
// session, the state of its tool calls, and what the user has decided about permissions.
//
// An agent that is to run in editors embeds [ACPDeps] in its dependencies. That makes them a [Carrier], so that
// acpbridge.Toolset can serve the agent, and acpbridge.Serve fills it in for each session:
//
//	type Deps struct {
//		deps.ACPDeps
//		DB *sql.DB
//	}
//
// In a unit test acptest.Client fills it in, without a connection.
//
// # Tool calls
//
// A [Tracker] keeps every tool call of a session as an entity with an id and projects the updates of version 1 of the
// protocol from its changes: one tool_call when the call is first heard of, and then a tool_call_update with what has
// changed, and nothing if nothing has. Several sides may report the same call, the bridge that watches the run as well
// as the tool that does the work: whoever comes first announces it.
//
// # Permissions
//
// An [approval.Policy] remembers what the user has answered with "always". It belongs to a session and is kept with it as JSON.
//
// # Concurrency
//
// All types may be used from several goroutines at once. The fields of [Session] are set before the session's first run and
// not changed afterwards. Nil is a valid [*Tracker], which reports nothing, and a valid [*approval.Policy], which remembers nothing.
package deps
