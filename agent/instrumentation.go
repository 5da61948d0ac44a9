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

// instruments are hooks around the runs of all agents. dress gives them to a run. It is a field because programs without instrumentation
// need not link what adapts hooks.
type instruments struct {
	hooks []Hooks[any]
	dress func(run any, hooks []Hooks[any])
}

func newInstruments(hooks []Hooks[any]) *instruments {
	return &instruments{slices.Clone(hooks), func(run any, hooks []Hooks[any]) { run.(dresser).dress(hooks) }}
}

// dresser is implemented by runs.
type dresser interface{ dress(hooks []Hooks[any]) }

// SetInstrumentation sets hooks that wrap every run of every agent in the program. RunContext.Deps has the dependencies of the
// run, whatever their type. The hooks run outside the agents' own, the first one outermost, and replace those that were set
// before. Without arguments there are none, which adds no cost to a run.
//
// It is meant for tracing and metrics, and to be called by main; see package otelagent. It may be called at any time and
// applies to runs that begin afterwards. Libraries and tests use [WithInstrumentation].
func SetInstrumentation(hooks ...Hooks[any]) {
	instrumentation.Store(newInstruments(hooks))
}

// WithInstrumentation returns a context whose hooks wrap runs, instead of the hooks of
// [SetInstrumentation] and of an outer WithInstrumentation. Without hooks, runs in the context are
// not instrumented. Inner runs inherit the context and with it the hooks.
func WithInstrumentation(ctx context.Context, hooks ...Hooks[any]) context.Context {
	return context.WithValue(ctx, instrumentationKey{}, newInstruments(hooks))
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

// instrument sets the hooks of the run: the hooks of the program or the context around the agent's
// own.
func (r *agentRun[D, O]) instrument(ctx context.Context) {
	r.hooks = r.agent.config.Hooks
	if outer := instrumentsOf(ctx); outer != nil && len(outer.hooks) > 0 {
		outer.dress(r, outer.hooks)
	}
}

// dress implements [dresser].
func (r *agentRun[D, O]) dress(outer []Hooks[any]) {
	if same, ok := any(outer).([]Hooks[D]); ok { // D is any
		r.hooks = slices.Concat(same, r.hooks)
		return
	}
	deps := any(r.context.Deps)
	inside := func(run *toolset.RunContext[D]) *toolset.RunContext[any] { return toolset.WithDeps(run, deps) }
	all := make([]Hooks[D], 0, len(outer)+len(r.hooks))
	for i := range outer {
		all = append(all, adaptHooks(outer[i], inside))
	}
	r.hooks = append(all, r.hooks...)
}
