// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// Adapt converts a toolset written for deps N to one for an agent with deps D. Narrow returns the toolset's deps, taken
// from the agent's.
//
// Narrow is called for every call and every step. It should only select, not compute. The rest of the run context is
// passed on unchanged.
//
//	toolset.Adapt(weather.Tools(), func(d Deps) weather.Deps { return d.Weather })
func Adapt[N, D any](set Toolset[N], narrow func(D) N) Toolset[D] {
	if set == nil || narrow == nil {
		return incomplete[D]("Adapt", set)
	}
	inside := func(run *RunContext[D]) *RunContext[N] {
		return WithDeps(run, narrow(run.Deps))
	}
	return derived(set, inside, func(inner []*Tool[N]) ([]*Tool[D], error) {
		adapted := make([]Tool[D], len(inner))
		tools := make([]*Tool[D], len(inner))
		for i, t := range inner {
			adapted[i] = Tool[D]{Def: t.Def, Options: t.Options, Decode: t.Decode, err: t.err, sound: t.sound}
			if t.Call != nil {
				adapted[i].Call = func(ctx context.Context, run *RunContext[D], args any) (Result, error) {
					return t.Call(ctx, inside(run), args)
				}
			}
			if t.Check != nil {
				adapted[i].Check = func(ctx context.Context, run *RunContext[D], args any) error {
					return t.Check(ctx, inside(run), args)
				}
			}
			if t.Approval != nil {
				adapted[i].Approval = func(ctx context.Context, run *RunContext[D], args any) (*Approval, error) {
					return t.Approval(ctx, inside(run), args)
				}
			}
			if t.Effects != nil {
				adapted[i].Effects = func(
					ctx context.Context, run *RunContext[D], args any,
				) ([]Effect, error) {
					return t.Effects(ctx, inside(run), args)
				}
			}
			tools[i] = &adapted[i]
		}
		return tools, nil
	})
}
