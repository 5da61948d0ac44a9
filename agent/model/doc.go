// SPDX-License-Identifier: Apache-2.0

// Package model says what a language model is to an agent: the [Model] interface, the messages of a
// conversation, requests, streamed deltas, usage, settings and errors. It imports no adapter, no SDK and nothing of the
// agent, so a provider adapter depends on this package alone.
//
// [Open] turns a string such as "openai:gpt-5-mini" into a model. Adapters make their providers known when they are
// imported, as the drivers of database/sql do ([Register]), so that a program links those that it imports.
//
// # Messages
//
// A conversation is a slice of [Message] pointers. A message of [KindRequest] goes to the model: what the user said
// and what tools returned. A message of [KindResponse] is what the model answered. Both consist of flat [Part]
// values. Messages are immutable once they are part of a history: histories are shared between runs without copies,
// so code that wants another message makes a new one ([Message.Clone]).
//
// # JSON
//
// The JSON form of a message is versioned ([MessageVersion]) and round-trips exactly: tool arguments are kept as
// the model wrote them, down to white space, 64-bit integers and invalid JSON; signatures stay bytes; empty parts,
// and the difference between an absent and an empty list, survive. Text must be valid UTF-8.
//
// # Concurrency
//
// A Model is used by many runs at once. Request, Message and Part values are only read by a model.
package model
