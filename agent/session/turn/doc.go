// SPDX-License-Identifier: Apache-2.0

// Package turn records the runs of an agent in a session, and makes the history for the next run of what is recorded.
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
// A [Turn] is a journal: see package journal. Each result of a step is an entry of the session before the run goes on. A response of the
// model is the message of the conversation, with what a journal adds to it beside it; the requests that it answers are recorded with it. A
// decision about a tool call is an entry of its own, with what was shown. Text that [Turn.Observe] sees is kept in pieces of
// a quarter of a second, so that what a user has read survives the end of the process; the response takes their place.
//
// [End] ends the turn. It says which messages the history has from then on, and the results of steps go: they are part of the messages.
//
// # After a crash
//
// A turn without an end was cut off. [Open] finds it. [Conversation.Messages] then has everything up to the last recorded step: responses,
// the results of the calls of the last one, and the text that was shown of a response that was not complete. It is settled with the next
// [Conversation.Begin], and the next run sees that it was interrupted. Instead, [Conversation.Resume] continues the turn where it was cut
// off: run the agent with the same prompt, and recorded steps are not made again.
//
// Processors of package history apply to turns as always: the history that the run ended with is the one that the next run begins with.
// The messages that it has lost stay in the session.
package turn
