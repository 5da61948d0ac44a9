// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/elicit"
	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// maxAnswers bounds how often a user is asked again because the answer does not fit the form.
const maxAnswers = 3

// answerQuestion asks the user a question of a tool, by the best means that the client has: see
// [Asker].
func answerQuestion(ctx context.Context, d deps.ACPDeps, q *toolset.Question) (toolset.Reply, error) {
	can := d.Session.Capabilities.Elicitation
	if can == nil {
		can = &acp.ElicitationCapabilities{}
	}
	ask := &question{d: d, q: q, message: show.Text(q.Message)}
	if q.URL != "" {
		if err := checkVisit(q.URL); err != nil {
			return toolset.Reply{}, fmt.Errorf("acpbridge: question of tool %q: %w", q.Tool, err)
		}
		if can.URL != nil {
			if reply, err := ask.visit(ctx); !errors.Is(err, acp.ErrMethodNotFound) {
				return reply, err
			}
		}
		return ask.choose(ctx, verbatim(q.URL), []elicit.Choice{{Title: "I have opened it"}}, nil)
	}
	form, err := elicit.Parse(q.Schema)
	if err != nil {
		return toolset.Reply{}, fmt.Errorf("acpbridge: question of tool %q: %w", q.Tool, err)
	}
	if can.Form != nil {
		if reply, err := ask.form(ctx, form); !errors.Is(err, acp.ErrMethodNotFound) {
			return reply, err
		}
	}
	name, choices, ok := elicit.Choices(form)
	switch {
	case len(form.Properties) == 0:
		return ask.choose(ctx, describeForm(form), []elicit.Choice{{Title: "Yes"}}, nil)
	case ok && len(choices) <= maxChoices:
		return ask.choose(ctx, describeForm(form), choices, func(c *elicit.Choice) elicit.Content {
			return elicit.Content{name: c.Value}
		})
	}
	return toolset.Reply{}, &noFormError{toolset.Failed(
		"The user's editor cannot show this question. Ask it in your reply and end your turn. The user's next message is the answer.\n"+
			"The question: %s%s", q.Message, fieldsOf(form),
	)}
}

// noFormError reports that the client cannot show a question. A tool that returns it has failed,
// and the model is told.
type noFormError struct{ failed error }

func (e *noFormError) Error() string   { return "acpbridge: the editor cannot show the question" }
func (e *noFormError) Unwrap() []error { return []error{toolset.ErrNobody, e.failed} }

// question is a question that is being asked.
type question struct {
	d       deps.ACPDeps
	q       *toolset.Question
	message string
}

// scope ties an elicitation to the session, and to the call if the client knows it.
func (a *question) scope() *acp.ElicitationSessionScope {
	s := &acp.ElicitationSessionScope{SessionID: a.d.Session.ID}
	if id := a.callID(); a.q.CallID() != "" && a.d.Tracker.Snapshot(id).Title != nil {
		s.ToolCallID = id
	}
	return s
}

func (a *question) callID() acp.ToolCallID {
	return deps.ToolCallID(a.q.RunID, a.q.Step, cmp.Or(a.q.CallID(), "question"))
}

// form has a form filled in. An answer that does not fit is refused, and the user is told why.
func (a *question) form(ctx context.Context, form *acp.ElicitationSchema) (toolset.Reply, error) {
	message := a.message
	for left := maxAnswers; ; left-- {
		action, content, err := a.elicit(ctx, &acp.CreateElicitationRequest{
			Message: message, Form: &acp.ElicitationFormMode{RequestedSchema: *form, Session: a.scope()},
		})
		if err != nil || action != toolset.ActionAccept {
			return toolset.Reply{Action: action}, err
		}
		checked, err := elicit.Check(form, content)
		if err == nil {
			return accepted(checked)
		}
		if left == 1 {
			return toolset.Reply{}, toolset.Failed("The user's answer was not valid: %s.", show.Line(err.Error()))
		}
		message = a.message + "\n\nThe last answer was not valid: " + show.Line(err.Error()) + "."
	}
}

// visit has the user open an address. The client is told when the turn ends that the visit has
// ended, unless a tool has done so.
func (a *question) visit(ctx context.Context) (toolset.Reply, error) {
	action, _, err := a.elicit(ctx, &acp.CreateElicitationRequest{Message: a.message, URL: &acp.ElicitationURLMode{
		ElicitationID: acp.ElicitationID(cmp.Or(a.q.ID, rand.Text())), URL: a.q.URL, Session: a.scope(),
	}})
	return toolset.Reply{Action: action}, err
}

// elicit sends an elicitation. The client is told if ctx ends.
func (a *question) elicit(ctx context.Context, req *acp.CreateElicitationRequest) (toolset.Action, elicit.Content, error) {
	resp, err := a.d.Client.CreateElicitation(ctx, req)
	switch {
	case errors.Is(err, acp.ErrMethodNotFound) && ctx.Err() == nil: // it is announced, and not there
		return "", nil, acp.ErrMethodNotFound
	case err != nil:
		return "", nil, clientError(ctx, "ask the user", err)
	case ctx.Err() != nil: // whatever was answered, nobody waits for it any more
		return "", nil, context.Cause(ctx)
	case resp.Accept != nil:
		return toolset.ActionAccept, resp.Accept.Content, nil
	case resp.Decline != nil:
		return toolset.ActionDecline, nil, nil
	case resp.Cancel != nil:
		return toolset.ActionCancel, nil, nil
	}
	return "", nil, toolset.Failed("Could not ask the user: the editor's answer is of an unknown kind.")
}

