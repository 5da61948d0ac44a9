// SPDX-License-Identifier: Apache-2.0

// Package session defines where conversations live.
//
// A session is a conversation as a list of entries: messages, steps of the running turn, what was
// shown, decisions and values. Entries do not depend on who shows them, so a conversation can start
// in an editor and continue in a terminal or a browser.
//
// A [Store] keeps sessions: [Memory] in memory, package sqlitestore on disk, and package pgstore in
// Postgres. Package sessiontest checks implementations against the contract. Package transcript
// records the runs of an agent in a session, and package host runs sessions for editors and
// browsers.
//
// # Writing
//
// One writer at a time appends to a session. It acquires a [Lease], whose token is greater than any
// earlier token. An append with an old lease fails with [ErrLeaseLost], however late it arrives. An
// append also names the head that it expects, and fails with [ErrHeadMoved] if the writer has
// missed an entry. [Open] returns a [Writer], which does both:
//
//	w, err := session.Open(ctx, store, id, session.Claim{Holder: "editor"})
//	if errors.Is(err, session.ErrHeld) {
//		// another program has the session: err names it
//	}
//	defer w.Close(ctx)
//	seq, err := w.Append(ctx, session.Entry{Kind: session.KindView, Key: "plan", Data: plan})
//
// Reading, listing, renaming and forking need no lease, and neither does sending.
//
// # The inbox
//
// A session has an [Inbox] beside its entries. Any process puts items there, such as prompts and
// answers, without the lease, and the holder of the session consumes them in one transaction with
// the entries that they cause: see [Batch]. Notes, such as scores, stay there.
//
// # Superseded entries
//
// Some entries are temporary, until something replaces them:
//
//   - An appended message with a key replaces the views and messages with the same run and key. For example, a
//     response replaces the text that was recorded while it was streamed.
//   - An appended end of a run removes the steps of that run and of the runs inside it. They were needed to resume it.
//
// The numbers of such entries are not used again, so the numbers of a session's entries grow but
// can have gaps. Entries that a fork inherits stay as they were when it was made.
//
// # Errors
//
// Errors are a [*Error] with the operation and the session, and wrap one of these:
//
//	ErrNotFound     the session does not exist
//	ErrExists       a session with this id exists
//	ErrHeld         another writer has the session: Error.Holder and Error.Since
//	ErrLeaseLost    the lease has ended: Error.Holder is who has the session now
//	ErrHeadMoved    the head is another one: Error.Head
//	ErrNoItem       the inbox never had the item: Error.Item
//	ErrConsumed     the item was consumed or removed: Error.Item
//	ErrChanged      the item has another version: Error.Item
//	ErrInvalid      an argument is not valid
//	ErrVersion      a newer version of the program wrote the data
//	ErrCorrupt      data is damaged: Error.Seq if one entry is
//	ErrFull         the disk is full
//	ErrBusy         the storage was locked for too long
//	ErrUnavailable  the server of the storage cannot be reached
//	ErrReadOnly     the storage cannot be written to
//	ErrClosed       the store has been closed
//
// After an error, the rest of the store is unchanged.
package session
