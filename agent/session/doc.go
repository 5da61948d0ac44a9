// SPDX-License-Identifier: Apache-2.0

// Package session defines where conversations live.
//
// A session is a conversation as a list of entries: messages, the steps of the running turn, what a surface showed, decisions,
// values. Entries belong to no surface. A conversation that was begun in an editor goes on in a terminal or a browser.
//
// A [Store] keeps sessions. [Memory] keeps them in memory; package sqlitestore keeps them on disk. Package sessiontest checks an
// implementation against the contract. Package turn records the run of an agent in a session and makes the history for the next one.
//
// # Writing
//
// One writer at a time appends to a session. It acquires a [Lease], and each lease has a greater token than the one before. An append
// with an old lease fails with [ErrLeaseLost], however late it arrives. An append also names the head that it expects, so a writer
// that has missed an entry is told with [ErrHeadMoved]. [Open] returns a [Writer], which does both:
//
//	w, err := session.Open(ctx, store, id, session.Claim{Holder: "editor"})
//	if errors.Is(err, session.ErrHeld) {
//		// another program has the session: err names it
//	}
//	defer w.Close(ctx)
//	seq, err := w.Append(ctx, session.Entry{Kind: session.KindView, Key: "plan", Data: plan})
//
// Reading, listing, renaming and forking need no lease.
//
// # Superseded entries
//
// Some entries stand for something that is yet to come, and go when it does:
//
//   - An appended message with a key takes the place of the views and messages with the same run and key. The text that was kept while a
//     response was streamed is one: the response replaces it.
//   - An appended end of a run takes the place of the steps of that run and of the runs inside it. They were needed to resume it.
//
// The numbers of such entries are not used again, so the numbers of a session's entries grow but can have gaps. Entries that a fork
// inherits stay as they were when it was made.
//
// # Errors
//
// Errors are a [*Error], which says what was done to which session, and wrap one of the sentinels of this package:
//
//	ErrNotFound   the session does not exist
//	ErrExists     a session with this id exists
//	ErrHeld       another writer has the session: Error.Holder and Error.Since
//	ErrLeaseLost  the lease has ended: Error.Holder is who has the session now
//	ErrHeadMoved  the head is another one: Error.Head
//	ErrInvalid    an argument is not valid
//	ErrVersion    a newer version of the program wrote the data
//	ErrCorrupt    data is damaged: Error.Seq if it is that of one entry
//	ErrFull       there is no room left
//	ErrBusy       the storage was locked for too long
//	ErrReadOnly   the storage cannot be written to
//	ErrClosed     the store has been closed
//
// After each of them, everything else in the store is as it was.
package session
