// SPDX-License-Identifier: Apache-2.0

// Package conversations lets an agent search the conversations of earlier sessions.
//
//	conversations.New(func(d Deps) conversations.Scope {
//		return conversations.Scope{Store: d.Store, Dir: d.Dir, Current: d.SessionID}
//	})
//
// The tool search_conversations looks for words in what users and agents said, in the sessions that were changed last first, and returns excerpts.
// The tool read_conversation reads on around one of them. Results of tools are not searched.
//
// A run sees the sessions of its [Scope] and no others. Sessions of several users in one store are kept apart by their directory, or by stores of
// their own.
//
// A search reads at most [MaxSessions] sessions and [MaxBytes] bytes, and says so if there are more.
package conversations
