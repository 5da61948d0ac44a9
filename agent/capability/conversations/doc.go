// SPDX-License-Identifier: Apache-2.0

// Package conversations lets an agent search the conversations of earlier sessions.
//
//	conversations.New(func(d Deps) conversations.Scope {
//		return conversations.Scope{Store: d.Store, Dir: d.Dir, Current: d.SessionID}
//	})
//
// The tool search_conversations searches for words in what users and agents said, the latest sessions first, and
// returns excerpts. The tool read_conversation returns the text around one of them. Results of tools are not
// searched.
//
// A run sees only the sessions of its [Scope]. To keep users of one store apart, give them different directories, or
// stores of their own.
//
// A search reads at most [MaxSessions] sessions and [MaxBytes] bytes, and says so if there are
// more. If the store cannot be reached, the model is told that the conversations cannot be read,
// and the run continues.
package conversations
