// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/ponte-go/ponte/toolset"
)

// instrumentation has the hooks of the last [SetInstrumentation].
var instrumentation atomic.Pointer[instruments]

type instrumentationKey struct{}

// instruments are hooks around the runs of all agents.
type instruments struct {
	hooks []Hooks[any]
	dress func(run any, outer []Hooks[any], rule *ruled)
}

// SetInstrumentation sets hooks that wrap every run of every agent in the program. RunContext.Deps has the dependencies of the
// run, whatever their type. The hooks run outside the agents' own, the first one outermost, and replace those that were set
// before. Without arguments there are none, which adds no cost to a run.
//
// It is meant for tracing and metrics, and to be called by main; see package otelagent. It may be called at any time and
// applies to runs that begin afterwards. Libraries and tests use [WithInstrumentation].
func SetInstrumentation(hooks ...Hooks[any]) {
	instrumentation.Store(&instruments{slices.Clone(hooks), dress})
}

// WithInstrumentation returns a context whose hooks wrap runs, instead of the hooks of
// [SetInstrumentation] and of an outer WithInstrumentation. Without hooks, runs in the context are
// not instrumented. Inner runs inherit the context and with it the hooks.
func WithInstrumentation(ctx context.Context, hooks ...Hooks[any]) context.Context {
	return context.WithValue(ctx, instrumentationKey{}, &instruments{slices.Clone(hooks), dress})
}

// AddInstrumentation returns a context with more hooks. They wrap runs inside of the hooks of ctx
// or, if it has none, of [SetInstrumentation].
func AddInstrumentation(ctx context.Context, hooks ...Hooks[any]) context.Context {
	if outer := instrumentsOf(ctx); outer != nil {
		hooks = append(slices.Clone(outer.hooks), hooks...)
	}
	return WithInstrumentation(ctx, hooks...)
}

// instrumentsOf returns the hooks that wrap the runs of a context, nil if there are none.
func instrumentsOf(ctx context.Context) *instruments {
	if own, ok := ctx.Value(instrumentationKey{}).(*instruments); ok {
		return own
	}
	return instrumentation.Load()
}

// instrument sets the hooks of the run: the program's or the context's around the agent's own,
// and inside of them the doors of policies.
func (r *agentRun[D, O]) instrument(ctx context.Context) {
	r.hooks = r.agent.config.Hooks
	if outer := instrumentsOf(ctx); outer != nil && len(outer.hooks) > 0 {
		outer.dress(r, outer.hooks, r.options.rule)
	} else if r.options.rule != nil {
		r.options.rule.says.dress(r, nil)
	}
}

// erased are hooks of policies with their dependencies.
type erased struct {
	Hooks[any]
	deps func() any
}

// dress gives a run hooks around those that it has, and the doors of policies. Programs without
// either do not link what that needs.
func dress(run any, outer []Hooks[any], rule *ruled) {
	if rule != nil {
		rule.says.dress(run, outer)
		return
	}
	run.(dresser).dressed(outer, nil)
}

// dresser is implemented by runs.
type dresser interface {
	dressed(outer []Hooks[any], inner []erased)
}

// dressed implements [dresser].
func (r *agentRun[D, O]) dressed(outer []Hooks[any], inner []erased) {
	var all []Hooks[D]
	add := func(h Hooks[any], deps func() any) {
		inside := func(run *toolset.RunContext[D]) *toolset.RunContext[any] {
			return toolset.WithDeps(run, deps())
		}
		all = append(all, adaptHooks(h, inside))
	}
	deps := any(r.context.Deps)
	if same, ok := any(outer).([]Hooks[D]); ok { // D is any
		all, outer = slices.Clip(same), nil
	}
	for i := range outer {
		add(outer[i], func() any { return deps })
	}
	all = append(all, r.hooks...)
	for i := range inner {
		add(inner[i].Hooks, inner[i].deps)
	}
	r.hooks = all
}
