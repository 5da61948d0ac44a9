// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/agentcall"
	"github.com/ponte-go/ponte/toolset"
)

// PermissionRequest is a question whether something may be done.
type PermissionRequest struct {
	// Session is the session that the question is about.
	Session *Session
	// Call is the tool call as it is known. It is nil if the client asks.
	Call *view.Entity
	// Approval describes the action: a title, and previews of the changes and the command, if they
	// are known. If Unasked is set, they are exactly what will be done.
	Approval toolset.Approval
	// Options are the answers that are offered. The agent's come in any order, and need not have
	// every kind.
	Options []acp.PermissionOption
	// Unasked reports that the agent did not ask: it is about to write a file or to run a command
	// of the workspace, and the client asks instead.
	Unasked bool
	// Tool is "write_file" or "run_command" if Unasked is set, and the name of the agent's tool, if
	// it has told one, otherwise.
	Tool string
}

// Option returns the first option that is offered of the first of the kinds that is, or "" if none
// is.
func (r *PermissionRequest) Option(kinds ...acp.PermissionOptionKind) acp.PermissionOptionID {
	for _, kind := range kinds {
		for i := range r.Options {
			if r.Options[i].Kind == kind {
				return r.Options[i].OptionID
			}
		}
	}
	return ""
}

// PermissionFunc answers a question with the id of one of its options, or with "", which withdraws
// the question: the action is not done, and agents mostly end their turn. Its ctx ends when the
// turn is cancelled; the answer does not matter then. An error, a panic, and an id that was not
// offered count as a rejection, and are reported by [Client.Problems].
type PermissionFunc func(ctx context.Context, r *PermissionRequest) (acp.PermissionOptionID, error)

// AllowAll allows everything once. It is for agents that work where nothing can be lost.
func AllowAll(_ context.Context, r *PermissionRequest) (acp.PermissionOptionID, error) {
	return r.Option(acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways), nil
}

// RejectAll rejects everything. A nil [Config.Permission] does the same.
func RejectAll(_ context.Context, r *PermissionRequest) (acp.PermissionOptionID, error) {
	return r.Option(acp.PermissionOptionKindRejectOnce), nil
}

// AskWith passes questions to an asker, such as a run's, or one of package approval with policies
// before it. The source of the approvals is the agent, so decisions about tools of the program, or
// of another agent, do not cover them. Decisions that hold always choose an "always" option if
// there is one. Without anyone to ask, the answer is no. A decision that defers withdraws the
// question, because an agent's question cannot wait for a later run.
func AskWith(asker toolset.Asker) PermissionFunc {
	return func(ctx context.Context, r *PermissionRequest) (acp.PermissionOptionID, error) {
		req := toolset.ApprovalRequest{
			Origin:   toolset.Origin{Path: []string{string(r.Session.id)}, Agent: r.Session.client.name(), RunID: string(r.Session.id), Tool: cmp.Or(r.Tool, "agent_tool")},
			Approval: r.sourced(), Once: r.once(),
		}
		if r.Call != nil {
			req.Path = append(req.Path, r.Call.ID)
			req.Kind, req.Title, req.Args = toolset.Kind(r.Call.Class), r.Call.Title, r.Call.Input
		}
		d, err := asker.Approve(ctx, req)
		if errors.Is(err, toolset.ErrNobody) {
			return RejectAll(ctx, r)
		}
		if err != nil {
			return "", err
		}
		once, always := acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways
		if d.Verdict == toolset.VerdictAllow {
			once, always = acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways
		}
		switch {
		case d.Verdict != toolset.VerdictAllow && d.Verdict != toolset.VerdictDeny:
			return "", nil
		case d.Always && !(d.Verdict == toolset.VerdictAllow && req.Once):
			return r.Option(always, once), nil
		}
		return r.Option(once), nil
	}
}

// once reports whether the answer cannot hold always.
func (r *PermissionRequest) once() bool {
	return r.Approval.Once || r.Option(acp.PermissionOptionKindAllowAlways) == ""
}

// sourced returns the approval as one of the agent. The agent says of a call neither what it covers
// nor truly what tool it is, so what holds always covers calls that look the same and nothing else.
// The agent learns of the decision, and may ask less by itself.
func (r *PermissionRequest) sourced() toolset.Approval {
	a := r.Approval
	a.Source = "agent:" + r.Session.client.name()
	if a.Scope == "" && r.Call != nil {
		if same, err := json.Marshal([]any{r.Call.Title, r.Call.Class, r.Call.Input, a.Title, a.Preview}); err == nil {
			a.Scope = fmt.Sprintf("call:%x", sha256.Sum256(same))
		}
	}
	return a
}

var cancelledOutcome = acp.RequestPermissionOutcome{Cancelled: &acp.RequestPermissionOutcomeCancelled{}}

