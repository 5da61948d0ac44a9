// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/internal/elicit"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Elicitation is a question of the agent: a form to fill in, or an address to open.
type Elicitation struct {
	// Session is the session that the question belongs to. It is nil if the question belongs to a
	// request outside of sessions, such as a login.
	Session *Session
	// Call is the tool call that the question belongs to, nil if the agent has named none.
	Call *view.Entity
	// Message is the question. It is the agent's text: escape it before it is shown.
	Message string
	// Form is the form. It is nil for an address.
	Form *acp.ElicitationSchema
	// URL is the address, and ID identifies the visit. Show the whole address before it is opened.
	URL string
	ID  acp.ElicitationID
}

// Answer is a person's answer to an [Elicitation].
type Answer struct {
	// Action is accept, decline or cancel. The empty one cancels.
	Action toolset.Action
	// Content holds the values of the form, by the names of its fields.
	Content map[string]acp.ElicitationContentValue
}

// ElicitationFunc answers the agent's questions. Its ctx ends when the agent withdraws the question
// and when the turn is cancelled; the answer does not matter then. Content that does not fit the
// form, an error and a panic cancel the question, and are reported by [Client.Problems]. It may be
// called for several sessions at once.
type ElicitationFunc func(ctx context.Context, e *Elicitation) (Answer, error)

// AnswerWith passes the agent's questions to an asker, such as a run's. Without anyone to ask, they
// are cancelled.
func AnswerWith(asker toolset.Asker) ElicitationFunc {
	return func(ctx context.Context, e *Elicitation) (Answer, error) {
		q := toolset.Question{Message: show.ReceivedText(e.Message), URL: e.URL, ID: string(e.ID)}
		if e.Session != nil {
			q.Origin = toolset.Origin{
				Path: []string{string(e.Session.id)}, Agent: e.Session.client.name(), RunID: string(e.Session.id), Tool: "agent_tool",
			}
		}
		if e.Call != nil {
			q.Path = append(q.Path, e.Call.ID)
			q.Tool, q.Title, q.Kind = cmp.Or(e.Call.Name, q.Tool), e.Call.Title, toolset.Kind(e.Call.Class)
		}
		if e.Form != nil {
			var err error
			if q.Schema, err = json.Marshal(e.Form); err != nil {
				return Answer{}, err
			}
		}
		reply, err := asker.Answer(ctx, q)
		if errors.Is(err, toolset.ErrNobody) {
			return Answer{Action: toolset.ActionCancel}, nil
		}
		a := Answer{Action: reply.Action}
		if err == nil && reply.Action == toolset.ActionAccept && e.Form != nil && len(reply.Content) > 0 {
			err = json.Unmarshal(reply.Content, &a.Content)
		}
		return a, err
	}
}

var cancelledElicitation = &acp.CreateElicitationResponse{Cancel: &acp.CreateElicitationResponseCancel{}}

// CreateElicitation implements [acp.Client].
func (h *handler) CreateElicitation(ctx context.Context, r *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	c := h.client
	if c.config.Elicitation == nil {
		return nil, acp.ErrMethodNotFound
	}
	e := &Elicitation{Message: r.Message}
	var scope *acp.ElicitationSessionScope
	switch {
	case r.Form != nil:
		e.Form, scope = &r.Form.RequestedSchema, r.Form.Session
	case r.URL != nil:
		e.URL, e.ID, scope = r.URL.URL, r.URL.ElicitationID, r.URL.Session
	default:
		return nil, acp.Errorf(acp.CodeInvalidParams, "this kind of elicitation is not supported")
	}
	answer := c.config.Elicitation
	if scope != nil {
		s, err := h.of(scope.SessionID)
		if err != nil {
			return nil, err
		}
		e.Session = s
		if s.elicitation != nil {
			answer = s.elicitation
		}
	}
	if e.Session == nil {
		acp.Async(ctx)
		return response(e, c.ask(ctx, answer, e)), nil
	}
	return e.Session.elicit(ctx, answer, e, scope.ToolCallID), nil
}

