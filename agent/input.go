// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Input is a prompt that has passed the Input hooks of an agent. [Agent.Input] makes it.
type Input struct {
	// Parts are the prompt as the hooks left it.
	Parts []model.Part

	used toolset.Usage
}

// Input passes a prompt through the [Hooks].Input of the agent before a run begins. Programs that
// record or show a prompt ahead of its run call it first, keep only its result, and run the agent
// with [WithInput]. opts are the options of the run; those about its history and journal are not
// used. The error is what a run with this prompt would end with.
func (a *Agent[D, O]) Input(ctx context.Context, deps D, parts []model.Part, opts ...RunOption) (_ *Input, err error) {
	r := new(agentRun[D, O])
	r.begin(ctx, a, deps, opts)
	in := &Input{Parts: parts}
	if len(parts) == 0 || len(r.hooks) == 0 {
		return in, nil
	}
	more := r.options.more()
	more.results, more.input, more.parts = nil, nil, parts
	cfg, err := r.loopConfig("")
	if err == nil {
		r.options.prepareMeter(&r.context.RunInfo)
		if err = r.input(ctx, cfg); err == nil {
			in.Parts, in.used = cfg.Prompt, r.context.Meter.Usage()
			if r.options.meter != nil { // the run counts it there
				r.options.meter.Add(negative(in.used))
			}
			return in, nil
		}
	}
	return nil, r.unstarted(err)
}

func negative(u toolset.Usage) toolset.Usage {
	return toolset.Usage{
		Requests: -u.Requests, ToolCalls: -u.ToolCalls, Cost: -u.Cost, Unpriced: -u.Unpriced,
		Usage: model.Usage{
			InputTokens: -u.InputTokens, OutputTokens: -u.OutputTokens, ReasoningTokens: -u.ReasoningTokens,
			CacheReadTokens: -u.CacheReadTokens, CacheWriteTokens: -u.CacheWriteTokens,
		},
	}
}

// WithInput runs an agent with a prompt that has passed its Input hooks, which are not called for
// it again. Their usage counts as the run's.
func WithInput(in *Input) RunOption {
	return runOption(func(o *runOptions) {
		more := o.more()
		if more.input = in; in != nil {
			more.parts = append(more.parts, in.Parts...)
		}
	})
}

// input passes the prompt of a run through the Input hooks.
func (r *agentRun[D, O]) input(ctx context.Context, cfg *loop.Config) error {
	if in := r.options.input; in != nil {
		r.context.Meter.Add(in.used)
		return nil
	}
	return r.pass(ctx, &cfg.Prompt)
}

// steered passes messages from the inbox through the Input hooks. Those that are left when one fails go back.
func (r *agentRun[D, O]) steered(ctx context.Context, t *engine.Task, done *engine.Done) {
	for i := range done.Inbox {
		if done.Err = r.pass(ctx, &done.Inbox[i]); done.Err != nil {
			r.options.inbox.giveBack(append(done.Inbox[:i], done.Inbox[i+1:]...), t.AtEnd)
			done.Inbox = nil
			return
		}
	}
}

// pass passes parts through the Input hooks.
func (r *agentRun[D, O]) pass(ctx context.Context, parts *[]model.Part) (err error) {
	defer recovered(&err)
	for i := range r.hooks {
		if hook := r.hooks[i].Input; hook != nil && len(*parts) > 0 && err == nil {
			*parts, err = hook(ctx, &r.context, *parts)
		}
	}
	return err
}

type sinkKey struct{}

// WithSink returns a context for a [RequestFunc] in which the deltas of the response pass through what wrap returns. It is called with
// the sink of the loop, if the response is streamed. The hook may call that sink until it returns, on the goroutine on which it was
// called. Use it to hold back, or to watch, what a model writes. If a hook further outside has set one too, deltas pass through its
// sink afterwards.
func WithSink(ctx context.Context, wrap func(model.Sink) model.Sink) context.Context {
	if outer, ok := ctx.Value(sinkKey{}).(func(model.Sink) model.Sink); ok {
		inner := wrap
		wrap = func(s model.Sink) model.Sink { return inner(outer(s)) }
	}
	return context.WithValue(ctx, sinkKey{}, wrap)
}

// sinkIn returns the sink of a request.
func sinkIn(ctx context.Context, sink model.Sink) model.Sink {
	if wrap, ok := ctx.Value(sinkKey{}).(func(model.Sink) model.Sink); ok && sink != nil {
		return wrap(sink)
	}
	return sink
}
