// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"encoding/json"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// left is the recorded state of one call.
type left struct {
	part    *model.Part
	pending model.PendingCall
	// shown is the text of the question, decision the answer, and given reports that the answer
	// came before the turn.
	asked    bool
	decision *model.Decision
	// alone reports that it was asked about before it ran, and beside that it has stopped without
	// that: the calls after it may have run at the same time.
	alone, beside bool
	// was is pending before a person has changed the arguments.
	was   model.PendingCall
	given bool
	// answer is the result. denied reports that it is a decision, which a later one replaces.
	answer   *model.Part
	denied   bool
	content  []model.Part
	deferred bool
	// suspended is set if the call waits for calls inside it.
	suspended *model.SuspendedCall
	inside    []model.PendingCall
}

// waits reports whether a call waits for an answer, or for one more.
func (c *left) waits() bool {
	return c.mayHaveRun() || c.suspended != nil || c.deferred || c.asked && c.given
}

// mayHaveRun reports whether a call was allowed and has no result.
func (c *left) mayHaveRun() bool {
	return c.decision != nil && c.decision.Verdict == model.VerdictAllow && !c.deferred && c.suspended == nil
}

// decided returns the decision that allowed the call, with the arguments if they were changed, as a
// run tells it; nil if there is none.
func (c *left) decided() *model.Decision {
	if d := c.decision; d != nil && c.pending.Changed && len(d.Args) == 0 {
		with := *d
		with.Args = c.pending.Args
		return &with
	}
	return c.decision
}

// notRun answers a call without a result.
func (c *left) notRun(text string) model.Part {
	p := model.ToolReturn(c.part.CallID, c.part.Tool, text)
	p.Outcome, p.Decision = model.OutcomeInterrupted, c.decided()
	return p
}

// argsOf returns the arguments of a call as JSON.
func argsOf(p *model.Part) json.RawMessage {
	switch {
	case len(p.Args) == 0:
		return json.RawMessage("{}")
	case json.Valid(p.Args):
		return json.RawMessage(p.Args)
	}
	text, _ := json.Marshal(string(p.Args)) // the tool would get them repaired
	return text
}

// takeUp reads the request that the turn has begun with, and the answers to its calls.
func (c *left) takeUp(before *model.Message, answers *agent.DeferredResults) {
	id := c.part.CallID
	for i := range before.Parts {
		if p := &before.Parts[i]; isResult(p) && p.CallID == id {
			c.answer = p
			return
		}
	}
	for i := range before.SuspendedCalls {
		if s := &before.SuspendedCalls[i]; s.ID == id {
			c.suspended, c.decision = s, s.Decision
		}
	}
	for i := range before.PendingCalls {
		p := &before.PendingCalls[i]
		switch {
		case len(p.Path) > 1 && p.Path[0] == id:
			c.inside = append(c.inside, *p)
		case len(p.Path) <= 1 && p.ID == id:
			c.pending, c.was, c.given = *p, *p, true
			c.asked, c.deferred, c.decision = p.Approval != nil && !p.MayHaveRun, p.Approval == nil, p.Decision
		}
	}
	key := model.PendingCall{ID: id}.Key()
	if d, ok := answers.Decisions[key]; ok {
		c.decide(&d)
	}
	if r, ok := answers.Results[key]; ok {
		p := model.ToolReturn(id, c.part.Tool, r.Text)
		p.Outcome, p.Meta, p.Keep = r.Outcome, r.Meta, r.Keep
		c.suspended, c.answer, c.content = nil, &p, r.Content
	}
}

// decide takes a decision about the call.
func (c *left) decide(d *model.Decision) {
	if c.denied { // by an answer that whoever gave it was told of as not recorded
		c.answer, c.denied = nil, false
	}
	c.alone, c.beside = true, false
	switch c.asked = false; d.Verdict {
	case model.VerdictDeny:
		p := model.ToolReturn(c.part.CallID, c.part.Tool, cmp.Or(d.Reason, textDenied))
		p.Outcome, p.Decision = model.OutcomeDenied, d
		if c.pending.MayHaveRun {
			p.Text, p.Outcome, p.Decision = loop.TextLost, model.OutcomeInterrupted, c.pending.Decision
		}
		c.answer, c.denied = &p, true
	case model.VerdictAllow:
		if c.decision = d; len(d.Args) > 0 {
			c.pending.Args, c.pending.Changed = d.Args, true
		}
	default: // the person is asked again
		c.asked, c.decision = true, nil
		c.pending.Args, c.pending.Changed = c.was.Args, c.was.Changed
	}
}

// take takes a record about the call.
func (c *left) take(r *engine.Record) {
	switch r.Op {
	case engine.RecordAsk:
		c.ask(r.Approval)
	case engine.RecordApprove, engine.RecordAnswer:
		if d := r.Decided(); d != nil {
			c.decide(d)
		}
	case engine.RecordCheck, engine.RecordTool:
		c.returned(r)
	}
}

// ask notes that the call is asked about, or with nil that it no longer is. Before a call runs that
// was allowed, it is looked at once more.
func (c *left) ask(a *model.Approval) {
	before := c.pending.Approval
	if c.decision != nil && (a == nil || before != nil && before.Basis == a.Basis) {
		return
	}
	c.pending.Approval, c.asked, c.alone, c.decision = a, a != nil, a != nil, nil
}

// returned takes what the tool, or a check of its arguments, has returned.
func (c *left) returned(r *engine.Record) {
	if r.Return == nil {
		return
	}
	if answer, ok := r.Answer(); ok {
		if answer.Decision = c.decided(); c.pending.Changed {
			answer.Text = loop.WithChange(model.RawArgs(c.pending.Args), answer.Text)
		}
		c.suspended, c.answer, c.denied, c.content = nil, &answer, false, r.Return.Content
		return
	}
	switch ret := r.Return; {
	case ret.Approval != nil:
		c.decision, c.beside = nil, !c.alone
		c.ask(ret.Approval)
	case ret.Pending != nil:
		c.suspend(ret.Pending)
	case ret.Deferred:
		c.deferred, c.pending.Approval, c.pending.Meta, c.pending.Decision = true, nil, ret.Meta, c.decided()
	}
}

// suspend notes that the call waits for calls inside it.
func (c *left) suspend(p *toolset.PendingError) {
	c.suspended = &model.SuspendedCall{
		ID: c.part.CallID, Tool: c.part.Tool, Args: c.pending.Args, Changed: c.pending.Changed, Approved: c.decision != nil,
		Approval: c.pending.Approval, Decision: c.decided(), State: p.State,
	}
	c.inside, c.beside = nil, !c.alone
	for _, in := range p.Calls {
		if len(in.Path) == 0 {
			in.Path = []string{in.ID}
		}
		in.Path = append([]string{c.part.CallID}, in.Path...)
		c.inside = append(c.inside, in)
	}
}