// elicit has a question answered, and shows it as an entity.
func (s *Session) elicit(ctx context.Context, answer ElicitationFunc, e *Elicitation, call acp.ToolCallID) *acp.CreateElicitationResponse {
	s.mu.Lock()
	t := s.turn
	s.asked++
	q := view.Entity{ID: fmt.Sprintf("question-%d", s.asked), Kind: view.Question, Title: e.Message, Status: view.Pending}
	if e.URL != "" {
		q.ID, q.Content = visitID(e.ID), []view.Content{{Kind: view.Link, URI: e.URL}}
	} else if _, choices, ok := elicit.Choices(e.Form); ok {
		for _, c := range choices {
			q.Choices = append(q.Choices, view.Choice{ID: c.Title, Title: c.Title})
		}
	}
	if e.Call = s.fold.view.Get(acpview.CallID(call)); e.Call != nil {
		q.Parent = e.Call.ID
	}
	asking := q
	s.fold.replace(s.fold.view.Get(q.ID), &asking)
	s.mu.Unlock()
	acp.Async(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if t != nil {
		defer context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })()
	}
	a := s.client.ask(ctx, answer, e)
	switch q.Value = string(a.Action); {
	case a.Action == toolset.ActionCancel:
		q.Status = view.Cancelled
	case a.Action == toolset.ActionAccept && e.URL != "":
		q.Status = view.Running // until the agent says that the visit is over
	default:
		q.Status = view.Completed
	}
	s.mu.Lock()
	s.fold.put(&q)
	s.mu.Unlock()
	return response(e, a)
}

func visitID(id acp.ElicitationID) string { return "visit:" + string(id) }

// ask calls the callback. Whatever it does wrong cancels the question.
func (c *Client) ask(ctx context.Context, answer ElicitationFunc, e *Elicitation) Answer {
	cancelled := Answer{Action: toolset.ActionCancel}
	if ctx.Err() != nil {
		return cancelled
	}
	a, err := protectAnswer(ctx, answer, e)
	switch {
	case ctx.Err() != nil:
		return cancelled
	case err != nil:
	case a.Action == toolset.ActionDecline:
		return Answer{Action: a.Action}
	case a.Action == toolset.ActionAccept && e.Form == nil:
		return Answer{Action: a.Action}
	case a.Action == toolset.ActionAccept:
		if a.Content, err = elicit.Check(e.Form, a.Content); err == nil {
			return a
		}
	case a.Action == "" || a.Action == toolset.ActionCancel:
		return cancelled
	default:
		err = fmt.Errorf("unknown action %q", cut(string(a.Action)))
	}
	c.report(fmt.Errorf("acpclient: elicitation: %w", err))
	return cancelled
}

func protectAnswer(ctx context.Context, answer ElicitationFunc, e *Elicitation) (a Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = Answer{}, fmt.Errorf("the callback panicked: %v", p)
		}
	}()
	return answer(ctx, e)
}

func response(e *Elicitation, a Answer) *acp.CreateElicitationResponse {
	switch {
	case a.Action == toolset.ActionAccept && e.Form != nil:
		return &acp.CreateElicitationResponse{Accept: &acp.ElicitationAcceptAction{Content: a.Content}}
	case a.Action == toolset.ActionAccept:
		return &acp.CreateElicitationResponse{Accept: &acp.ElicitationAcceptAction{}}
	case a.Action == toolset.ActionDecline:
		return &acp.CreateElicitationResponse{Decline: &acp.CreateElicitationResponseDecline{}}
	}
	return cancelledElicitation
}

// CompleteElicitation implements [acp.Client].
func (h *handler) CompleteElicitation(_ context.Context, n *acp.CompleteElicitationNotification) error {
	for _, s := range h.client.allSessions() {
		s.mu.Lock()
		if q := s.fold.view.Get(visitID(n.ElicitationID)); q != nil && q.Status == view.Running {
			done := *q
			done.Status = view.Completed
			s.fold.put(&done)
		}
		s.mu.Unlock()
	}
	return nil
}

func (c *Client) allSessions() []*Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Session, 0, len(c.sessions))
	for _, s := range c.sessions {
		all = append(all, s)
	}
	return all
}
