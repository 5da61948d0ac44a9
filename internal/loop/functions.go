// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// functions runs all function calls that have no answer yet: in parallel, with sequential ones as barriers at their
// own position. If one fails its siblings are cancelled and waited for.
func (r *run) functions(ctx context.Context, calls []call) error {
	runnable := make([]*call, 0, len(calls))
	for i := range calls {
		switch c := &calls[i]; {
		case !c.answered && c.isFunction():
			runnable = append(runnable, c)
		case c.retry() && !c.isOutput() && !c.told:
			if err := r.ended(c); err != nil {
				return err
			}
		}
	}
	asking, runnable, err := r.sort(ctx, runnable)
	if err != nil {
		return err
	}
	if err := r.batches(ctx, runnable); err != nil {
		return err
	}
	for _, c := range runnable {
		if c.approval != nil {
			asking = append(asking, c)
		}
	}
	return r.approve(ctx, asking)
}

// sort tells the calls that must be approved first from those that can run at once. External ones are neither.
func (r *run) sort(ctx context.Context, calls []*call) (asking, runnable []*call, err error) {
	runnable = calls[:0]
	for _, c := range calls {
		if c.tool.External {
			continue
		}
		if c.tool.Asks && !c.args.Approved {
			if c.approval, err = r.host.Approval(ctx, &c.args); err != nil {
				return nil, nil, &Error{Stage: StageApproval, Tool: c.tool.Name, CallID: c.part.CallID, Err: err}
			}
		}
		if c.approval != nil {
			asking = append(asking, c)
		} else {
			runnable = append(runnable, c)
		}
	}
	return asking, runnable, nil
}

// batches runs calls in parallel, with sequential ones as barriers.
func (r *run) batches(ctx context.Context, runnable []*call) error {
	for len(runnable) > 0 {
		n := 1
		if !runnable[0].tool.Sequential {
			for n < len(runnable) && !runnable[n].tool.Sequential {
				n++
			}
		}
		if err := r.batch(ctx, runnable[:n]); err != nil {
			return err
		}
		runnable = runnable[n:]
	}
	return nil
}

// batch runs calls in parallel, at most [Config.Parallel] at a time. The calls that completed are answered, whatever
// became of the others.
func (r *run) batch(ctx context.Context, calls []*call) error {
	if err := context.Cause(ctx); err != nil {
		return &Error{Stage: StageTool, Tool: calls[0].tool.Name, CallID: calls[0].part.CallID, Err: err}
	}
	if len(calls) == 1 {
		return r.returned(calls[0], r.do(ctx, r.lone(r.taskOf(calls[0]))))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	futures := make([]Future, 0, len(calls))
	running := make([]*call, 0, len(calls))
	var failed error
	for next := 0; next < len(calls) || len(running) > 0; {
		for failed == nil && next < len(calls) && (r.cfg.Parallel <= 0 || len(running) < r.cfg.Parallel) {
			futures = append(futures, r.eng.Start(ctx, new(r.taskOf(calls[next]))))
			running = append(running, calls[next])
			next++
		}
		if len(running) == 0 {
			break
		}
		i := r.eng.WaitAny(futures, r)
		err := r.returned(running[i], futures[i].Done())
		futures, running = slices.Delete(futures, i, i+1), slices.Delete(running, i, i+1)
		if err != nil && failed == nil {
			failed = err
			cancel()
		}
	}
	return failed
}

// returned takes the result of a call.
func (r *run) returned(c *call, done *Done) error {
	if done.Err != nil {
		err := &Error{Stage: StageTool, Tool: c.tool.Name, CallID: c.part.CallID, Attempt: c.args.Attempt, Err: done.Err}
		_ = r.emit(Event{Kind: ToolEnd, CallID: c.part.CallID, Tool: c.part.Tool, Err: done.Err})
		return err
	}
	switch ret := &done.Return; {
	case ret.Approval != nil:
		c.approval = ret.Approval
		return nil
	case ret.Deferred:
		c.meta = ret.Meta
		return nil
	default:
		r.take(c, ret)
		return r.ended(c)
	}
}

// take answers a call with its result.
func (r *run) take(c *call, ret *Return) {
	c.executed = true
	if ret.Retry {
		c.askRetry(ret.Text, ret.Cause)
		return
	}
	c.reply(ret.Text, ret.Outcome)
	c.answer.Meta = ret.Meta
	c.content = append(c.content, ret.Content...)
	if ret.Outcome == model.OutcomeSuccess {
		r.info.Usage = r.cfg.Meter.Add(toolset.Usage{ToolCalls: 1})
	}
}

// ended tells that a call has been answered.
func (r *run) ended(c *call) error {
	c.told = true
	e := Event{Kind: ToolEnd, CallID: c.part.CallID, Tool: c.part.Tool, Args: c.part.Args, Result: c.answer}
	e.describe(c.tool)
	return r.emit(e)
}
