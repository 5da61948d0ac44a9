// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// CallHook surrounds calls of tools. It calls next to go on, and may act before and after; it may pass on another context or
// other arguments, call next again, or not at all. run.Call says which call it is and has the arguments as JSON; args are
// the arguments as the tool takes them: for a tool made with [Func], a pointer to its argument struct.
//
// The arguments have been checked, and a call that needs approval has it. What is passed on in their place is not checked
// again and not shown to anybody. A hook sees a result with an outcome if the tool [Failed] or was [Denied], and an error
// for every other outcome and for what would end the run. It may return such errors itself, and may return a result in
// place of an error.
//
// Hooks run wherever tools do, several at a time.
type CallHook[D any] func(ctx context.Context, run *RunContext[D], args any, next CallFunc) (Result, error)

// CallFunc calls a tool, within the hooks that are further inside.
type CallFunc func(ctx context.Context, args any) (Result, error)

// Wrapped surrounds every call of a toolset's tools with hooks, the first one outermost. They are inside the hooks of the
// agent. A tool that is External is not called in this process, and not wrapped.
func Wrapped[D any](set Toolset[D], hooks ...CallHook[D]) Toolset[D] {
	if set == nil {
		return incomplete[D]("Wrapped", set)
	}
	for i, hook := range hooks {
		if hook == nil {
			return broken[D](set.Name(), "Wrapped: hook %d is nil", i)
		}
	}
	return derived(set, same[D], each(func(copied, inner *Tool[D]) {
		if inner.Call == nil {
			return
		}
		copied.Call = func(ctx context.Context, run *RunContext[D], args any) (Result, error) {
			next := CallFunc(func(ctx context.Context, args any) (Result, error) { return inner.Call(ctx, run, args) })
			for i := len(hooks) - 1; i >= 0; i-- {
				hook, inside := hooks[i], next
				next = func(ctx context.Context, args any) (Result, error) { return hook(ctx, run, args, inside) }
			}
			res, err := next(ctx, args)
			if err != nil {
				return outcomeOf(err)
			}
			return res, nil
		}
	}))
}
