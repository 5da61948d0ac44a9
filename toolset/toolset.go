// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// Toolset supplies tools to the runs of an agent. Implementations must be safe for concurrent use.
type Toolset[D any] interface {
	// Name identifies the toolset in errors.
	Name() string
	// Open is called once at the start of each run, on the run's goroutine unless the run has its
	// own engine. It returns the toolset's instance for that run. State that must not be shared
	// between runs belongs in the instance. A toolset without such state may return the same
	// instance every time. If Open fails, the run fails.
	Open(ctx context.Context, run *RunContext[D]) (Instance[D], error)
}

// Checker is an optional interface for toolsets that can detect an invalid definition before a run.
//
// agent.New calls Check and returns its error together with the other problems it finds. The combinators of this package
// call Check on the toolsets inside. Check may be called several times. It must be fast, safe for concurrent use and free
// of side effects: no files, no network. It may never be called, for example if the toolset is made during a run, as with
// [PerRun]. Open must therefore report the same error.
type Checker interface {
	Check() error
}

// Fixed is an optional interface for toolsets that offer the same tools to every run.
//
// agent.New calls FixedTools to find names that clash with each other, or with the agent's output, before any run. Other
// clashes are found during the run. The slice and its tools are shared and must not be changed. FixedTools must be safe
// for concurrent use and return the same tools every time.
type Fixed[D any] interface {
	FixedTools() []*Tool[D]
}

// Instance is a toolset opened for one run.
type Instance[D any] interface {
	// Tools is called before each request to the model, like Open. The slice and its tools are shared and
	// must not be changed afterwards. Returning the same slice again adds no cost. The order of the tools should be
	// stable, for the benefit of prompt caches.
	Tools(ctx context.Context, run *RunContext[D]) (Listing[D], error)
	// Close is called once, when the run has ended and no call is in progress. Its context is not cancelled with the run.
	// If the run failed, the error of Close is added to the run's error. If the run has an output, the output is kept.
	Close(ctx context.Context) error
}

// Listing lists the tools that an instance offers in one step.
type Listing[D any] struct {
	// Tools is offered to the model in this order.
	Tools []*Tool[D]
	// Instructions tells the model how to use the tools. It is added to the agent's instructions.
	Instructions string
}
