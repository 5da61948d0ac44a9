// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// callHost is the [toolset.Host] of one call. It shares one allocation with the call's run context.
type callHost[D, O any] struct {
	context  toolset.RunContext[D]
	run      *agentRun[D, O]
	call     *engine.Call // nil for an output without a call
	listener engine.Listener
	// runs counts the runs inside the call.
	runs atomic.Int32
	// held has the events that are held back, or is nil. See [HoldEvents]. It is set before the tool is called.
	held *held
}

// Emit implements [toolset.Host].
func (h *callHost[D, O]) Emit(_ toolset.Call, value any) {
	if !h.run.stream || h.call == nil {
		return
	}
	if h.held == nil || !h.held.keep(value) {
		_ = h.listener.Custom(h.call, value)
	}
}

// Ask implements [toolset.Host].
func (h *callHost[D, O]) Ask(ctx context.Context, _ toolset.Call, q toolset.Question) (toolset.Reply, error) {
	q.Origin = h.run.origin(h.call)
	return h.run.asking.answer(ctx, h.behind(), q)
}

// behind returns who answers what the asker of the run does not, or nil.
func (h *callHost[D, O]) behind() engine.Answerer {
	if a, ok := h.listener.(engine.Answerer); ok {
		return a
	}
	return h.run.options.outer.behind
}

// Generate implements [toolset.Host].
func (h *callHost[D, O]) Generate(ctx context.Context, call toolset.Call, req *model.Request) (*model.Message, error) {
	run := h.context
	run.Call = call
	return h.run.generate(ctx, &run, req)
}

// stepHost is the [toolset.Host] of functions on the run's goroutine: history processors,
// instructions, and outputs without a call. It cannot ask questions, because that would block the
// run, and accepts events of history processors only.
type stepHost[D, O any] agentRun[D, O]

// Emit implements [toolset.Host].
func (h *stepHost[D, O]) Emit(_ toolset.Call, value any) {
	r := (*agentRun[D, O])(h)
	if r.stream && r.emits != nil {
		r.emits.emit(value)
	}
}

// processing passes on what history processors emit, one event at a time and while they are at work.
type processing struct {
	mu       sync.Mutex
	listener engine.Listener // nil unless they are
}

func (p *processing) open(l engine.Listener) {
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
}

func (p *processing) close() { p.open(nil) }

func (p *processing) emit(value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Custom(nil, value)
	}
}

// Ask implements [toolset.Host].
func (h *stepHost[D, O]) Ask(context.Context, toolset.Call, toolset.Question) (toolset.Reply, error) {
	return toolset.Reply{}, toolset.ErrNobody
}

// Generate implements [toolset.Host].
func (h *stepHost[D, O]) Generate(ctx context.Context, _ toolset.Call, req *model.Request) (*model.Message, error) {
	r := (*agentRun[D, O])(h)
	return r.generate(ctx, &r.context, req)
}

// generate sends a request for user code the way the loop sends its own: through the hooks, counted and limited.
func (r *agentRun[D, O]) generate(ctx context.Context, run *toolset.RunContext[D], req *model.Request) (resp *model.Message, err error) {
	defer recovered(&err)
	if req == nil {
		return nil, errors.New("agent: Generate: the request is nil")
	}
	asked := *req
	asked.Settings = r.options.settings.Merge(req.Settings)
	if resp, err = r.hookedRequest(ctx, run, &asked, nil); err != nil {
		return nil, err
	}
	if resp == nil {
		return nil, errors.New("agent: Generate: the model returned neither a response nor an error")
	}
	if err := run.Meter.CheckTokens(model.Usage{}); err != nil {
		return nil, err
	}
	return resp, run.Meter.CheckCost(0)
}