func accepted(content elicit.Content) (toolset.Reply, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return toolset.Reply{}, fmt.Errorf("acpbridge: the answer: %w", err)
	}
	return toolset.Reply{Action: toolset.ActionAccept, Content: data}, nil
}

// maxChoices bounds the choices that are offered as options of a permission request.
const maxChoices = 8

const decline = acp.PermissionOptionID("decline")

// choose asks with session/request_permission, which every client has. The question becomes a part
// of what the call shows.
func (a *question) choose(ctx context.Context, about acp.ToolCallContent, choices []elicit.Choice, content func(*elicit.Choice) elicit.Content) (toolset.Reply, error) {
	options := make([]acp.PermissionOption, 0, len(choices)+1)
	for i, c := range choices {
		options = append(options, acp.PermissionOption{
			OptionID: acp.PermissionOptionID(fmt.Sprintf("choice-%d", i)), Name: cmp.Or(c.Title, "(empty)"), Kind: acp.PermissionOptionKindAllowOnce,
		})
	}
	options = append(options, acp.PermissionOption{OptionID: decline, Name: "Decline to answer", Kind: acp.PermissionOptionKindRejectOnce})
	call, done := a.show(ctx, about)
	defer done()
	resp, err := a.d.Client.RequestPermission(ctx, &acp.RequestPermissionRequest{SessionID: a.d.Session.ID, ToolCall: call, Options: options})
	switch {
	case err != nil:
		return toolset.Reply{}, clientError(ctx, "ask the user", err)
	case ctx.Err() != nil:
		return toolset.Reply{}, context.Cause(ctx)
	case resp.Outcome.Selected == nil:
		return toolset.Reply{Action: toolset.ActionCancel}, nil
	}
	for i := range choices {
		if options[i].OptionID != resp.Outcome.Selected.OptionID {
			continue
		}
		if content == nil {
			return accepted(elicit.Content{})
		}
		return accepted(content(&choices[i]))
	}
	return toolset.Reply{Action: toolset.ActionDecline}, nil // an option that was not offered counts as none
}

// show adds the question to what the client shows of the call, and returns the call. A call that
// the client does not know is announced, and done ends it.
func (a *question) show(ctx context.Context, about acp.ToolCallContent) (call acp.ToolCallUpdate, done func()) {
	id := a.callID()
	if len(a.q.Path) > 1 {
		a.d.Tracker.Label(a.q.RunID, a.q.Agent)
	}
	known := a.d.Tracker.Snapshot(id)
	c := acp.ToolCall{
		ToolCallID: id, Title: show.Line(cmp.Or(a.q.Title, a.q.Tool, "Question")), Kind: cmp.Or(acp.ToolKind(a.q.Kind), acp.ToolKindOther),
		Content: append(slices.Clip(known.Content), deps.TextContent(a.message)),
	}
	if about.Content != nil {
		c.Content = append(c.Content, about)
	}
	if known.Title != nil {
		c.Title, c.Kind = *known.Title, ""
	}
	done = func() {}
	if known.Title == nil {
		done = func() { _ = a.d.Tracker.Complete(ctx, id) }
	}
	if a.d.Tracker == nil {
		return acp.ToolCallUpdate{ToolCallID: id, Title: &c.Title, Kind: c.Kind, Content: c.Content}, done
	}
	_ = a.d.Tracker.Start(ctx, c) // whether the client can be reached shows in the question
	return a.d.Tracker.Snapshot(id), done
}

// describeForm returns a description of a form in addition to its choices. The content is empty if
// there is nothing to add.
func describeForm(form *acp.ElicitationSchema) acp.ToolCallContent {
	var lines []string
	add := func(texts ...*string) {
		for _, t := range texts {
			if t != nil {
				lines = append(lines, *t)
			}
		}
	}
	add(form.Title, form.Description)
	for _, f := range form.Properties {
		switch {
		case f.Boolean != nil:
			add(f.Boolean.Title, f.Boolean.Description)
		case f.String != nil:
			add(f.String.Title, f.String.Description)
			for _, o := range f.String.OneOf {
				if o.Description != nil {
					lines = append(lines, o.Title+": "+*o.Description)
				}
			}
		}
	}
	if len(lines) == 0 {
		return acp.ToolCallContent{}
	}
	return deps.TextContent(strings.Join(lines, "\n"))
}

// fieldsOf tells a model which fields a form has.
func fieldsOf(form *acp.ElicitationSchema) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		data, err := plainjson.Marshal(form.Properties[name])
		if err != nil {
			continue // it was decoded from JSON
		}
		required := ""
		if slices.Contains(form.Required, name) {
			required = " (required)"
		}
		fmt.Fprintf(&b, "\n- %s%s: %s", name, required, data)
	}
	return b.String()
}

// checkVisit refuses addresses that are not plain web addresses: they would do something else than
// to show a page.
func checkVisit(address string) error {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || !show.Plain(address) {
		return errors.New("the address is not a plain http or https address")
	}
	return nil
}
