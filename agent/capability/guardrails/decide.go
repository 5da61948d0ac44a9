// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// decision is the combined decision of all guards.
type decision struct {
	text     string
	replaced bool
	// by are the guards that replaced the text.
	by string
	// asked has the guards that want a person asked, and why. denied has the first denial.
	asked, reasons []string
	denied         *Verdict
	deniedBy       string
}

// ownKey marks the context of checks, whose own requests are not checked.
type ownKey struct{}

// decide asks the guards for which keep holds. The error is a [*BlockedError], or the cause of
// the context's end. At stages other than Call, people have already been asked.
func (g *guardrails[D]) decide(ctx context.Context, run *toolset.RunContext[D], s *Subject, keep func(*Guard[D]) bool) (*decision, error) {
	d := &decision{text: s.Text}
	for i := range g.guards {
		c := &g.guards[i]
		if !c.applies(s) || keep != nil && !keep(c) {
			continue
		}
		own := *s
		own.read(d.text)
		v, err := c.ask(ctx, run, &own)
		if err != nil {
			return nil, err
		}
		switch v.Action {
		case ActionPass:
		case ActionReplace:
			text, err := own.replacement(&v, d.text)
			if err != nil {
				return nil, blocked(c.Name, s, "", err)
			}
			if text != d.text {
				d.text, d.replaced, d.by = text, true, c.Name
			}
		case ActionAsk:
			d.asked, d.reasons = append(d.asked, c.Name), append(d.reasons, v.Reason)
		case ActionDeny:
			if s.Stage != Call || s.final {
				return nil, blocked(c.Name, s, v.Reason, nil)
			}
			if d.denied == nil {
				d.denied, d.deniedBy = &v, c.Name
			}
		case ActionBlock:
			return nil, blocked(c.Name, s, v.Reason, nil)
		default:
			return nil, blocked(c.Name, s, "", fmt.Errorf("unknown action %d", v.Action))
		}
	}
	if (s.Stage != Call || s.final) && len(d.asked) > 0 {
		if s.Partial {
			return nil, blocked(d.asked[0], s, d.reasons[0], errors.New("no one can be asked about a part of a text"))
		}
		if err := d.consult(ctx, agent.AskerOf(run), s); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func blocked(guard string, s *Subject, reason string, err error) *BlockedError {
	return &BlockedError{Guard: guard, Stage: s.Stage, Tool: s.Tool, CallID: s.CallID, Reason: reason, Err: err}
}

// ask asks one guard.
func (c *Guard[D]) ask(ctx context.Context, run *toolset.RunContext[D], s *Subject) (Verdict, error) {
	within, cancel := context.WithCancel(context.WithValue(ctx, ownKey{}, true))
	if c.Timeout > 0 {
		within, cancel = context.WithTimeoutCause(within, c.Timeout, fmt.Errorf("the check took longer than %v", c.Timeout))
	}
	defer cancel()
	v, err := c.safely(within, run, s)
	switch {
	case ctx.Err() != nil:
		return Verdict{}, context.Cause(ctx)
	case within.Err() != nil && err != nil:
		err = context.Cause(within)
	}
	if err == nil || c.Open {
		if err != nil {
			v = Pass()
		}
		return v, nil
	}
	return Verdict{}, blocked(c.Name, s, "it could not be checked", err)
}

// safely turns a panic of a check into an error.
func (c *Guard[D]) safely(ctx context.Context, run *toolset.RunContext[D], s *Subject) (v Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &agent.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return c.Check(ctx, run, s)
}

// The answers that a person can give.
const (
	answerPass  = "Let it pass"
	answerBlock = "Block it"
)

// consult asks the person about a text.
func (d *decision) consult(ctx context.Context, run asker, s *Subject) error {
	by, reason := strings.Join(d.asked, ", "), strings.Join(d.reasons, "; ")
	what := s.Stage.String()
	if s.Tool != "" {
		what += " of the tool " + show.Line(s.Tool)
	}
	reply, err := run.Answer(ctx, toolset.Question{
		Message: fmt.Sprintf("The guardrail %s asks you to decide about the %s: %s\n\n%s", show.Line(by), what, show.Line(reason), show.Lines("  ", d.text)),
		Schema:  question,
	})
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return blocked(by, s, reason, err)
	}
	var form struct {
		Answer string `json:"answer"`
	}
	if reply.Action != toolset.ActionAccept || json.Unmarshal(reply.Content, &form) != nil || form.Answer != answerPass {
		return blocked(by, s, reason+" (not allowed by the person who was asked)", nil)
	}
	return nil
}

// question is the form of the answer: one choice, which every surface can show.
var question = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string","title":"Answer","enum":["` + answerPass + `","` + answerBlock + `"]}},"required":["answer"]}`)

// asker answers questions.
type asker interface {
	Answer(ctx context.Context, q toolset.Question) (toolset.Reply, error)
}
