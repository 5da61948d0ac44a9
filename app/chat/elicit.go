// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/internal/term/form"
	"github.com/ponte-go/ponte/app/internal/term/plain"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// The answers to an agent's form or address, before it is filled in.
const (
	fillIn  acp.PermissionOptionID = "accept"
	decline acp.PermissionOptionID = "decline"
)

// asked makes a question, whose preview escapes the agent's texts when it is shown, of a form or an
// address: whether the person wants to answer it. It shows everything that will be asked. It is
// asked like any other question: earlier input does not answer it.
func asked(e *acpclient.Elicitation) *acpclient.PermissionRequest {
	about, yes := "The agent asks: "+e.Message, "Fill in the form"
	switch {
	case e.URL != "":
		about += "\nOpen this address in a browser, and answer when you are done there:\n" + e.URL
		yes = "Done"
	case e.Form != nil:
		if t := e.Form.Title; t != nil && *t != "" {
			about += "\n" + *t
		}
		if d := e.Form.Description; d != nil && *d != "" {
			about += "\n" + *d
		}
		for _, f := range form.Fields(e.Form) {
			for _, line := range f.Raw() {
				about += "\n  " + line
			}
		}
	}
	return &acpclient.PermissionRequest{
		Session: e.Session, Approval: toolset.Approval{Preview: []toolset.Preview{{Text: about}}},
		Options: []acp.PermissionOption{
			{OptionID: fillIn, Name: yes, Kind: acp.PermissionOptionKindAllowOnce}, {
				OptionID: decline, Name: "Decline", Kind: acp.PermissionOptionKindRejectOnce,
			},
		},
	}
}

// fill answers a form or an address. choose asks the first question, and line asks for a line; it
// reports false if there will be none.
func fill(
	e *acpclient.Elicitation, choose func(*acpclient.PermissionRequest) acp.PermissionOptionID,
	line func(about []string) (string, bool),
) acpclient.Answer {
	switch choose(asked(e)) {
	case fillIn:
	case decline:
		return acpclient.Answer{Action: toolset.ActionDecline}
	default:
		return acpclient.Answer{Action: toolset.ActionCancel}
	}
	a := acpclient.Answer{Action: toolset.ActionAccept}
	if e.Form == nil {
		return a
	}
	a.Content = map[string]acp.ElicitationContentValue{}
	for _, f := range form.Fields(e.Form) {
		for about := f.Lines(); ; {
			text, ok := line(about)
			if !ok {
				return acpclient.Answer{Action: toolset.ActionCancel}
			}
			v, set, err := f.Read(text)
			if err != nil {
				about = append(f.Lines(), "! "+show.Line(err.Error()))
				continue
			}
			if set {
				a.Content[f.Name] = v
			}
			break
		}
	}
	return a
}

// elicit has the person answer a form or an address.
func (t *talk) elicit(ctx context.Context, e *acpclient.Elicitation) (acpclient.Answer, error) {
	p, ok := t.out.(*plain.Printer)
	if !ok {
		return acpclient.Answer{Action: toolset.ActionCancel}, nil
	}
	t.asking.Lock()
	defer t.asking.Unlock()
	t.catchUp()
	t.mu.Lock()
	refused := t.refused
	t.mu.Unlock()
	a := fill(e, func(r *acpclient.PermissionRequest) acp.PermissionOptionID { return t.ask(ctx, p, r) }, func(about []string) (string, bool) {
		p.Field(about)
		select {
		case line, ok := <-t.lines.read():
			p.Answered()
			if line.err != nil {
				p.Fail(explain(line.err))
			}
			return line.text, ok && line.err == nil
		case <-ctx.Done():
			p.Note("The question was withdrawn.")
			return "", false
		}
	})
	t.mu.Lock()
	t.refused = refused // to decline a form refuses nothing
	t.mu.Unlock()
	return a, nil
}

// elicit has the person answer a form or an address.
func (c *console) elicit(ctx context.Context, e *acpclient.Elicitation) (acpclient.Answer, error) {
	c.filling.Lock() // one form at a time
	defer c.filling.Unlock()
	return fill(e, func(r *acpclient.PermissionRequest) acp.PermissionOptionID { return c.choose(ctx, r) }, func(about []string) (string, bool) {
		answer := make(chan string, 1)
		id := 0
		c.call(func() {
			c.asked++
			id = c.asked
			c.lines[id] = answer
			c.catchUp()
			c.model.AskLine(id, about)
		})
		select {
		case text := <-answer:
			return text, true
		case <-ctx.Done():
		case <-c.over:
		}
		c.call(func() {
			delete(c.lines, id)
			c.model.Withdraw(id)
		})
		return "", false
	}), nil
}
