// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/schema"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Source begins the [toolset.Approval.Source] of calls that a guard wants approved. Rules about
// the tool itself do not cover such a call.
const Source = "guardrail "

// call is the Call hook.
func (g *guardrails[D]) call(ctx context.Context, run *toolset.RunContext[D], args any, next toolset.CallFunc) (toolset.Result, error) {
	tool := run.Call.Tool
	if g.has(func(c *Guard[D]) bool { return c.On&Call != 0 && c.names(tool) }) {
		if err := g.allowed(ctx, run); err != nil {
			return toolset.Result{}, err
		}
		if err := g.unchanged(ctx, run, args); err != nil {
			return toolset.Result{}, err
		}
		inner := next
		next = func(ctx context.Context, args any) (toolset.Result, error) {
			var refused error
			res, err := inner(toolset.WithArgsCheck(ctx, func(ctx context.Context, args any) error {
				refused = g.unchanged(ctx, run, args)
				return refused
			}), args)
			if refused != nil && errors.Is(err, refused) {
				err = again(refused)
			}
			return res, err
		}
	}
	if !g.has(func(c *Guard[D]) bool { return c.On&Result != 0 && c.names(tool) }) {
		return next(ctx, args)
	}
	release := agent.HoldEvents(run)
	res, err := next(ctx, args)
	made, err, same := g.result(ctx, run, res, err)
	release(same)
	return made, err
}

// again returns a copy of a refusal that comes back from further inside. It is the policy's own all
// the same.
func again(err error) error {
	switch e := err.(type) {
	case *toolset.DeniedError:
		return &toolset.DeniedError{Message: e.Message}
	case *BlockedError:
		return new(*e)
	}
	return err
}

// approval is the Approval hook: what a guard wants to be asked is asked together with what the
// tool asks.
func (g *guardrails[D]) approval(ctx context.Context, run *toolset.RunContext[D], a *toolset.Approval) (*toolset.Approval, error) {
	d, err := g.decided(ctx, run)
	if err != nil || d.denied != nil || d.replaced || len(d.asked) == 0 {
		return a, err // the Call hook says the rest
	}
	own := approvalOf(&run.Call, d)
	both := *a
	both.Source, both.Scope, both.ScopeTitle, both.Covers, both.Parts = own.Source, own.Scope, own.ScopeTitle, nil, nil
	both.Once = true
	if a.Source != "" {
		both.Source += "; " + a.Source
	}
	if both.Reason = own.Reason; a.Reason != "" {
		both.Reason += "\n" + a.Reason
	}
	return &both, nil
}

// decided returns what the guards say about a call. It asks them only if they have not been asked
// when the model made it.
func (g *guardrails[D]) decided(ctx context.Context, run *toolset.RunContext[D]) (*decision, error) {
	c := &run.Call
	key := callKey{run.Step, c.Tool, string(c.Args)}
	if d := g.stateOf(ctx).get(key); d != nil {
		return d, nil
	}
	d, err := g.decide(ctx, run, &Subject{Stage: Call, Text: string(c.Args), Tool: c.Tool, CallID: c.ID}, nil)
	if err != nil {
		return nil, err
	}
	if d.replaced { // too late: a history has them
		d.denied, d.deniedBy = &Verdict{Reason: "these arguments are not allowed"}, d.by
	}
	g.stateOf(ctx).put(key, d)
	return d, nil
}

// unchanged returns nil if the guards have seen the arguments of a call. If a hook has changed
// them, the guards are asked again. They can no longer be approved or replaced.
func (g *guardrails[D]) unchanged(ctx context.Context, run *toolset.RunContext[D], args any) error {
	if again, ok := agent.Arguments(run); ok && reflect.DeepEqual(again, args) {
		return nil
	}
	c := &run.Call
	s := &Subject{Stage: Call, Tool: c.Tool, CallID: c.ID}
	data, err := schema.Marshal(args)
	if err != nil {
		err = fmt.Errorf("a hook has changed the arguments to something that cannot be checked: %w", err)
		return blocked("", s, "", err)
	}
	s.Text = string(data)
	d, err := g.decide(ctx, run, s, nil)
	switch {
	case err != nil:
		return err
	case d.denied != nil:
		return d.denial()
	case len(d.asked) > 0:
		return unapproved(d)
	case d.replaced:
		return toolset.Denied("Not executed: these arguments are not allowed (guardrail %q).", d.by)
	}
	return nil
}

