// SPDX-License-Identifier: Apache-2.0

// Package turn records the runs of an agent in a session, and restores the history for the next run.
//
//	w, err := session.Open(ctx, store, id, session.Claim{Holder: "editor"})
//	c, err := turn.Open(ctx, w)
//	t, err := c.Begin(ctx, model.User(prompt))
//	s := a.Stream(ctx, deps, prompt, t.Options()...)
//	for ev := range s.Events() {
//		t.Observe(ev)
//	}
//	res, err := s.Result()
//	err = turn.End(ctx, t, res, err)
//
// # What is recorded
//
// A [Turn] is a journal: see package journal. Each result of a step is an entry of the session before the run
// continues. The entry of a response is both the message and the journal's record, and is written together with the
// requests before it. A decision about a tool call has its own entry, with what was shown. Text that [Turn.Observe]
// sees is recorded every quarter of a second, so that what a user has read survives the end of the process. The
// response replaces it.
//
// [End] ends the turn. It records which messages the history has, and removes the results of steps, which the
// messages contain.
//
// # After a crash
//
// [Open] finds a turn without an end. [Conversation.Messages] then has everything up to the last recorded step:
// responses, the results of the last one's calls, and the text that was shown of an incomplete response. The next
// [Conversation.Begin] settles the turn, and the next run sees that it was interrupted. Alternatively,
// [Conversation.Resume] continues it: run the agent with the same prompt, and recorded steps are not executed again.
//
// If processors of package history have changed the history, the next run begins with the changed one. The removed
// messages stay in the session.
package turn
