// SPDX-License-Identifier: Apache-2.0

// Package model defines the interface between an agent and a language model: the [Model] interface,
// the messages of a conversation, requests, streamed deltas, usage, settings and errors. It imports
// no adapter, no SDK and nothing of the agent. A provider adapter depends on this package alone.
//
// [Open] turns a string such as "openai:gpt-5-mini" into a model. Adapters register their providers
// when imported ([Register]), like database/sql drivers, so a program links only the adapters it
// imports.
//
// # Messages
//
// A conversation is a slice of [Message] pointers. A message of [KindRequest] goes to the model: it
// holds the user's input and tool results. A message of [KindResponse] comes from the model. Both
// consist of flat [Part] values. Messages are immutable once they are part of a history. Histories
// are shared between runs without copying, so use [Message.Clone] to make a changed copy.
//
// # JSON
//
// The JSON form of a message is versioned ([MessageVersion]) and round-trips exactly. Tool
// arguments are kept as the model wrote them, including white space, 64-bit integers and invalid
// JSON. Signatures are kept byte for byte. Empty parts are kept, and absent lists are distinguished
// from empty ones. Text must be valid UTF-8.
//
// # Concurrency
//
// A Model is used by many runs at once. It must not modify Request, Message and Part values.
package model
