// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// check validates all calls in the order of the response. An invalid call does not affect the others.
func (r *run) check(ctx context.Context, resp *model.Message) ([]call, error) {
	n := 0
	for i := range resp.Parts {
		if resp.Parts[i].Kind == model.PartToolCall {
			n++
		}
	}
	calls := r.noCalls(n)
	args := make([]engine.Call, n) // apart: a tool may keep its run context, which refers to them
	r.answers = make([]model.Part, n)
	for i := range resp.Parts {
		if resp.Parts[i].Kind != model.PartToolCall {
			continue
		}
		at, part := len(calls), &resp.Parts[i]
		c := call{part: part, tool: r.offer.Tool(part.Tool), args: &args[at], answer: &r.answers[at]}
		calls = append(calls, c)
		if resp != r.own && resp.Step > 0 { // of an earlier run, or of an earlier part of this one
			c := &calls[len(calls)-1]
			c.args.RunID, c.args.Step = resp.RunID, resp.Step
		}
	}
	if err := r.takeUp(ctx, calls); err != nil {
		return nil, err
	}
	err := r.checkArguments(ctx, calls, complete(resp))
	for i := range calls {
		if c := &calls[i]; r.event != nil && err == nil && !c.closed {
			e := &engine.Event{Kind: engine.EventToolCall, CallID: c.part.CallID, Tool: c.part.Tool, Args: c.part.Args, Repaired: c.repaired, Valid: !c.answered, Attempt: c.args.Attempt}
			describe(e, c.tool)
			err = r.emit(e)
		}
	}
	r.settleGiven(calls) // whatever the observer does: nobody will be asked again
	return calls, err
}

// checkArguments checks the arguments of the calls without an answer. complete means that the
// response was not cut off.
func (r *run) checkArguments(ctx context.Context, calls []call, complete bool) error {
	checks := r.one[:0]
	for i := range calls {
		c := &calls[i]
		if c.answered {
			continue
		}
		if c.tool == nil {
			c.askRetry(r.unknown(c.part.Tool), errs.Errorf("unknown tool %q", shortened(c.part.Tool)))
			continue
		}
		if cap(checks) < len(calls) {
			checks = make([]engine.Check, 0, len(calls))
		}
		checks = append(checks, r.checkOf(c, complete))
	}
	ahead := r.ahead
	if r.ahead = false; len(checks) == 0 {
		return nil
	}
	var done *engine.Done
	if ahead { // no task was started since
		done = r.waiting[0].Done()
	} else {
		done = r.doChecks(ctx, checks)
	}
	switch {
	case done.Err != nil:
		return &engine.RunError{Stage: engine.StageTool, Err: done.Err}
	case done.Checked == nil:
		return nil
	case len(done.Checked) != len(checks):
		return &engine.RunError{Stage: engine.StageTool, Err: errs.Errorf("the engine returned %d checks of %d calls", len(done.Checked), len(checks))}
	}
	return r.checked(calls, checks, done.Checked)
}

func (r *run) doChecks(ctx context.Context, checks []engine.Check) *engine.Done {
	t := r.lone(engine.OpCheck)
	t.Checks = checks
	return r.do(ctx, t)
}

// checkOf completes a call whose arguments have not been checked yet.
func (r *run) checkOf(c *call, complete bool) engine.Check {
	c.args.ID, c.args.Tool, c.args.Args = c.part.CallID, c.tool.Name, c.part.Args
	c.args.Attempt, c.args.MaxRetries = r.budgets.attempt(c.tool.Name), c.tool.Retries
	if c.changed {
		c.args.Args, complete = model.RawArgs(c.was.Args), false
	}
	c.goOn()
	return engine.Check{Call: c.args, Complete: complete, Own: c.tool.Checks && !r.settled(c)}
}

// settled reports whether a call will not run, regardless of its arguments.
func (r *run) settled(c *call) bool {
	if c.given == nil {
		return r.instead
	}
	return c.given.Result != nil || c.given.Decision.Verdict == toolset.VerdictDeny
}

// checked applies the results of checks, which were made of some of the calls, in order.
func (r *run) checked(calls []call, checks []engine.Check, results []engine.Checked) error {
	var failed error
	for i, n := 0, 0; n < len(checks); i++ {
		c := &calls[i]
		if checks[n].Call != c.args {
			continue
		}
		res := &results[n]
		n++
		switch {
		case res.Err != nil && failed == nil:
			failed = &engine.RunError{Stage: engine.StageTool, Tool: c.tool.Name, CallID: c.part.CallID, Attempt: c.args.Attempt, Err: res.Err}
		case res.Return != nil && res.Return.Retry:
			c.askRetry(res.Return.Text, res.Return.Cause)
		case res.Return != nil:
			c.reply(res.Return.Text, res.Return.Outcome)
		}
		if res.Repaired != nil {
			c.args.Args, c.repaired = res.Repaired, res.Repaired
		}
	}
	return failed
}

// checkOne has arguments of a call checked, and returns the errors found. own means that the tool's
// own check is called.
func (r *run) checkOne(ctx context.Context, c *call, args *engine.Call, own bool) (*engine.Return, error) {
	r.one[0] = engine.Check{Call: args, Own: own}
	done := r.doChecks(ctx, r.one[:])
	err := done.Err
	switch {
	case err == nil && done.Checked == nil:
		return nil, nil
	case err == nil && len(done.Checked) != 1:
		err = errors.New("the engine returned several checks of one call")
	case err == nil:
		res := &done.Checked[0]
		if err = res.Err; err == nil {
			return res.Return, nil
		}
	}
	return nil, &engine.RunError{Stage: engine.StageTool, Tool: c.tool.Name, CallID: c.part.CallID, Attempt: args.Attempt, Err: err}
}

// decodes reports whether the arguments of a call that a history has an answer to can be decoded.
func (r *run) decodes(ctx context.Context, c *call) (bool, error) {
	if c.tool == nil {
		return false, nil
	}
	args := new(engine.Call)
	args.ID, args.Tool, args.Args = c.part.CallID, c.tool.Name, c.part.Args
	r.one[0] = engine.Check{Call: args, Complete: true}
	done := r.doChecks(ctx, r.one[:])
	if done.Err != nil {
		return false, &engine.RunError{Stage: engine.StageTool, Tool: c.tool.Name, CallID: c.part.CallID, Err: done.Err}
	}
	return done.Checked == nil || done.Checked[0].Return == nil, nil
}
