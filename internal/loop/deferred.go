// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"encoding/json"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Answer settles one pending call: by a decision, or by a result if Result is not nil. CallID is the call's key.
type Answer struct {
	CallID   string
	Decision toolset.Decision
	Result   *toolset.Result
}

// Answers are the answers to pending calls. settle is a field because programs without answers need not link it.
type Answers struct {
	// List has the answers.
	List   []Answer
	settle func(r *run, answers []Answer, calls []call, known bool) error
}

// Given returns answers for a run.
func Given(list []Answer) *Answers { return &Answers{list, settleAnswers} }

// pending returns the error that ends the run if there are pending calls.
func (r *run) pending(calls []call) error {
	var left []model.PendingCall
	for i := range calls {
		c := &calls[i]
		if c.answered || c.waits == nothing {
			continue
		}
		if c.waits == forInner {
			left = append(left, c.pendingInside()...)
			continue
		}
		left = append(left, model.PendingCall{
			ID: c.part.CallID, Tool: c.part.Tool, External: c.tool.External, Args: ArgsJSON(c.args.Args), Approval: c.approval, Meta: c.meta, Invalid: c.invalid, Changed: c.changed, Decision: c.decision(),
			MayHaveRun: c.lost,
		})
		p := &left[len(left)-1]
		if err := r.emit(&engine.Event{Kind: engine.EventPending, CallID: p.ID, Tool: p.Tool, Args: c.args.Args, Value: *p}); err != nil {
			return err
		}
	}
	if left == nil {
		return nil
	}
	return &engine.RunError{Stage: engine.StageTool, Err: &engine.PendingError{Calls: left}}
}

// ArgsJSON returns arguments as JSON. Those that are not valid JSON become a JSON string: a tool may accept them, and a call with them
// must be fit to be stored and shown.
func ArgsJSON(args model.RawArgs) json.RawMessage {
	switch {
	case len(args) == 0:
		return json.RawMessage("{}")
	case !json.Valid(args):
		text, _ := json.Marshal(string(args)) // a string has a JSON form
		return text
	}
	return json.RawMessage(args)
}

// takeUp gives the calls of a history's last response what is known of them: results of the run that left them pending,
// and the answers that this run was given.
func (r *run) takeUp(ctx context.Context, calls []call) error {
	if r.resumed != nil {
		for i := range r.resumed.Parts {
			p := &r.resumed.Parts[i]
			if p.Final { // it is asked for again
				continue
			}
			at := callIndex(calls, func(c *call) bool { return answersCall(p) && c.part.CallID == p.CallID })
			if at < 0 {
				last := &calls[len(calls)-1]
				last.content = append(last.content, *p)
				continue
			}
			c := &calls[at]
			*c.answer, c.answered, c.closed, c.executed = *p, true, true, true
			if p.Kind == model.PartRetry { // of a tool, or of arguments for which the tool was never called
				var err error
				if c.executed, err = r.decodes(ctx, c); err != nil {
					return err
				}
			}
		}
	}
	known := r.takeUpPending(calls)
	var err error
	switch answers := r.cfg.Answers; {
	case answers != nil:
		err = answers.settle(r, answers.List, calls, known)
	case r.instead && r.cfg.Over != nil:
		err = r.cfg.Over.answers(r, nil, calls, known)
	}
	if err == nil {
		r.resumed, r.cfg.Answers = nil, nil // they are for this response alone
	}
	return err
}

// takeUpPending restores what calls were waiting for in the run that left them pending. It reports
// whether that is known. Otherwise every call without an answer counts as pending.
func (r *run) takeUpPending(calls []call) bool {
	if r.resumed == nil || len(r.resumed.PendingCalls) == 0 {
		return false
	}
	for i := range r.resumed.PendingCalls {
		p := &r.resumed.PendingCalls[i]
		id := p.ID
		if len(p.Path) > 1 {
			id = p.Path[0]
		}
		at := callIndex(calls, func(c *call) bool { return c.part.CallID == id && !c.answered })
		if at < 0 {
			continue
		}
		c := &calls[at]
		c.lost = c.lost || p.MayHaveRun
		if len(p.Path) > 1 {
			continue
		}
		if c.lost && c.tool != nil && c.tool.Idempotent && p.Decision != nil { // it runs again unless somebody says otherwise
			c.given = &Answer{Decision: toolset.Decision{Verdict: toolset.VerdictAllow, By: p.Decision.By, Meta: p.Decision.Meta}}
		}
		c.was, c.approval, c.meta, c.invalid, c.changed = p, p.Approval, p.Meta, p.Invalid, p.Changed
		if p.Approval == nil {
			c.waits = forResult
		}
	}
	r.takeUpSuspended(calls)
	return true
}

// settleGiven applies the answers given to the run. Allowed calls run later, at their place.
func (r *run) settleGiven(calls []call) {
	for i := range calls {
		c := &calls[i]
		switch {
		case c.given == nil:
		case c.answered: // it is invalid
			c.given = nil
		case c.given.Result != nil:
			r.take(c, &engine.Return{Result: *c.given.Result})
			c.given = nil
		case c.given.Decision.Verdict == toolset.VerdictDeny:
			r.deny(c, c.given.Decision)
			c.given = nil
		}
	}
}
