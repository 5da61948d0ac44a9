// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Do implements [engine.Worker]. It is called from the run's goroutine or, for calls that run in parallel, from others;
// while any runs, nothing of r changes.
func (r *agentRun[D, O]) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	defer recovered(&done.Err)
	if rule := r.options.rule; rule != nil {
		watched := l
		if !r.stream {
			watched = nil
		}
		var end func()
		ctx, end = rule.says.watch(ctx, t, watched)
		defer end()
	}
	switch t.Op {
	case engine.OpModel:
		// Runs spend their time in here, so this stack is what a waiting run costs.
		if r.options.runOn != nil {
			r.metered(ctx, t, l, done)
			return
		}
		done.Response, done.Err = r.request(ctx, t, l)
	case engine.OpPrepare:
		done.Err = r.prepare(ctx, t, l, done)
	case engine.OpStep:
		r.step(ctx, t, l, done)
	case engine.OpCheck:
		if r.options.runOn != nil {
			r.metered(ctx, t, l, done)
			return
		}
		done.Checked = r.check(ctx, t.Checks)
	case engine.OpInbox:
		if done.Inbox = r.options.inbox.take(t.AtEnd); len(r.hooks) > 0 {
			r.steered(ctx, t, done)
		}
	default:
		r.local(ctx, t, l, done)
	}
}

// step does an OpPrepare, an OpModel and an OpCheck.
func (r *agentRun[D, O]) step(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	if done.Err = r.prepare(ctx, t, l, done); done.Err != nil {
		done.Offer = nil
		return
	}
	messages := t.Info.Messages
	if done.Offer.History != nil {
		messages = done.Offer.History
	}
	resp, err := r.hookedRequest(ctx, &r.context, loop.RequestOf(done.Offer, messages), nil)
	if err != nil || resp == nil {
		done.Err = err
		return
	}
	done.Response = loop.Normalise(resp, t.Info.Step)
	done.Checked = r.check(ctx, loop.ChecksOf(done.Response, done.Offer, t.Checks))
}

// local does a task that needs a run context.
func (r *agentRun[D, O]) local(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	if t.Op != engine.OpApprove && t.Call != nil && t.Call.Decoded == nil { // it was checked in another process
		var wrong *engine.Return
		if t.Call.Decoded, _, wrong = r.decode(t.Call, false); wrong != nil {
			done.Err = wrong.Cause
			return
		}
	}
	meter := r.context.Meter
	if r.options.runOn != nil {
		meter = meter.Sub()
		defer func() { done.Used = new(meter.Own()) }() // even if a tool panics
	}
	if t.Op == engine.OpApprove || t.Op == engine.OpPreview {
		if t.Op == engine.OpApprove {
			*done = r.approve(meter.Within(ctx), t)
			return
		}
		done.Return.Approval, done.Err = r.preview(ctx, t.Call, meter)
		checkMeta(done)
		return
	}
	run := r.contextOf(t, l, meter)
	switch t.Op {
	case engine.OpTool:
		r.call(ctx, t, run, done)
		checkMeta(done)
	case engine.OpOutput:
		r.agent.output.finish(ctx, run, t, done)
		if rule := r.options.rule; rule != nil {
			rule.says.output(ctx, &run.RunInfo, run.Host, t, done)
		}
	default:
		done.Err = errs.Errorf("agent: unknown operation %s", t.Op)
	}
}

// metered does a request or checks with their usage, which a record of the task must have.
//
//go:noinline
func (r *agentRun[D, O]) metered(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	meter := r.context.Meter
	defer func() {
		done.Used = new(r.context.Meter.Own()) // even if a hook panics
		r.context.Meter = meter
	}()
	r.context.Meter = meter.Sub()
	if t.Op == engine.OpModel {
		done.Response, done.Err = r.request(ctx, t, l)
	} else {
		done.Checked = r.check(ctx, t.Checks)
	}
}

func (r *agentRun[D, O]) request(ctx context.Context, t *engine.Task, l engine.Listener) (*model.Message, error) {
	var sink model.Sink
	if t.Stream {
		sink = l.Sink()
	}
	return r.hookedRequest(ctx, &r.context, t.Request, sink)
}