// allowed returns nil if a call may run, and otherwise what the run is told.
func (g *guardrails[D]) allowed(ctx context.Context, run *toolset.RunContext[D]) error {
	c := &run.Call
	d, err := g.decided(ctx, run)
	if err != nil {
		return err
	}
	if d.denied != nil {
		return d.denial()
	}
	if len(d.asked) == 0 {
		return nil
	}
	a := approvalOf(c, d)
	switch {
	case !c.Approved:
		return toolset.ApprovalRequired(a)
	case c.Approval != nil && (c.Approval.Source == a.Source || strings.HasPrefix(c.Approval.Source, a.Source+"; ")):
		return nil
	}
	// Somebody has approved the call, and was not told what the guard says, because the arguments
	// were others.
	return unapproved(d)
}

// denial is what the model is told about a call that a guard has denied.
func (d *decision) denial() error {
	const text = "Not executed: %s (guardrail %q). Do not try to do the same in another way."
	return toolset.Denied(text, cmp.Or(d.denied.Reason, "not permitted"), d.deniedBy)
}

func unapproved(d *decision) error {
	return toolset.Denied("Not executed: it needs the approval of a person (guardrail %s).", strings.Join(d.asked, ", "))
}

// approvalOf returns the question about a call, which is asked every time.
func approvalOf(c *toolset.Call, d *decision) toolset.Approval {
	sum := sha256.Sum256(append([]byte(c.Tool+"\x00"), c.Args...))
	return toolset.Approval{
		Title:      "Call " + show.Line(c.Tool),
		Reason:     fmt.Sprintf("The guardrail %s asks you to decide: %s", strings.Join(d.asked, ", "), strings.Join(d.reasons, "; ")),
		Source:     Source + strings.Join(d.asked, ", "),
		Once:       true, // a person, and no rule
		Scope:      hex.EncodeToString(sum[:16]),
		ScopeTitle: "exactly this call",
		Preview:    []toolset.Preview{{Text: fmt.Sprintf("Tool: %s\nArguments:\n%s", show.Line(c.Tool), show.Lines("  ", string(c.Args)))}},
	}
}

// oneSpelling returns a JSON document as guards see it, and any other text as it is.
func oneSpelling(text string) string {
	s := Subject{Stage: Result}
	s.read(text)
	return s.Text
}

// result checks what a tool returned. same is set if it has passed unchanged.
func (g *guardrails[D]) result(ctx context.Context, run *toolset.RunContext[D], res toolset.Result, err error) (_ toolset.Result, _ error, same bool) {
	s := &Subject{Stage: Result, Tool: run.Call.Tool, CallID: run.Call.ID}
	told, say := message(err)
	switch {
	case say != nil:
		s.Text = told
	case err != nil:
		return res, err, false // the model does not see it
	default:
		texts := []string{oneSpelling(res.Text)}
		for _, p := range res.Content {
			if p.Kind == model.PartMedia {
				s.Media = append(s.Media, p)
			} else {
				texts = append(texts, oneSpelling(p.Text))
			}
		}
		if s.Text = res.Text; len(texts) > 1 {
			s.Text = strings.Join(texts, "\n")
		}
	}
	d, wrong := g.decide(ctx, run, s, nil)
	switch {
	case wrong != nil:
		return toolset.Result{}, wrong, false
	case !d.replaced:
		return res, err, true
	case say != nil:
		return toolset.Result{}, say("%s", d.text), false
	}
	return toolset.Result{Text: d.text, Outcome: res.Outcome, Content: s.Media}, nil, false // Meta may have a copy
}

// message returns what an error of a tool tells the model, and what makes such an error of another
// text. It returns nil if the model is told nothing, or what a person or a policy has decided.
func message(err error) (text string, say func(format string, args ...any) error) {
	switch e := toolset.Outcome(err).(type) {
	case *toolset.RetryError:
		return e.Message, toolset.Retry
	case *toolset.FailedError:
		return e.Message, toolset.Failed
	case *toolset.DeniedError:
		if e.Decision == nil {
			return e.Message, toolset.Denied
		}
	}
	return "", nil
}
