// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// Limited limits the number of concurrent calls to a toolset's tools, over all runs of the process. Use it to protect a
// shared resource, such as a database or a service with a quota. Calls over the limit wait their turn. The wait counts
// toward their timeout. A tool that waits for a call to another tool of the same toolset holds two places, its own and
// that of the inner call.
func Limited[D any](set Toolset[D], calls int) Toolset[D] {
	if set == nil {
		return incomplete[D]("Limited", set)
	}
	if calls < 1 {
		return misused[D](set, "Limited: limit %d must be at least 1", calls)
	}
	return derived(set, same[D], bounded[D](calls))
}

// LimitedPerRun limits the number of concurrent calls to a toolset's tools within one run. Other runs do not count. See
// [Limited].
func LimitedPerRun[D any](set Toolset[D], calls int) Toolset[D] {
	if set == nil {
		return incomplete[D]("LimitedPerRun", set)
	}
	if calls < 1 {
		return misused[D](set, "LimitedPerRun: limit %d must be at least 1", calls)
	}
	return &view[D, D]{set: set, context: same[D], fixed: unchanged[D], begin: func() listFunc[D, D] { return derive(bounded[D](calls)) }}
}

// bounded makes tools that share a fixed number of places.
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
