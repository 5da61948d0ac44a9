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
// The cheapest tier comes first. Sizes are in tokens, as parts of the bound, which is the window
// without [Options.Reserve].
//
//   - A result of a tool that is longer than [Options.SpillBytes] is written to a file of the workspace. The model sees its beginning and
//     end, and where the rest is.
//   - From 60 % on, old results are cleared: see [history.ClearResults]. They are remembered for the next summary.
//   - At 75 % the user is warned.
//   - From 85 % on, the older part of the conversation is summarised: see [history.Summarise].
//   - At 100 %, old turns and steps are dropped: see [history.TokenBudget].
//   - If the provider still refuses a request because it is too long, it is sent again without its oldest part.
//
// The processors of package history keep calls and their results together. A failed summary does
// not end the run: later tiers take its place.
//
// # Prompt caches
//
// Between two compactions a request begins with the request before it. A tier that has to change
// the history frees a good part of the bound at once, and is not needed again soon.
//
// # Native compaction
//
// With [Options.Native], the provider makes the summary, within the response that would exceed 85
// % of the bound, if the model supports this. Long results are still spilled. The other tiers are
// off, except for the last one. The summary is a part of that response, and may be encrypted for
// that provider. The history keeps everything, and all of it is sent: the provider ignores what
// precedes the summary. So a run with another model has the whole conversation, which the tiers
// above then shorten.
//
// Requests grow only at their end. After a summary, instructions and tools stay in the provider's
// cache, and the conversation after the summary is cached anew. The summary is billed as a
// separate request, and its usage is part of the response's.
//
// # What users see
//
// Summaries are entities of kind [view.Compaction]. The warning and cleared results are
// [view.Notice]. Each is a [view.Change] in a custom event, except summaries of a provider, which
// package agent/session/transcript takes from the response. The events of package history are
// emitted as well. The command /compact summarises now. The text after it names what to keep
// above all.
package compaction
