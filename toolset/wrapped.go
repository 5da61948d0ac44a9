// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// CallHook wraps calls of tools. It calls next to run the call, and may act before and after. It may change the context
// and the arguments, call next several times, or not call it. run.Call identifies the call and holds the arguments as
// JSON. Args are the arguments in the form the tool takes: for a tool made with [Func], a pointer to its argument struct.
//
// When a hook is called, the arguments have been checked and any approval has been given. Changed
// arguments are not checked or shown again. If the tool [Failed] or was [Denied], the hook sees a
// result with that outcome. All other outcomes and failures are errors. A hook may return such
// errors itself, and may return a result instead of an error.
//
// Hooks run concurrently, as tools do.
type CallHook[D any] func(ctx context.Context, run *RunContext[D], args any, next CallFunc) (Result, error)

// CallFunc calls a tool and the hooks further inside.
type CallFunc func(ctx context.Context, args any) (Result, error)

type argsCheck struct{}

// WithArgsCheck returns a context for a [CallFunc] in which check sees the arguments again, behind
// the hooks of [Wrapped], which may change them. An error of check is returned in place of the
// call. If a hook further outside has set a check too, both are made.
func WithArgsCheck(
	ctx context.Context, check func(ctx context.Context, args any) error,
) context.Context {
	if outer, ok := ctx.Value(argsCheck{}).(func(context.Context, any) error); ok {
		inner := check
		check = func(ctx context.Context, args any) error {
			if err := inner(ctx, args); err != nil {
				return err
			}
			return outer(ctx, args)
		}
	}
	return context.WithValue(ctx, argsCheck{}, check)
}

// Wrapped adds hooks around every call of a toolset's tools, the first one outermost. They run inside the agent's hooks.
// External tools are not called in this process, so they are not wrapped.
func Wrapped[D any](set Toolset[D], hooks ...CallHook[D]) Toolset[D] {
	if set == nil {
		return incomplete[D]("Wrapped", set)
	}
	for i, hook := range hooks {
		if hook == nil {
			return misused[D](set, "Wrapped: hook %d is nil", i)
		}
	}
	return derived(set, same[D], each(func(copied, inner *Tool[D]) {
		if inner.Call == nil {
			return
		}
		copied.Call = func(ctx context.Context, run *RunContext[D], args any) (Result, error) {
			var refused error
			next := CallFunc(func(ctx context.Context, args any) (Result, error) {
				if check, ok := ctx.Value(argsCheck{}).(func(context.Context, any) error); ok {
					if refused = check(ctx, args); refused != nil {
						return Result{}, refused
					}
				}
				return inner.Call(ctx, run, args)
			})
			for i := len(hooks) - 1; i >= 0; i-- {
				hook, inside := hooks[i], next
				next = func(ctx context.Context, args any) (Result, error) { return hook(ctx, run, args, inside) }
			}
			res, err := next(ctx, args)
			if err != nil && err != refused { // whoever checks them knows what to do
				return outcomeOf(err)
			}
			return res, err
		}
	}))
}
