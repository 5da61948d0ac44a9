// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// prepare makes what the next request offers the model. Its steps are separate functions to keep
// their frames, and so the stack of every run, small.
func (r *agentRun[D, O]) prepare(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) error {
	if err := r.enterStep(ctx, t, l, done); err != nil {
		return err
	}
	if r.tools == nil {
		var err error
		if r.tools, err = r.toolset.Open(ctx, &r.context); err != nil {
			return err
		}
	}
	listing, err := r.tools.Tools(ctx, &r.context)
	if err != nil {
		return err
	}
	if err := r.list(listing.Tools); err != nil {
		return err
	}
	r.listing = listing
	r.offer.Instructions, err = r.instructions(ctx, listing.Instructions)
	done.Offer = &r.offer
	return err
}

// enterStep sets what user code may see of the step, and processes the history if the task asks for
// it.
func (r *agentRun[D, O]) enterStep(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) error {
	r.context.RunInfo, r.offer.History = *t.Info, nil
	r.options.prepareMeter(t.Info)
	if !t.Process {
		return nil
	}
	if r.options.runOn != nil { // what instructions use counts again when they are made again
		meter := t.Info.Meter.Sub()
		r.context.Meter = meter
		defer func() { done.Used = new(meter.Own()) }() // even if a processor panics
	}
	history, err := r.process(ctx, t.Info.Messages, l)
	if err != nil {
		return err
	}
	r.context.RunInfo = *t.Info
	if history != nil {
		r.context.Messages, r.offer.History = history, history
	}
	return nil
}

// list makes the offer for a list of tools.
//
//go:noinline
func (r *agentRun[D, O]) list(tools []*toolset.Tool[D]) error {
	mode := r.agent.output.modeFor(&r.model, len(tools) > 0, refusedText(r.context.Messages))
	if !r.offering || mode != r.mode || !sameTools(tools, r.listing.Tools) {
		r.mode = mode
		if err := r.makeOffer(tools); err != nil {
			return err
		}
	}
	if r.options.choice.Mode != model.ToolChoiceAuto {
		return r.choose(r.context.Step)
	}
	return nil
}

// process runs the history processors. It returns nil if they left the history as it is.
func (r *agentRun[D, O]) process(ctx context.Context, messages []*model.Message, l engine.Listener) (_ []*model.Message, err error) {
	if r.emits == nil {
		r.emits = new(processing)
	}
	r.emits.open(l)
	defer r.emits.close()
	before := messages
	for i, process := range r.agent.config.History {
		r.context.Messages = messages
		if messages, err = process(ctx, &r.context, messages); err != nil {
			return nil, fmt.Errorf("%s: %w", r.agent.labels.history[i], err)
		}
	}
	return loop.Processed(before, messages)
}

// refusedText reports whether messages end in a request to try again that answers no call.
func refusedText(messages []*model.Message) bool {
	if len(messages) == 0 {
		return false
	}
	return slices.ContainsFunc(messages[len(messages)-1].Parts, func(p model.Part) bool {
		return p.Kind == model.PartRetry && p.CallID == ""
	})
}

// offered is the last offer of an agent to a model: the offer for a list of tools and a mode of
// output.
type offered[D any] struct {
	tools []*toolset.Tool[D]
	mode  OutputMode
	offer engine.Offer
}

// makeOffer sets the offer for a list of tools. Static toolsets give the same list to every run, so
// the offer is usually cached.
func (r *agentRun[D, O]) makeOffer(tools []*toolset.Tool[D]) error {
	history := r.offer.History
	if r.options.toolRetries != nil {
		if err := r.offerOf(tools, &r.offer); err != nil {
			return err
		}
	} else {
		last := r.agent.offered.Load()
		if last == nil || last.mode != r.mode || !sameTools(last.tools, tools) {
			last = &offered[D]{tools: tools, mode: r.mode}
			if err := r.offerOf(tools, &last.offer); err != nil {
				return err
			}
			r.agent.offered.Store(last)
		}
		r.offer = last.offer
	}
	r.offer.Settings, r.offer.History, r.offering = r.options.settings, history, true
	return nil
}

// offerOf makes an offer, without what belongs to a run.
//
//go:noinline
func (r *agentRun[D, O]) offerOf(tools []*toolset.Tool[D], f *engine.Offer) error {
	*f = engine.Offer{Tools: make([]engine.Tool, 0, len(tools)+1), Defs: make([]model.ToolDef, 0, len(tools)+1)}
	for _, t := range tools {
		if err := t.Err(); err != nil {
			return err
		}
		if r.agent.output.isTool(t.Def.Name, r.mode) {
			return &toolset.NameClashError{Tool: t.Def.Name, First: "the agent's output", Second: r.toolset.Name()}
		}
		retries := r.agent.toolRetries
		if r.options.toolRetries != nil {
			retries = *r.options.toolRetries
		}
		if t.Retries != nil {
			retries = *t.Retries
		}
		f.Tools = append(f.Tools, engine.Tool{
			Name: t.Def.Name, Sequential: t.Sequential, Checks: t.Check != nil, Asks: t.Approval != nil, External: t.External, Idempotent: t.Idempotent,
			Kind: t.Kind, Title: t.Title, Retries: retries,
		})
		f.Defs = append(f.Defs, t.Def)
	}
	r.agent.output.apply(f, r.mode, r.agent.outputRetries)
	return nil
}

func sameTools[D any](a, b []*toolset.Tool[D]) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// instructions joins the static instructions, the dynamic ones, the toolsets' and the output's.
func (r *agentRun[D, O]) instructions(ctx context.Context, tools string) (string, error) {
	static := r.agent.config.Instructions
	for _, more := range r.options.instructions {
		static = joined(static, "\n", more)
	}
	all := static
	for i, dynamic := range r.agent.config.Dynamic {
		text, err := dynamic(ctx, &r.context)
		if err != nil {
			return "", fmt.Errorf("%s: %w", r.agent.labels.dynamic[i], err)
		}
		all = joined(all, "\n\n", text)
	}
	return joined(joined(all, "\n\n", tools), "\n\n", r.agent.output.instructions()), nil
}

func joined(a, between, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return strings.Join([]string{a, b}, between)
}
