// SPDX-License-Identifier: Apache-2.0

// Package view describes a conversation as it is shown: as entities with ids, and changes to them. Messages, thoughts, tool calls,
// commands, plans, questions and the rest are all of type [Entity]. A terminal, an editor, a web page and a transcript are renderings
// of the same entities.
//
// A [Fold] applies changes in order. It gives immutable snapshots and subscriptions:
//
//	var f view.Fold
//	f.Apply(view.Change{Op: view.Upsert, ID: "m1", Entity: &view.Entity{Kind: view.Message, Role: view.Assistant}})
//	f.Apply(view.Change{Op: view.Append, ID: "m1", Text: "Hello"})
//	for e := range f.Snapshot().All() {
//		fmt.Println(e.Text())
//	}
//
// # Cost
//
// Appending text takes amortised constant time and does not copy what is there. A snapshot takes time in proportion to what has
// changed since the last one, and one pointer for 64 entities. Snapshots share everything that has not changed.
//
// # Concurrency
//
// A Fold and its subscriptions are safe for concurrent use. Entities and snapshots are never changed once they have been handed
// out, so they may be shared between goroutines. Nobody may change them.
package view
