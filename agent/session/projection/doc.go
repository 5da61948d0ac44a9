// SPDX-License-Identifier: Apache-2.0

// Package projection turns the runs of an agent into what a conversation shows: changes of the entities of package view.
//
// A [Projector] serves one conversation. While a run goes on it is given the events:
//
//	p := projection.New(projection.Options{Fold: &fold})
//	p.Begin(turnID, func(s *projection.Shown) { render(s) })
//	p.Prompt(parts, nil)
//	for ev := range stream.Events() {
//		p.Event(&ev)
//	}
//	p.End(turn.Done)
//
// Later, or in another process, it is given the entries of the session and makes the same entities, with the same ids:
//
//	c, err := turn.OpenWith(ctx, w, p.Replay)
//
// # What is recorded
//
// Most of what is shown is in the messages. [Projector.Records] returns the rest, such as the title of a call and the diff that its tool
// has shown, for [turn.Turn.Views]. A call without anything of its own has no record.
//
// # Ids
//
// Ids are made of a kind, the id of the run, the step and the model's id of the call: see [PromptID], [MessageID], [CallID]. They are the
// same in every process, and no two entities of a conversation share one.
//
// # What is not shown
//
// Calls of output tools are not shown as calls: the output is a message. Agents inside tool calls are shown with their calls; what they
// write is for the agent around them. An agent that the run was handed over to is shown with what it says.
package projection
