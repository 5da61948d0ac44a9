// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// functions runs the function calls without an answer, in parallel where their order allows. A call that needs approval is a
// barrier at its own place, like a sequential one: the calls before it have ended when it is asked about, and it has ended when
// those after it start. If a call fails, the others are cancelled and waited for.
func (r *run) functions(ctx context.Context, calls []call) error {
	for i := range calls {
		if c := &calls[i]; c.retry() && !c.isOutput() && !c.closed {
			if err := r.ended(c); err != nil {
				return err
			}
		}
	}
	batch := make([]*call, 0, len(calls))
	for i := 0; i < len(calls); i++ {
		c := &calls[i]
		if c.answered || !c.isFunction() {
			continue
		}
		if r.held != free {
			if err := r.behind(ctx, c); err != nil {
				return err
			}
			continue
		}
		barrier, err := r.isBarrier(ctx, c)
		switch {
		case err != nil:
			return err
		case barrier && len(batch) > 0:
			if err := r.together(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
			i-- // and now c, whose approval may be another one
		case barrier:
			if err := r.alone(ctx, c, batch); err != nil {
				return err
			}
		case c.waits == nothing:
			batch = append(batch, c)
		}
	}
	return r.together(ctx, batch)
}

// isBarrier reports whether a call must run alone. It asks the tool whether the call needs approval, unless the calls before it
// must end first.
func (r *run) isBarrier(ctx context.Context, c *call) (bool, error) {
	if c.tool.External && !c.tool.Asks && c.given == nil {
		c.waits = forResult
	}
	switch {
	case c.tool.Sequential || c.given != nil:
		return true, nil
	case c.waits != nothing || c.args.Resume != nil:
		return false, nil
	}
	err := r.preview(ctx, c)
	return c.approval != nil || c.tool.External, err
}

// alone handles a barrier after all calls before it have ended. room is memory for a batch.
func (r *run) alone(ctx context.Context, c *call, room []*call) error {
	if c.waits == forResult {
		r.held = heldAll
		return nil
	}
	if c.given != nil {
		again, err := r.decided(ctx, c, c.given.Decision)
		if err != nil || !again {
			return err
		}
		return r.consult(ctx, c)
	}
	if c.tool.Sequential {
		if err := r.preview(ctx, c); err != nil {
			return err
		}
	}
	switch {
	case c.approval != nil:
		return r.consult(ctx, c)
	case c.tool.External:
		r.leave(c)
		return nil
	}
	return r.together(ctx, append(room, c))
}

// together runs calls in parallel. Those that ask for approval when they run are asked about afterwards, in order.
func (r *run) together(ctx context.Context, calls []*call) error {
	if len(calls) == 0 {
		return nil
	}
	if err := r.batch(ctx, calls); err != nil {
		return err
	}
	for _, c := range calls {
		switch {
		case c.waits == forInner:
			r.hold(c)
		case c.approval == nil:
		case r.held != free:
			c.waits = forApproval
		default:
			c.own = true
			if err := r.consult(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// batch runs calls in parallel, at most [Config.Parallel] at a time. Completed calls are answered even if others failed.
func (r *run) batch(ctx context.Context, calls []*call) error {
	if err := context.Cause(ctx); err != nil {
		return &engine.RunError{Stage: engine.StageTool, Tool: calls[0].tool.Name, CallID: calls[0].part.CallID, Err: err}
	}
	if len(calls) == 1 {
		if err := r.begins(calls[0]); err != nil {
			return err
		}
		return r.returned(calls[0], r.do(ctx, r.loneCall(calls[0])))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	futures := make([]engine.Future, 0, len(calls))
	running := make([]*call, 0, len(calls))
	var failed error
	for next := 0; next < len(calls) || len(running) > 0; {
		for failed == nil && next < len(calls) && (r.cfg.Parallel <= 0 || len(running) < r.cfg.Parallel) {
			if failed = r.begins(calls[next]); failed != nil {
				cancel()
				break
			}
			t := *r.loneCall(calls[next])
			t.Beside = r.beside(len(calls)-next, len(running))
			futures = append(futures, r.eng.Start(ctx, &t))
			running = append(running, calls[next])
			next++
		}
		if len(running) == 0 {
			break
		}
		i := r.eng.WaitAny(futures, r)
		done := futures[i].Done()
		r.at(done)
		err := r.returned(running[i], done)
		futures, running = slices.Delete(futures, i, i+1), slices.Delete(running, i, i+1)
		if err != nil && failed == nil {
			failed = err
			cancel()
		}
	}
	return failed
}

// beside returns how many of the calls that are left may run at the same time from now on.
func (r *run) beside(left, running int) uint16 {
	if r.cfg.Parallel > 0 {
		left = min(left, r.cfg.Parallel-running)
	}
	return uint16(min(left, 1<<16-1))
}

// begins emits that a call starts to run.
func (r *run) begins(c *call) error {
	if r.event == nil {
		return nil
	}
	e := &engine.Event{Kind: engine.EventToolStart, CallID: c.part.CallID, Tool: c.part.Tool, Args: c.args.Args, Attempt: c.args.Attempt, Decision: c.args.Decision}
	describe(e, c.tool)
	return r.emit(e)
}

// returned applies the result of a call.
func (r *run) returned(c *call, done *engine.Done) error {
	if done.Err != nil {
		err := &engine.RunError{Stage: engine.StageTool, Tool: c.tool.Name, CallID: c.part.CallID, Attempt: c.args.Attempt, Err: done.Err}
		r.failed(c, done.Err)
		return err
	}
	switch ret := &done.Return; {
	case ret.Approval != nil:
		c.approval = ret.Approval
		return nil
	case ret.Deferred:
		c.meta = ret.Meta
		r.leave(c)
		return nil
	case ret.Pending != nil:
		r.suspend(c, ret.Pending)
		return nil
	default:
		r.take(c, ret)
		return r.ended(c)
	}
}

// take answers a call with its result.
func (r *run) take(c *call, ret *engine.Return) {
	c.executed = true
	if ret.Retry {
		c.askRetry(c.withChange(ret.Text), ret.Cause)
		c.answer.Decision = c.decision()
		return
	}
	c.reply(c.withChange(ret.Text), ret.Outcome)
	c.answer.Meta, c.answer.Keep, c.answer.Decision = ret.Meta, ret.Keep, ret.Denied
	if ret.Denied == nil {
		c.answer.Decision = c.decision()
	}
	c.content = append(c.content, ret.Content...)
	if ret.Outcome == model.OutcomeSuccess {
		r.cfg.Meter.Add(toolset.Usage{ToolCalls: 1})
	}
}

// failed emits that a call has ended the run.
func (r *run) failed(c *call, err error) {
	c.closed = true
	_ = r.emit(&engine.Event{Kind: engine.EventToolResult, CallID: c.part.CallID, Tool: c.part.Tool, Err: err}) // the run ends already
}

// unstarted emits that calls without an answer have ended with the run. The history will say the same of them.
func (r *run) unstarted(parts []model.Part, calls []call) {
	for i := range parts {
		p := &parts[i]
		if p.Kind != model.PartToolCall || anyCall(calls, func(c *call) bool { return c.part == p && c.closed }) {
			continue
		}
		answer := interrupted(p)
		e := &engine.Event{Kind: engine.EventToolResult, CallID: p.CallID, Tool: p.Tool, Args: p.Args, Result: &answer}
		if r.offer != nil {
			describe(e, r.offer.Tool(p.Tool))
		}
		_ = r.emit(e)
	}
}

// ended emits that a call has been answered.
func (r *run) ended(c *call) error {
	c.closed = true
	if r.event == nil {
		return nil
	}
	e := &engine.Event{Kind: engine.EventToolResult, CallID: c.part.CallID, Tool: c.part.Tool, Args: c.part.Args, Result: c.answer}
	if c.changed && c.executed {
		e.Args = c.args.Args
	}
	describe(e, c.tool)
	return r.emit(e)
}
