// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// Limited bounds how many calls of a toolset's tools are in progress at a time, over all runs of the process: it protects
// what the tools share, a database or a service with a quota. Calls beyond the bound wait for their turn, which counts
// towards their timeout. A tool that has a tool of the same toolset called and waits for it holds two turns.
func Limited[D any](set Toolset[D], calls int) Toolset[D] {
	if set == nil {
		return incomplete[D]("Limited", set)
	}
	if calls < 1 {
		return broken[D](set.Name(), "Limited: the limit is %d, must be at least 1", calls)
	}
	return derived(set, same[D], bounded[D](calls))
}

// LimitedPerRun bounds how many calls of a toolset's tools are in progress at a time in one run. Other runs do not count.
// See [Limited].
func LimitedPerRun[D any](set Toolset[D], calls int) Toolset[D] {
	if set == nil {
		return incomplete[D]("LimitedPerRun", set)
	}
	if calls < 1 {
		return broken[D](set.Name(), "LimitedPerRun: the limit is %d, must be at least 1", calls)
	}
	return &view[D, D]{set: set, context: same[D], begin: func() listFunc[D, D] { return derive(bounded[D](calls)) }}
}

// bounded makes tools that share a number of turns.
func bounded[D any](calls int) toolsFunc[D, D] {
	turns := make(chan struct{}, calls)
	return each(func(copied, inner *Tool[D]) {
		if inner.Call == nil {
			return
		}
		copied.Call = func(ctx context.Context, run *RunContext[D], args any) (Result, error) {
			select {
			case turns <- struct{}{}:
			case <-ctx.Done():
				return Result{}, context.Cause(ctx)
			}
			defer func() { <-turns }()
			return inner.Call(ctx, run, args)
		}
	})
}
