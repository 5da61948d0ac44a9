// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// prepare makes what the next request offers the model. Its steps are separate functions to keep
// their frames, and so the stack of every run, small.
func (r *agentRun[D, O]) prepare(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) error {
	history, err := r.enterStep(ctx, t, l, done)
	if err != nil {
		return err
	}
	if r.tools == nil {
		if r.tools, err = r.toolset.Open(ctx, &r.context); err != nil {
			return err
		}
	}
	listing, err := r.tools.Tools(ctx, &r.context)
	if err != nil {
		return err
	}
	offer, err := r.list(listing.Tools)
	if err != nil {
		return err
	}
	r.listed = listing.Tools
	instructions, err := r.instructions(ctx, listing.Instructions)
	if err != nil {
		return err
	}
	done.Offer = completed(offer, instructions, r.options.settings, history)
	if history == nil && offer == r.offer && offer != done.Offer {
		r.keep(done.Offer)
	}
	return nil
}

// enterStep sets what user code may see of the step, and processes the history if the task asks for
// it. It returns the history if processors have changed it.
func (r *agentRun[D, O]) enterStep(
	ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done,
) ([]*model.Message, error) {
	r.context.RunInfo = *t.Info
	r.options.prepareMeter(t.Info)
	if !t.Process {
		return nil, nil
	}
	if r.options.runOn != nil { // what instructions use counts again when they are made again
		meter := t.Info.Meter.Sub()
		r.context.Meter = meter
		defer func() { done.Used = new(meter.Own()) }() // even if a processor panics
	}
	history, err := r.process(ctx, t.Info.Messages, l)
	if err != nil {
		return nil, err
	}
	r.context.RunInfo = *t.Info
	if history != nil {
		r.context.Messages = history
	}
	return history, nil
}

// list returns the offer for a list of tools. It may be r.offer, which is not changed.
//
//go:noinline
func (r *agentRun[D, O]) list(tools []*toolset.Tool[D]) (*engine.Offer, error) {
	mode := r.agent.output.modeFor(&r.model, len(tools) > 0, refusedText(r.context.Messages))
	if r.offer == nil || mode != r.mode || !sameTools(tools, r.listed) {
		r.mode = mode
		if err := r.makeOffer(tools); err != nil {
			return nil, err
		}
	}
	if choice := r.options.choice; choice.Mode != model.ToolChoiceAuto {
		return chosen(*r.offer, choice, r.context.Step)
	}
	return r.offer, nil
}

// completed returns an offer with what need not be the same in each step: offer itself if it has
// that already.
func completed(
	offer *engine.Offer, instructions string, settings *model.Settings, history []*model.Message,
) *engine.Offer {
	if history == nil && offer.Settings == settings && offer.Instructions == instructions {
		return offer
	}
	own := *offer
	own.Instructions, own.Settings, own.History = instructions, settings, history
	return &own
}

// keep keeps an offer for the next step, and for other runs if it does not depend on this one.
//
//go:noinline
func (r *agentRun[D, O]) keep(offer *engine.Offer) {
	r.offer = offer
	a, o := r.agent, &r.options
	dynamic := len(a.config.Dynamic)+len(o.instructions) > 0
	if !dynamic && o.settings == a.config.Settings && o.toolRetries == nil {
		a.offered.Store(&offered[D]{r.listed, r.mode, offer})
	}
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
			return nil, errs.Errorf("%s: %w", r.agent.labels.history[i], err)
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
// output. Its instructions and settings may be those of another run.
type offered[D any] struct {
	tools []*toolset.Tool[D]
	mode  OutputMode
	offer *engine.Offer
}

// makeOffer sets the offer for a list of tools. Static toolsets give the same list to every run, so
// the offer is usually cached.
func (r *agentRun[D, O]) makeOffer(tools []*toolset.Tool[D]) error {
	own := r.options.toolRetries != nil
	last := r.agent.offered.Load()
	if own || last == nil || last.mode != r.mode || !sameTools(last.tools, tools) {
		last = &offered[D]{tools, r.mode, new(engine.Offer)}
		if err := r.offerOf(tools, last.offer); err != nil {
			return err
		}
		if !own {
			r.agent.offered.Store(last)
		}
	}
	r.offer = last.offer
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
			return "", errs.Errorf("%s: %w", r.agent.labels.dynamic[i], err)
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
