// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// held describes which calls of a step wait after a call that could not be settled.
type held uint8

const (
	// free: nothing is in the way.
	free held = iota
	// heldGroup: a call that can run in parallel waits for a decision, or calls inside it do. The calls after it do not start. Those
	// up to the next sequential call that need approval wait with it.
	heldGroup
	// heldAll: the calls after it wait for a later run, because a call before them has not ended.
	heldAll
)

// waits is the reason why a call is pending.
type waits uint8

const (
	nothing waits = iota
	forApproval
	forResult
	// forInner: calls inside it are pending.
	forInner
)

// maxRounds bounds how often a person is asked about one call whose decisions have no effect.
const maxRounds = 5

const (
	textDenied  = "The call was not permitted."
	textUnclear = "Not executed: no valid decision was made about this call. The data that it would change may have changed since; check it before calling the tool again."
)

// preview asks the tool whether a call needs approval, and for what.
func (r *run) preview(ctx context.Context, c *call) error {
	if !c.tool.Asks || c.args.Approved || c.args.Resume != nil {
		return nil
	}
	t := r.lone(engine.OpPreview)
	t.Call = c.args
	done := r.do(ctx, t)
	if done.Err != nil {
		return &engine.RunError{Stage: engine.StageApproval, Tool: c.tool.Name, CallID: c.part.CallID, Err: done.Err}
	}
	approval := done.Return.Approval
	if c.lost {
		approval = c.again(approval)
	}
	c.approval = approval
	return nil
}

// behind handles a call after one that waits.
func (r *run) behind(ctx context.Context, c *call) error {
	if c.tool.Sequential {
		r.held = heldAll
	}
	if recorded, ok := r.eng.(interface{ Recorded(c *engine.Call) bool }); ok && recorded.Recorded(c.args) {
		return r.batch(ctx, []*call{c}) // a journal of a version with another order
	}
	if c.args.Resume != nil {
		return r.batch(ctx, []*call{c}) // it started before the one that waits now did
	}
	switch {
	case r.held == heldAll:
		return nil
	case c.tool.Asks:
		if err := r.preview(ctx, c); err != nil {
			return err
		}
	case c.was != nil:
		c.approval = c.was.Approval
	}
	if c.approval != nil {
		c.waits = forApproval
	}
	return nil
}

// hold makes the calls after c wait for a later run.
func (r *run) hold(c *call) {
	if r.held == free {
		r.held = heldGroup
	}
	if c.tool.Sequential {
		r.held = heldAll
	}
}

// leave leaves a call pending until its result is supplied.
//
//go:noinline
func (r *run) leave(c *call) {
	c.waits = forResult
	if c.tool.Sequential {
		r.held = heldAll
	}
}

// consult asks about a call until it has run, or is denied or pending.
func (r *run) consult(ctx context.Context, c *call) error {
	for {
		d, err := r.ask(ctx, c)
		if err != nil {
			return err
		}
		if again, err := r.decided(ctx, c, d); err != nil || !again {
			return err
		}
	}
}

// ask asks about a call.
func (r *run) ask(ctx context.Context, c *call) (toolset.Decision, error) {
	if !r.cfg.Asks {
		return toolset.Defer(), nil
	}
	t := r.lone(engine.OpApprove)
	t.Call, t.Approval, t.Text, t.Emits = c.args, c.approval, c.invalid, r.cfg.Stream
	done := r.do(ctx, t)
	if done.Err != nil {
		return toolset.Decision{}, &engine.RunError{Stage: engine.StageApproval, Tool: c.tool.Name, CallID: c.part.CallID, Err: done.Err}
	}
	return *done.Decision, nil
}

// decided applies a decision. It reports whether the decision has no effect, because its arguments
// are invalid or the facts that the person saw have changed. The person must be asked again then.
func (r *run) decided(ctx context.Context, c *call, d toolset.Decision) (again bool, err error) {
	switch d.Verdict {
	case toolset.VerdictDeny:
		r.deny(c, d)
		return false, nil
	case toolset.VerdictDefer:
		c.waits = forApproval
		r.hold(c)
		return false, nil
	}
	if len(d.Args) > 0 {
		changed := new(*c.args)
		changed.Args, changed.Decoded = model.RawArgs(d.Args), nil
		switch wrong, err := r.checkOne(ctx, c, changed, c.tool.Checks); {
		case err != nil:
			return false, err
		case wrong != nil:
			return r.onceMore(c, wrong.Text), nil
		}
		c.args, c.changed = changed, true
	}
	shown := c.approval
	if shown != nil && shown.Basis != "" && !c.own {
		if err := r.preview(ctx, c); err != nil {
			return false, err
		}
		if c.approval != nil && c.approval.Basis != shown.Basis {
			return r.onceMore(c, ""), nil
		}
	}
	if d.Args = nil; c.changed {
		d.Args = ArgsJSON(c.args.Args)
	}
	c.approval, c.invalid, c.given = nil, "", nil
	c.args.Approved, c.args.Approval, c.args.Decision = true, shown, &d
	if c.tool.External {
		r.leave(c)
		return false, nil
	}
	c.lost = false // it runs now
	if err := r.batch(ctx, []*call{c}); err != nil || c.approval == nil {
		if c.waits == forInner {
			r.hold(c)
		}
		return false, err
	}
	// The tool asks for approval of something else, or ignores that it was approved.
	if c.approval.Basis == "" || shown != nil && shown.Basis == c.approval.Basis {
		return false, &engine.RunError{Stage: engine.StageTool, Tool: c.tool.Name, CallID: c.part.CallID, Err: errors.New("the tool asks for approval of a call that was already approved")}
	}
	c.own = true
	c.args.Approved, c.args.Approval, c.args.Decision = false, nil, nil
	return r.onceMore(c, ""), nil
}

// onceMore reports whether the person should be asked again. After too many rounds, the model is told instead.
func (r *run) onceMore(c *call, invalid string) bool {
	c.invalid, c.given = invalid, nil
	if c.rounds++; c.rounds <= maxRounds {
		return true
	}
	c.notRun(textUnclear, model.OutcomeFailed)
	c.executed = true
	return false
}

// deny answers a denied call.
func (r *run) deny(c *call, d toolset.Decision) {
	text := d.Reason
	if text == "" {
		text = textDenied
	}
	d.Args = nil
	c.denied(text, &d)
}

// withChange tells the model that a call ran with changed arguments.
func (c *call) withChange(text string) string {
	if !c.changed {
		return text
	}
	return WithChange(c.args.Args, text)
}

// WithChange returns the result of a call that ran with changed arguments.
func WithChange(args model.RawArgs, text string) string {
	return fmt.Sprintf("The arguments of this call were changed before it ran, to: %s\n\n%s", args, text)
}

// decision returns the decision that allowed a call, in this run or in the one that left it
// pending; nil if no approval was requested.
//
//go:noinline
func (c *call) decision() *toolset.Decision {
	if c.args.Decision == nil && c.was != nil {
		return c.was.Decision
	}
	return c.args.Decision
}
