// SPDX-License-Identifier: Apache-2.0

// Package view describes what a conversation shows: entities with ids, and changes to them. Messages, thoughts, tool
// calls, commands, plans, questions and all else are of type [Entity]. Terminals, editors, web pages and transcripts
// render the same entities.
//
// A [Fold] applies changes in order. It gives immutable snapshots, and cursors for those who follow it:
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
// Appending text takes amortised constant time and does not copy existing text. A snapshot takes time in proportion
// to the changes since the last one, and one pointer for 64 entities. Snapshots share everything that has not
// changed.
//
// # Concurrency
//
// A Fold is safe for concurrent use; each [Cursor] is for one goroutine. Entities and snapshots never change once they have been
// returned, so they may be shared between goroutines. Callers must not modify them.
package view