// contextOf is the run context for a task: the step's, or a copy of it that has the call as its host.
func (r *agentRun[D, O]) contextOf(t *engine.Task, l engine.Listener, meter *toolset.Meter) *toolset.RunContext[D] {
	if t.Call == nil && r.options.runOn == nil {
		return &r.context // nothing to add
	}
	h := &callHost[D, O]{context: r.context, run: r, call: t.Call, listener: l}
	run := &h.context
	if t.Call != nil {
		run.Call = t.Call.Call
	}
	run.Host, run.Meter = h, meter
	return run
}

// tool finds a tool that the step offers.
func (r *agentRun[D, O]) tool(name string) *toolset.Tool[D] {
	for _, t := range r.listed {
		if t.Def.Name == name {
			return t
		}
	}
	return nil
}

// approve passes a call to the asker, if there is one.
func (r *agentRun[D, O]) approve(ctx context.Context, t *engine.Task) engine.Done {
	req := toolset.ApprovalRequest{Origin: r.origin(t.Call), Args: loop.ArgsJSON(t.Call.Args), Invalid: t.Text}
	if t.Approval != nil {
		req.Approval = *t.Approval
		req.Once = req.Approval.Once
	}
	d, err := r.asking.approve(ctx, req)
	return engine.Done{Decision: &d, Err: err}
}

// call runs a tool.
func (r *agentRun[D, O]) call(ctx context.Context, t *engine.Task, run *toolset.RunContext[D], done *engine.Done) {
	tool := r.tool(t.Call.Tool)
	if tool == nil {
		done.Err = ErrToolGone
		return
	}
	timeout := tool.Timeout
	if timeout == 0 {
		timeout = r.agent.config.ToolTimeout
	}
	if timeout > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, timeout, errToolTimeout)
		defer cancel()
		ctx = bounded
	}
	res, err := r.hookedCall(ctx, run, tool, t.Call.Decoded)
	switch {
	case err == nil:
		done.Return.Result = res
	case timeout > 0 && context.Cause(ctx) == errToolTimeout:
		*done = timedOut(timeout, err)
	default:
		*done = outcome(err)
	}
}

var errToolTimeout = errors.New("tool timeout")

func timedOut(after time.Duration, err error) engine.Done {
	text := fmt.Sprintf("Timed out after %v.", after)
	return engine.Done{Return: engine.Return{Result: toolset.Result{Text: text}, Retry: true, Cause: errs.Errorf("timed out after %v: %w", after, err)}}
}

// outcome makes a task's result of a tool's error: what the model is told, or the end of the run.
func outcome(err error) engine.Done {
	var ret engine.Return
	switch e := toolset.Outcome(err).(type) {
	case *toolset.RetryError:
		ret.Text, ret.Retry, ret.Cause = e.Message, true, err
	case *toolset.FailedError:
		ret.Text, ret.Outcome = e.Message, model.OutcomeFailed
	case *toolset.DeniedError:
		ret.Text, ret.Outcome, ret.Denied = e.Message, model.OutcomeDenied, e.Decision
	case *toolset.ApprovalRequiredError:
		ret.Approval = &e.Approval
	case *toolset.DeferredError:
		ret.Meta, ret.Deferred = e.Meta, true
	case *toolset.PendingError:
		return suspended(e)
	default:
		return engine.Done{Err: err}
	}
	return engine.Done{Return: ret}
}

// checkMeta refuses the Meta of a result or an approval that a history could not be stored with.
func checkMeta(done *engine.Done) {
	meta := done.Return.Meta
	if a := done.Return.Approval; a != nil {
		meta = a.Meta
	}
	if err := checkJSON(meta, "the Meta that the tool returned is not valid JSON, so the history could not be stored"); err != nil {
		*done = engine.Done{Err: err}
	}
}

// suspended makes a task's result of a call that waits for calls inside it.
func suspended(p *toolset.PendingError) engine.Done {
	if len(p.Calls) == 0 {
		return engine.Done{Err: errors.New("the tool waits for calls inside it and names none: give them to toolset.Pending")}
	}
	if err := checkJSON(p.State, "the state that the tool gave to toolset.Pending is not valid JSON"); err != nil {
		return engine.Done{Err: err}
	}
	if _, err := json.Marshal(p.Calls); err != nil {
		return engine.Done{Err: errs.Errorf("the calls that the tool gave to toolset.Pending cannot be stored: %w", err)}
	}
	return engine.Done{Return: engine.Return{Pending: p}}
}
