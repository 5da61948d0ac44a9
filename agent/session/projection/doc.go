// SPDX-License-Identifier: Apache-2.0

// Package projection turns the runs of an agent into what a conversation shows: changes of the entities of package view.
//
// A [Projector] serves one conversation. Pass it the events of a run:
//
//	p := projection.New(projection.Options{Fold: &fold})
//	p.Begin(turnID, func(s *projection.Shown) { render(s) })
//	p.Prompt(parts, nil)
//	for ev := range stream.Events() {
//		p.Event(&ev)
//	}
//	p.End(turn.Done)
//
// Later, or in another process, pass it the entries of the session. It makes the same entities, with the same ids:
//
//	c, err := turn.OpenWith(ctx, w, p.Replay)
//
// # What is recorded
//
// Most of what is shown is in the messages. [Projector.Records] returns the rest for [turn.Turn.Views], such as the
// title of a call and the diff that its tool has shown.
//
// # Ids
//
// An id consists of a kind, the id of the run, the step, and the model's id of the call: see [PromptID], [MessageID],
// [CallID]. Ids are unique within a conversation and the same in every process.
//
// # What is not shown
//
// Calls of output tools are not shown: the output is a message. Of agents inside tool calls, only the calls are
// shown, because their text is for the outer agent. The text of an agent that took over by a hand-over is shown.
package projection
