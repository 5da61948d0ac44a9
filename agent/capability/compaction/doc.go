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
// # What users see
//
// Summaries are shown as entities of the kind [view.Compaction], the warning and cleared results as [view.Notice], each in a [view.Change] that is
// a custom event. The events of package history are there as well. The command /compact summarises now; what follows it says what to keep above all.
package compaction
