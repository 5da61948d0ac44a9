// SPDX-License-Identifier: Apache-2.0

// Package acpview shows the entities of package view to clients of the Agent Client Protocol, version 1: it is the
// table from one to the other, in both directions.
//
// A [Client] is one client of a session: a [view.Cursor], and the updates that its deltas mean. An agent that loads a
// session shows it to a client that has been shown nothing, and then goes on, so what is loaded and what is live
// cannot differ.
//
// [CallOf], [ContentOf] and the like return what the protocol says as entities. They serve clients, and agents
// whose tools speak the protocol.
//
// # What version 1 cannot say
//
// Entities cannot be removed. A message cannot change but for what follows it. Calls are not nested: those of an
// agent inside a call stand among the others, with the agent's name before their titles.
package acpview
