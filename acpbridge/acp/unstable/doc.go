// SPDX-License-Identifier: Apache-2.0

// Package unstable has the unstable methods, updates and fields of the Agent Client Protocol:
// session/fork, session/archive, session/unarchive, session/set_title, session/status, auth/status,
// the providers of models, messages of MCP servers that a client hosts; the updates of sub-agents,
// of messages between sessions, and of several plans; and fields such as systemPrompt. They, and
// this package, may change with every release of the protocol. Package acp has the stable part and
// does not import this one.
//
// # Methods
//
// An agent implements [Agent], and a client [Client]. [ServeAgent] and [ServeClient] make them part
// of a connection:
//
//	opts := &acp.ConnOptions{}
//	unstable.ServeAgent(opts, myAgent)
//	conn := acp.NewAgentConn(in, out, newAgent, opts)
//
// With acpbridge.Serve the options are Config.Conn. The other side calls them by [CallAgent] and
// [CallClient].
//
// # Fields
//
// Types that have the name of a type of package acp, such as [SessionCapabilities] and
// [NewSessionRequest], hold only its unstable fields and variants. [Params] returns the fields of a
// request within its handler, and [ExtendAnswer] adds them to its answer. [Call] calls a stable
// method with them.
//
// # Updates
//
// A [SessionUpdate] is sent as an acp.SessionUpdate, which [SessionUpdate.Stable] returns.
// [UpdateOf] returns one that has been received. An agent sends them to clients that have announced
// them in [ClientCapabilities].
//
// # Types
//
// The types are generated from the protocol's unstable schema, and are encoded like the types of
// package acp: an optional field is absent if it is zero, a required list is never null, a union
// keeps a variant that this version does not know, and decoding ignores unknown fields and fails
// with an error that names a required one that is missing.
package unstable
