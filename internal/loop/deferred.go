// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Answer settles one pending call: by a decision, or by a result if Return is not nil.
type Answer struct {
	CallID   string
	Decision toolset.Decision
	Return   *Return
}

// PendingError ends a run that waits for others.
type PendingError struct{ Calls []model.PendingCall }

func (e *PendingError) Error() string {
	var calls []string
	for i := range e.Calls {
		what := "the result"
		if e.Calls[i].Approval != nil {
			what = "approval"
		}
		calls = append(calls, fmt.Sprintf("%s of %q (call %s)", what, e.Calls[i].Tool, e.Calls[i].ID))
	}
	return "waiting for " + strings.Join(calls, ", ")
}

const textDenied = "The call was not permitted."

// approve settles the calls that need approval, after all others have run, and runs those that are allowed.
func (r *run) approve(ctx context.Context, calls []*call) error {
	var allowed []*call
	for _, c := range calls {
		if c.approval == nil || c.answered {
			continue
		}
		decision, err := r.decide(ctx, c)
		if err != nil {
			return err
		}
		if r.decided(c, decision) {
			allowed = append(allowed, c)
		}
	}
	if err := r.batches(ctx, allowed); err != nil {
		return err
	}
	for _, c := range allowed {
		if c.approval != nil && !c.answered {
			return &Error{Stage: StageTool, Tool: c.tool.Name, CallID: c.part.CallID, Err: fmt.Errorf("the tool asks for approval of a call that has been approved")}
		}
	}
	return nil
}

func (r *run) decide(ctx context.Context, c *call) (toolset.Decision, error) {
	if !r.cfg.Asks {
		return toolset.Defer(), nil
	}
	done := r.do(ctx, r.lone(Task{Op: OpApprove, Step: r.info.Step, Call: &c.args, Approval: c.approval, Emits: r.cfg.Stream}))
	if done.Err != nil {
		return toolset.Decision{}, &Error{Stage: StageApproval, Tool: c.tool.Name, CallID: c.part.CallID, Err: done.Err}
	}
	return done.Decision, nil
}

// decided applies a decision and reports whether the call may run.
func (r *run) decided(c *call, d toolset.Decision) bool {
	switch d.Verdict {
	case toolset.VerdictAllow:
		c.args.Approved, c.approval = true, nil
		if len(d.Args) == 0 {
			return true
		}
		c.args.Args = model.RawArgs(d.Args)
		var invalid *Invalid
		if c.args.Decoded, _, invalid = c.tool.Decode(c.args.Args, false); invalid != nil {
			c.askRetry(invalid.Text, invalid.Err)
			return false
		}
		return true
	case toolset.VerdictDeny:
		if d.Reason == "" {
			d.Reason = textDenied
		}
		c.reply(d.Reason, model.OutcomeDenied)
		c.executed = true
	}
	return false
}

// pending returns the error that ends the run if calls are left without an answer.
func (r *run) pending(calls []call) error {
	var left []model.PendingCall
	for i := range calls {
		c := &calls[i]
		if c.answered {
			continue
		}
		p := model.PendingCall{ID: c.part.CallID, Tool: c.part.Tool, Args: argsJSON(c.executable()), Approval: c.approval, Meta: c.meta}
		left = append(left, p)
		if err := r.emit(Event{Kind: CallDeferred, CallID: p.ID, Tool: p.Tool, Args: c.executable(), Value: &left[len(left)-1]}); err != nil {
			return err
		}
	}
	if left == nil {
		return nil
	}
	return &Error{Stage: StageTool, Err: &PendingError{left}}
}

// argsJSON returns valid arguments as JSON.
func argsJSON(args model.RawArgs) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage("{}")
	}
	return json.RawMessage(args)
}

// executable returns the arguments that the tool would get.
func (c *call) executable() model.RawArgs {
	if c.repaired != nil {
		return c.repaired
	}
	return c.part.Args
}

// takeUp gives the calls of a history's last response what is known of them: results of the run that left them pending,
// and the answers that this run was given.
func (r *run) takeUp(calls []call) error {
	if r.resumed != nil {
		for i := range r.resumed.Parts {
			p := r.resumed.Parts[i]
			at := slices.IndexFunc(calls, func(c call) bool { return answersCall(&p) && c.part.CallID == p.CallID })
			if at < 0 {
				last := &calls[len(calls)-1]
				last.content = append(last.content, p)
				continue
			}
			c := &calls[at]
			*c.answer, c.answered, c.told, c.executed = p, true, true, true
			if p.Kind == model.PartRetry { // of a tool, or of arguments for which the tool was never called
				c.executed = c.tool != nil && c.valid()
			}
		}
	}
	answers := r.cfg.Answers
	if answers == nil {
		r.resumed = nil
		return nil
	}
	for i := range answers {
		a := &answers[i]
		at := slices.IndexFunc(calls, func(c call) bool { return c.part.CallID == a.CallID })
		switch {
		case at < 0:
			return fmt.Errorf("%w: there is no pending call %q", ErrAnswers, a.CallID)
		case calls[at].answered && calls[at].executed:
			return fmt.Errorf("%w: call %q has been executed already", ErrAnswers, a.CallID)
		}
		calls[at].given = a
	}
	for i := range calls {
		c := &calls[i]
		switch {
		case c.answered || c.tool == nil:
		case c.given == nil:
			return fmt.Errorf("%w: call %q of %q has none", ErrAnswers, c.part.CallID, c.part.Tool)
		case c.given.Return == nil && c.tool.External && c.given.Decision.Verdict == toolset.VerdictAllow:
			return fmt.Errorf("%w: call %q of %q needs a result, it cannot be run here", ErrAnswers, c.part.CallID, c.part.Tool)
		}
	}
	r.resumed, r.cfg.Answers = nil, nil // they are for this response alone
	return nil
}

// settleGiven applies the answers that the run was given. Calls that are allowed are left to run.
func (r *run) settleGiven(calls []call) {
	for i := range calls {
		c := &calls[i]
		switch {
		case c.given == nil || c.answered:
		case c.given.Return != nil:
			r.take(c, c.given.Return)
		default:
			r.decided(c, c.given.Decision)
		}
	}
}
