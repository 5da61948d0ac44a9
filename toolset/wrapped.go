// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// CallFunc runs a call of a tool. Args are the arguments as the tool takes them: for a tool made with [Func], a pointer to
// its argument struct.
type CallFunc[D any] func(ctx context.Context, run *RunContext[D], tool *Tool[D], args any) (Result, error)

// Middleware surrounds calls: it returns a function that does something before and after it calls next, or does not call
// it at all.
type Middleware[D any] func(next CallFunc[D]) CallFunc[D]

// Wrapped surrounds every call of a toolset's tools with middleware, the first one outermost. Arguments have been checked
// by then, and calls that need approval have it. Middleware sees a result with an outcome if the tool [Failed] or was
// [Denied], and may return such an error itself; it also sees the errors that would end the run, and can decide otherwise.
// It runs wherever the tool does: for several calls at a time.
//
// A tool that is External is not called in this process, and not wrapped.
func Wrapped[D any](set Toolset[D], middleware ...Middleware[D]) Toolset[D] {
	if set == nil {
		return incomplete[D]("Wrapped", set)
	}
	call := CallFunc[D](func(ctx context.Context, run *RunContext[D], tool *Tool[D], args any) (Result, error) {
		return tool.Call(ctx, run, args)
	})
	for i := len(middleware) - 1; i >= 0; i-- {
		if middleware[i] == nil {
			return broken[D](set.Name(), "Wrapped: middleware %d is nil", i)
		}
		if call = middleware[i](call); call == nil {
			return broken[D](set.Name(), "Wrapped: middleware %d returned nil", i)
		}
	}
	return derived(set, same[D], each(func(copied, inner *Tool[D]) {
		if inner.Call == nil {
			return
		}
		copied.Call = func(ctx context.Context, run *RunContext[D], args any) (Result, error) {
			res, err := call(ctx, run, inner, args)
			if err != nil {
				return outcomeOf(err)
			}
			return res, nil
		}
	}))
}
