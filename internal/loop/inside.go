// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// suspend leaves a call pending until calls inside it are answered.
func (r *run) suspend(c *call, p *toolset.PendingError) {
	r.leave(c)
	c.waits, c.inner = forInner, p
}

// pendingInside returns the calls that a call waits for, with their paths from this run on.
func (c *call) pendingInside() []model.PendingCall {
	calls := slices.Clone(c.inner.Calls)
	for i := range calls {
		p := &calls[i]
		below := p.Path
		if len(below) == 0 {
			below = []string{p.ID}
		}
		p.Path = append([]string{c.part.CallID}, below...)
	}
	return calls
}

// suspendedCalls returns the state needed to resume the calls that wait for calls inside them.
func (r *run) suspendedCalls(calls []call) []model.SuspendedCall {
	var all []model.SuspendedCall
	var told []*model.Message
	for i := range calls {
		c := &calls[i]
		if c.told != nil && (c.answered || c.waits == forInner) {
			told = r.cfg.Over.join(told, c.told)
		}
		if c.answered || c.waits != forInner {
			continue
		}
		all = append(all, model.SuspendedCall{
			ID: c.part.CallID, Tool: c.part.Tool, Args: ArgsJSON(c.args.Args), Changed: c.changed,
			Approved: c.args.Approved, Approval: c.args.Approval, Decision: c.decision(), State: c.inner.State, Told: told,
		})
		told = nil
	}
	return all
}

// takeUpSuspended gives calls what was known of them when they had to wait for calls inside them.
func (r *run) takeUpSuspended(calls []call) {
	for i := range r.resumed.SuspendedCalls {
		s := &r.resumed.SuspendedCalls[i]
		at := callIndex(calls, func(c *call) bool { return c.part.CallID == s.ID && !c.answered })
		if at < 0 {
			continue
		}
		c := &calls[at]
		c.was = &model.PendingCall{ID: s.ID, Tool: s.Tool, Args: s.Args, Changed: s.Changed, Decision: s.Decision}
		c.suspended, c.changed, c.told, c.waits = s, s.Changed, s.Told, nothing
	}
}

// goOn continues a suspended call with its state.
func (c *call) goOn() {
	s := c.suspended
	if s == nil || c.given != nil {
		return
	}
	c.args.Approved, c.args.Approval, c.args.Decision = s.Approved, s.Approval, s.Decision
	c.args.Resume = &toolset.Resume{State: s.State, Results: c.results}
}

// insideCall is a pending call inside a suspended one.
type insideCall struct {
	key   string
	outer *call
	call  *model.PendingCall
	given *Answer
}

// inside returns the pending calls inside suspended calls.
func (r *run) inside(calls []call) []insideCall {
	if r.resumed == nil || len(r.resumed.SuspendedCalls) == 0 {
		return nil
	}
	var all []insideCall
	for i := range r.resumed.PendingCalls {
		p := &r.resumed.PendingCalls[i]
		if len(p.Path) < 2 {
			continue
		}
		at := callIndex(calls, func(c *call) bool { return c.suspended != nil && c.part.CallID == p.Path[0] })
		if at >= 0 {
			all = append(all, insideCall{key: p.Key(), outer: &calls[at], call: p})
		}
	}
	return all
}

// answerInside passes answers on to the suspended calls that they are for. All calls inside need one, unless the suspended call
// has been answered itself.
func (r *run) answerInside(inside []insideCall, calls []call) error {
	if len(inside) == 0 {
		return nil
	}
	for i := range calls {
		if c := &calls[i]; c.suspended != nil && c.given != nil && c.given.Result == nil && c.given.Decision.Verdict == toolset.VerdictAllow {
			return unfit("call %q of %q has been started: answer the calls inside it, or deny it", c.part.CallID, c.part.Tool)
		}
	}
	var missing []string
	for i := range inside {
		in := &inside[i]
		p := in.call
		handed := r.instead && in.outer.tool != nil && in.outer.tool.HandsOver
		switch {
		case in.given != nil && in.outer.given != nil:
			return unfit("call %q has an answer, and so has call %q around it", in.key, in.outer.part.CallID)
		case in.outer.given != nil:
		case in.given == nil && handed && p.MayHaveRun: // which its agent does not know
			in.outer.takeInside(p, &Answer{Decision: toolset.Deny("")})
		case in.given == nil && handed: // its agent gets the prompt, and denies it
		case in.given == nil && r.instead:
			if slices.ContainsFunc(inside, func(o insideCall) bool { return o.outer == in.outer && o.given != nil }) {
				in.outer.takeInside(p, &Answer{Decision: toolset.Deny(textInstead)})
			} // else the call around it is denied
		case in.given == nil:
			missing = append(missing, fmt.Sprintf("call %q of %q has none", in.key, p.Tool))
		case in.given.Result == nil && p.External && p.Approval == nil && in.given.Decision.Verdict == toolset.VerdictAllow:
			return unfit("call %q of %q needs a result, it cannot be run here", in.key, p.Tool)
		default:
			in.outer.takeInside(p, in.given)
		}
	}
	if missing != nil {
		return unfit("%s", strings.Join(missing, ", "))
	}
	return nil
}

// takeInside keeps the answer to a call inside, under the key that the tool knows it by.
func (c *call) takeInside(p *model.PendingCall, a *Answer) {
	key := model.PendingCall{ID: p.ID, Path: p.Path[1:]}.Key()
	if c.results == nil {
		c.results = new(toolset.DeferredResults)
	}
	d := a.Decision
	switch {
	case a.Result != nil:
		c.results.Supply(key, *a.Result)
		return
	case p.MayHaveRun && d.Verdict == toolset.VerdictDeny: // the run inside does not know that it may have run
		c.results.Supply(key, toolset.Result{Text: TextLost, Outcome: model.OutcomeInterrupted})
		return
	case p.Changed && len(d.Args) == 0:
		d.Args = p.Args
	}
	c.results.Decide(key, d)
}
