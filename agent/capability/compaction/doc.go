// SPDX-License-Identifier: Apache-2.0

// Package compaction keeps long conversations within a model's context window.
//
//	agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{
//			compaction.New(compaction.Options[Deps]{Model: small, Spill: func(d Deps) workspace.Workspace { return d.Work.Workspace() }}),
//		},
//	}
//
// # Tiers
//
// What costs least is done first. All sizes are in tokens, and parts of the bound, which is the window without [Options.Reserve].
//
//   - A result of a tool that is longer than [Options.SpillBytes] is written to a file of the workspace. The model sees its beginning and
//     end, and where the rest is.
//   - From 60 % on, old results are cleared: see [history.ClearResults].
//   - At 75 % the user is warned.
//   - From 85 % on, the older part of the conversation is summarised: see [history.Summarise].
//   - At 100 %, old turns and steps are dropped: see [history.TokenBudget].
//   - If the provider still refuses a request because it is too long, it is sent again without its oldest part.
//
// The processors of package history keep calls and their results together. A failed summary does not end the run: the last tiers take its
// place.
//
// # Prompt caches
//
// Between two compactions a request begins with the request before it. A tier that has to change the history frees a good part of
// the bound at once, so that it is not needed again soon.
//
// # Native compaction
//
// With [Options.Native] the provider makes the summary itself, within the response that would exceed 85 % of the bound, if the model
// can do that. Long results are still spilled. The other tiers are off, except for the last one. The summary is a part of that response. It may be
// encrypted, and only that provider can read it. The history keeps everything, and all of it is still sent: the provider leaves out what
// stands before the summary. So a run with another model still knows the whole conversation, which the tiers above then have to shorten.
//
// What is sent only grows at its end. What the provider caches for it changes with each summary: instructions and tools stay cached, and the
// conversation after the summary is cached anew. The summary is paid for as a request of its own, and its usage is part of the response's.
//
// # What users see
//
// Summaries are shown as entities of the kind [view.Compaction] (those of a provider by package agent/session/projection, from the response), the warning and cleared results as [view.Notice], each in a [view.Change] that is
// a custom event. The events of package history are there as well. The command /compact summarises now; what follows it says what to keep above all.
package compaction
