// SPDX-License-Identifier: Apache-2.0

// Package transcript records the runs of an agent in a session. From the entries of a session it
// makes the messages for the next run, and the entities (see package view) that the conversation
// shows.
//
//	w, err := session.Open(ctx, store, id, session.Claim{Holder: "editor"})
//	c, err := transcript.Open(ctx, w, transcript.Options{})
//	t, err := c.Begin(ctx, model.User(prompt))
//	s := a.Stream(ctx, deps, prompt, t.Options()...)
//	for ev := range s.Events() {
//		t.Observe(&ev)
//	}
//	res, err := s.Result()
//	err = transcript.End(ctx, t, res, err)
//
// # Recording
//
// A [Turn] is a journal: see package journal. Each result of a step is an entry of the session
// before the run continues. The entry of a response is both the message and the journal's record,
// and is written together with the requests before it. A decision about a tool call has its own
// entry, with what was shown. Text that [Turn.Observe] sees is recorded every quarter of a second,
// to keep what a user has read when the process ends. The response replaces it. Most entities
// follow from the messages. Others, such as the title of a call and the diff that its tool has
// shown, is recorded as views.
//
// [End] ends the turn. It records which messages the history has, and removes the results of steps,
// which the messages contain.
//
// # After a crash
//
// [Open] finds a turn without an end. [Conversation.Messages] then has everything up to the last
// recorded step: responses, the results of the last one's calls, and the text that was shown of an
// incomplete response. The next [Conversation.Begin] settles the turn, and the next run sees that
// it was interrupted. Alternatively, [Conversation.Resume] continues it: run the agent with the
// same prompt, and recorded steps are not executed again.
//
// If processors of package history have changed the history, the next run begins with the changed
// one. The removed messages stay in the session.
//
// # Ids
//
// The id of an entity consists of a kind, the id of the run, the step, and the model's id of the
// call: see [PromptID], [MessageID], [CallID]. Ids are unique within a conversation and the same in
// every process.
//
// # Hidden calls
//
// Calls of output tools are not shown: the output is a message. Of agents inside tool calls, only
// the calls are shown, because their text is for the outer agent. The text of an agent that took
// over by a hand-over is shown.
package transcript
