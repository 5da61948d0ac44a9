// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Frame implements [loop.Host].
func (r *agentRun[D, O]) Frame(ctx context.Context, info *toolset.RunInfo) (frame *loop.Frame, err error) {
	defer recovered(&err)
	r.context.RunInfo = *info
	if r.tools == nil {
		if r.tools, err = r.toolset.Open(ctx, &r.context); err != nil {
			return nil, err
		}
	}
	listing, err := r.tools.Tools(ctx, &r.context)
	if err != nil {
		return nil, err
	}
	mode := r.agent.output.modeFor(&r.model, len(listing.Tools) > 0, refusedText(info.Messages))
	if r.frame == nil || mode != r.mode || !sameTools(listing.Tools, r.listing.Tools) {
		r.mode = mode
		if err := r.offer(listing.Tools); err != nil {
			return nil, err
		}
	}
	if r.options.choice.Mode != model.ToolChoiceAuto {
		if err := r.choose(info.Step); err != nil {
			return nil, err
		}
	}
	r.listing = listing
	r.frame.Instructions, err = r.instructions(ctx, listing.Instructions)
	return r.frame, err
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

// offered is what an agent last offered to a model: the frame that goes with a list of tools and a mode of output.
type offered[D any] struct {
	tools []*toolset.Tool[D]
	mode  OutputMode
	frame loop.Frame
}

// offer sets the frame for a list of tools. Static toolsets give the same list to every run, so that the frame is there
// already.
func (r *agentRun[D, O]) offer(tools []*toolset.Tool[D]) error {
	if r.options.toolRetries != nil {
		f, err := r.makeFrame(tools)
		r.own = f
		r.frame = &r.own
		return err
	}
	last := r.agent.offered.Load()
	if last == nil || last.mode != r.mode || !sameTools(last.tools, tools) {
		f, err := r.makeFrame(tools)
		if err != nil {
			return err
		}
		last = &offered[D]{tools, r.mode, f}
		r.agent.offered.Store(last)
	}
	r.own = last.frame
	r.own.Settings = r.options.settings
	r.frame = &r.own
	return nil
}

func (r *agentRun[D, O]) makeFrame(tools []*toolset.Tool[D]) (loop.Frame, error) {
	f := loop.Frame{
		Settings: r.options.settings,
		Tools:    make([]loop.Tool, 0, len(tools)+1),
		Defs:     make([]model.ToolDef, 0, len(tools)+1),
	}
	for _, t := range tools {
		if err := t.Err(); err != nil {
			return f, err
		}
		if r.agent.output.isTool(t.Def.Name, r.mode) {
			return f, &toolset.NameClashError{Tool: t.Def.Name, First: "the agent's output", Second: r.toolset.Name()}
		}
		retries := r.agent.toolRetries
		if r.options.toolRetries != nil {
			retries = *r.options.toolRetries
		}
		if t.Retries != nil {
			retries = *t.Retries
		}
		f.Tools = append(f.Tools, loop.Tool{
			Name: t.Def.Name, Sequential: t.Sequential, Checks: t.Check != nil, Asks: t.Approval != nil, External: t.External,
			Kind: t.Kind, Title: t.Title, Retries: retries, Decode: decoder(t, r.agent.config.NoRepair),
		})
		f.Defs = append(f.Defs, t.Def)
	}
	r.agent.output.apply(&f, r.mode, r.agent.outputRetries)
	return f, nil
}

// Check implements [loop.Host].
func (r *agentRun[D, O]) Check(ctx context.Context, call *engine.Call) (ret *engine.Return, err error) {
	defer recovered(&err)
	wrong := r.tool(call.Tool).Check(ctx, r.looking(call), call.Decoded)
	if wrong == nil {
		return nil, nil
	}
	if errors.As(wrong, new(*toolset.ValidationError)) {
		invalid := forModel(wrong)
		return &engine.Return{Result: toolset.Result{Text: invalid.Text}, Retry: true, Cause: invalid.Err}, nil
	}
	done := outcome(wrong)
	if done.Err != nil || done.Return.Approval != nil || done.Return.Deferred {
		return nil, wrong
	}
	return &done.Return, nil
}

// looking is the run context of functions that look at a call before it runs. They cannot turn to the run.
func (r *agentRun[D, O]) looking(call *engine.Call) *toolset.RunContext[D] {
	run := r.context
	run.Call, run.Host = call.Call, nil
	return &run
}

// Approval implements [loop.Host].
func (r *agentRun[D, O]) Approval(ctx context.Context, call *engine.Call) (approval *toolset.Approval, err error) {
	defer recovered(&err)
	return r.tool(call.Tool).Approval(ctx, r.looking(call), call.Decoded)
}

func decoder[D any](t *toolset.Tool[D], exact bool) func([]byte, bool) (any, []byte, *loop.Invalid) {
	return func(args []byte, complete bool) (decoded any, repaired []byte, invalid *loop.Invalid) {
		defer func() {
			if p := recover(); p != nil {
				invalid = forModel(&PanicError{Value: p, Stack: debug.Stack()})
			}
		}()
		if t.Decode == nil {
			return json.RawMessage(args), nil, nil
		}
		var err error
		if exact {
			decoded, err = t.Decode(args)
		} else {
			decoded, repaired, err = decodeRepaired(t.Decode, args, complete)
		}
		if err != nil {
			return nil, nil, forModel(err)
		}
		return decoded, repaired, nil
	}
}

func sameTools[D any](a, b []*toolset.Tool[D]) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// instructions joins static instructions, the dynamic ones, those of the toolsets and those of the output.
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
