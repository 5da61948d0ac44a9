// SPDX-License-Identifier: Apache-2.0

// Package acpview shows the entities of package view to clients of the Agent Client Protocol,
// version 1: it is the table from one to the other, in both directions.
//
// A [Client] is one client of a session: a [view.Cursor], and the updates that its deltas mean. An
// agent that loads a session uses a client that has seen nothing, so a loaded session and a live
// one cannot differ.
//
// [CallOf], [ContentOf] and the like return what the protocol says as entities. They serve clients,
// and agents whose tools speak the protocol.
//
// # What version 1 cannot say
//
// Entities cannot be removed, and messages can only grow. Calls are not nested: an agent inside a
// call has its calls among the others, with its name before their titles.
package acpview
