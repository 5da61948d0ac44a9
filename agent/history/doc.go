// SPDX-License-Identifier: Apache-2.0

// Package history has processors that keep the history of an agent's runs in shape: [KeepLast]
// and [TokenBudget] trim it, [ClearResults] removes old tool results, [Summarise] compacts it
// through a model, [Redact] takes secrets out. They go into the agent's configuration:
//
//	agent.Config[Deps, string]{
//		History: []agent.HistoryProcessor[Deps]{
//			history.Redact[Deps](history.Secrets()...),
//			history.Summarise[Deps](history.Summary{Model: small, Threshold: 100_000}),
//			history.TokenBudget[Deps](history.Budget{Max: 150_000}),
//		},
//	}
//
// The order matters: each processor's output is the input of the next one, and the last output
// becomes the run's history. Put Redact before anything that shows the history to a model, and a
// budget last, as a safety net.
//
// # What every processor keeps
//
// A call and its answer stay or go together, so a history in which every call is answered once
// comes out as one. The current turn's prompt stays, and so do leading system prompts. A history
// that ends in a request still does. Messages are never changed: a processor replaces them by
// clones. These keep the run id, which still distinguishes the messages of a run from older ones,
// and record in their metadata who made them ([MetaSummary] and the other keys). A processor that
// is applied to its own result returns it as it is. Nothing depends on a clock or on chance.
//
// Unanswered calls at the end of a history are left alone.
//
// # Turns
//
// A turn begins with the user's prompt and ends before the next prompt. A message that a user sends
// into a run in progress belongs to the turn of that run. Adjacent requests count as one, as they
// do for a model.
//
// # Prompt caches
//
// Providers cache a prompt up to its first change, so a history should change rarely, and then by
// a lot. KeepLast, TokenBudget, ClearResults and Summarise let a history grow up to a bound and
// then cut it back far below that. Redact changes a message before the first request that shows
// it and never again.
//
// # Sizes
//
// TokenBudget, ClearResults and Summarise take the size of a history from the usage that
// providers report: the last response gives the number of tokens before it, instructions and
// tools included. Only what follows is estimated ([Estimate]). When a processor of this package
// takes something out, it corrects that figure ([MetaContext]). A processor of another kind does
// not, and the next request may seem larger than it is.
//
// # Cost
//
// A processor with nothing to do costs as much as the new messages. Where that needs memory,
// because no provider reports usage or because Redact has to know what it has looked at, a history
// is known by its array: messages are immutable and histories grow at their end only, so the same
// array with the same last message has the same beginning. When append has moved a history it is
// looked at as a whole once more. The memory holds weak pointers and keeps no history alive.
//
// # Concurrency
//
// A processor serves many runs at once.
package history