// RequestPermission implements [acp.Client].
func (h *handler) RequestPermission(ctx context.Context, r *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	s, err := h.of(r.SessionID)
	if err != nil {
		return nil, err
	}
	if id, twice := ambiguous(r.Options); twice {
		// A person's "no" must not be taken for the "yes" that has the same id.
		h.client.problem(acp.MethodRequestPermission, "two options have the id %q", cut(string(id)))
		return nil, acp.Errorf(acp.CodeInvalidParams, "two options have the same id")
	}
	s.mu.Lock()
	if s.fold.over() {
		full := s.fullLocked()
		s.mu.Unlock()
		s.endFull(full)
		return nil, acp.Errorf(acp.CodeInvalidRequest, "the session is too large")
	}
	call := s.fold.call(&r.ToolCall)
	said := s.fold.said[call.ID]
	s.mu.Unlock()
	done, err := s.wait()
	if err != nil {
		return nil, err
	}
	defer done()
	acp.Async(ctx)
	req := &PermissionRequest{
		Session: s, Call: call, Approval: approvalOf(call, s.cwd),
		Options: r.Options, Tool: call.Name,
	}
	alsoSaid(&req.Approval, said, s.cwd)
	if !agentcall.Means(req.Tool, req.Approval.Effects) {
		req.Tool = ""
	}
	chosen := s.decide(ctx, req)
	if chosen == nil {
		return &acp.RequestPermissionResponse{Outcome: cancelledOutcome}, nil
	}
	if allows(chosen) {
		s.grant(ctx, call, chosen.Kind == acp.PermissionOptionKindAllowAlways)
	}
	return &acp.RequestPermissionResponse{
		Outcome: acp.RequestPermissionOutcome{Selected: &acp.SelectedPermissionOutcome{OptionID: chosen.OptionID}},
	}, nil
}

// maxWaiting bounds the requests of a session that wait for a person at a time.
const maxWaiting = 100

// wait takes the place of a request that may have to wait for a person, until done is called.
func (s *Session) wait() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting >= maxWaiting {
		return nil, acp.Errorf(acp.CodeInvalidRequest, "%d requests wait for the user already", maxWaiting)
	}
	s.waiting++
	return func() {
		s.mu.Lock()
		s.waiting--
		s.mu.Unlock()
	}, nil
}

// ambiguous returns an id that two options have.
func ambiguous(options []acp.PermissionOption) (id acp.PermissionOptionID, twice bool) {
	seen := map[acp.PermissionOptionID]bool{}
	for i := range options {
		if id = options[i].OptionID; seen[id] {
			return id, true
		}
		seen[id] = true
	}
	return "", false
}

func allows(o *acp.PermissionOption) bool {
	return o.Kind == acp.PermissionOptionKindAllowOnce || o.Kind == acp.PermissionOptionKindAllowAlways
}

// approvalOf describes a call of the agent's tool with its known fields.
func approvalOf(call *view.Entity, dir string) toolset.Approval {
	a := toolset.Approval{Title: call.Title}
	said := agentcall.Call{Kind: toolset.Kind(call.Class), Input: call.Input}
	for i := range call.Content {
		switch c := &call.Content[i]; c.Kind {
		case view.Diff:
			a.Preview = append(a.Preview, toolset.Preview{Diff: &toolset.Diff{Path: c.Diff.Path, Old: c.Diff.Old, New: &c.Diff.New}})
		case view.Text:
			a.Preview = append(a.Preview, toolset.Preview{Text: c.Text})
		case view.Output, view.Other: // a terminal, or what nobody knows
			said.Opaque = true
		}
	}
	for i := range call.Locations {
		said.Places = append(said.Places, call.Locations[i].Path)
	}
	said.Shown = len(a.Preview) > 0
	if command, ok := agentcall.Command(call.Input); ok {
		a.Preview = append(a.Preview, toolset.Preview{Command: &command})
	}
	a.Effects = append(a.Effects, said.Effects(dir)...)
	approval.Describe(&a, dir)
	return a
}

// decide has the question answered, and shows it as an entity. It returns the option that was
// chosen, nil for none.
func (s *Session) decide(ctx context.Context, r *PermissionRequest) *acp.PermissionOption {
	s.mu.Lock()
	t := s.turn
	s.asked++
	q := view.Entity{ID: fmt.Sprintf("question-%d", s.asked), Kind: view.Question, Title: r.Approval.Title, Status: view.Pending}
	if r.Call != nil {
		q.Parent = r.Call.ID
	}
	for _, o := range r.Options {
		q.Choices = append(q.Choices, view.Choice{ID: string(o.OptionID), Title: o.Name, Class: string(o.Kind)})
	}
	asking := q
	s.fold.replace(nil, &asking)
	s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if t != nil {
		defer context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })()
	}
	chosen := s.choose(ctx, r)
	if t != nil && t.ctx.Err() != nil || ctx.Err() != nil { // nobody wants it done any more
		chosen = nil
	}
	q.Status = view.Cancelled
	if chosen != nil {
		q.Status, q.Value = view.Completed, string(chosen.OptionID)
	}
	s.mu.Lock()
	s.fold.put(&q)
	s.mu.Unlock()
	return chosen
}

func (s *Session) choose(ctx context.Context, r *PermissionRequest) *acp.PermissionOption {
	find := func(id acp.PermissionOptionID) *acp.PermissionOption {
		if i := slices.IndexFunc(r.Options, func(o acp.PermissionOption) bool { return o.OptionID == id }); i >= 0 && id != "" {
			return &r.Options[i]
		}
		return nil
	}
	reject := find(r.Option(acp.PermissionOptionKindRejectOnce))
	if ctx.Err() != nil {
		return nil
	}
	if s.ask == nil {
		return reject
	}
	id, err := protect(ctx, s.ask, r)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		s.client.report(fmt.Errorf("acpclient: permission: %w", err))
		return reject
	case id == "":
		return nil
	}
	if o := find(id); o != nil {
		return o
	}
	s.client.report(fmt.Errorf("acpclient: permission: the answer %q was not offered", cut(string(id))))
	return reject
}

// protect calls the callback. A panic of it must not become an answer.
func protect(ctx context.Context, ask PermissionFunc, r *PermissionRequest) (id acp.PermissionOptionID, err error) {
	defer func() {
		if p := recover(); p != nil {
			id, err = "", fmt.Errorf("the callback panicked: %v", p)
		}
	}()
	return ask(ctx, r)
}
