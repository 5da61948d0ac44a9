// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// Toolset offers tools to the runs of an agent. Implementations are safe for concurrent use.
type Toolset[D any] interface {
	// Name identifies the toolset in errors.
	Name() string
	// Open is called once at the beginning of each run, on the run's goroutine, and returns the toolset's instance
	// for that run. State that must not be shared between runs belongs in the instance; a toolset without such state
	// returns the same instance every time. If Open fails the run does.
	Open(ctx context.Context, run *RunContext[D]) (Instance[D], error)
}

// Checker is implemented by toolsets that can tell before any run that their definition is wrong. A [Toolset] need not
// implement it.
//
// agent.New calls Check, and returns its error together with the other problems that it finds. Combinators of this package pass
// the call on to the toolsets inside. Check may be called several times and must be quick, safe for concurrent use and without
// side effects: no files, no network. Nothing guarantees that it is called, for example if the toolset is made during a run, as
// by [PerRun]. Open must therefore report the same error.
type Checker interface {
	Check() error
}

// Fixed is implemented by toolsets that offer the same tools to every run. A [Toolset] need not implement it.
//
// agent.New calls FixedTools to find names that clash with each other or with the agent's output before any run. Tools that
// are not known by then clash in the run that they are offered to. The slice and the tools in it are shared and must not be
// changed. FixedTools must be safe for concurrent use and return the same tools every time.
type Fixed[D any] interface {
	FixedTools() []*Tool[D]
}

// Instance is a toolset at work in one run.
type Instance[D any] interface {
	// Tools is called before each request to the model, on the run's goroutine. The slice and the tools in it are
	// shared and must not be changed afterwards; returning the very same slice again costs the run nothing. The order
	// of tools should be stable, so that prompt caches hit.
	Tools(ctx context.Context, run *RunContext[D]) (Listing[D], error)
	// Close is called once when the run has ended and no call is in progress. Its context is not cancelled with the
	// run's. Its error is added to that of a failed run; it does not take away the output of a run that has one.
	Close(ctx context.Context) error
}

// Listing is what an instance offers for one step.
type Listing[D any] struct {
	// Tools are offered to the model in this order.
	Tools []*Tool[D]
	// Instructions tell the model how to use the tools. They are added to the agent's own.
	Instructions string
}
