// SPDX-License-Identifier: Apache-2.0

// Package spend bounds what agents may spend in a window of time, over all runs and all processes
// that share a store: 5 dollars a day for each user, for example, or a million tokens an hour for
// the program.
//
// Before each request to the model, an amount is reserved in a ledger; after it, what was spent
// takes the place of the reservation. A request that would exceed the window is not made: the run
// ends with an [*Error] that says when there is room again. Concurrent requests count with their
// reservations, so a window is exceeded at most by what these requests use beyond their
// reservations. The reservations of a killed process count as spent.
//
// A ledger is a session of a [session.Store] with the directory [Dir], so lists of sessions by
// directory do not have it. It has one entry, and is bounded in size. [session.Prune] removes a
// ledger when nothing is left in its window, and not before.
//
// Windows slide: an amount leaves its window after the window's length and at most a sixtieth of
// it. The clocks of the machines that share a store should agree about as well as that.
//
// A window covers a run and all that works for it: sub-agents, also in the background,
// hand-overs, guards by models, summaries, each request of a fallback or retry, and tools that
// use [toolset.RunContext.Generate] or [toolset.Meter.Generate]. Capabilities that share a store,
// a window name and a key, for example in a sub-agent, count each request once. Not covered are
// an [approval.Judge], which has its own meter, commands such as /compact, and tools that call a
// model directly.
//
// [approval.Judge]: https://pkg.go.dev/github.com/ponte-go/ponte/agent/approval#Judge
package spend
