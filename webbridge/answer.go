// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// answer is the answer to a question.
type answer struct {
	Choice   string `json:"choice"`
	Decision *struct {
		Allow  *bool           `json:"allow"`
		Args   json.RawMessage `json:"args"`
		Reason string          `json:"reason"`
	} `json:"decision"`
	Reply *struct {
		Action  toolset.Action  `json:"action"`
		Content json.RawMessage `json:"content"`
	} `json:"reply"`
}

func (a *answer) check() (host.Answer, error) {
	set := 0
	for _, is := range []bool{a.Choice != "", a.Decision != nil, a.Reply != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return host.Answer{}, refuse(KindInvalid, "set one of choice, decision and reply")
	}
	switch {
	case a.Decision != nil:
		d := toolset.Deny(a.Decision.Reason)
		switch {
		case a.Decision.Allow == nil:
			return host.Answer{}, refuse(KindInvalid, "decision.allow is missing")
		case *a.Decision.Allow && len(a.Decision.Args) > 0:
			d = toolset.AllowWith(a.Decision.Args)
		case *a.Decision.Allow:
			d = toolset.Allow()
		}
		return host.Answer{Decision: &d}, nil
	case a.Reply != nil:
		switch a.Reply.Action {
		case toolset.ActionAccept, toolset.ActionDecline, toolset.ActionCancel:
		default:
			return host.Answer{}, refuse(KindInvalid, "reply.action is %q: use accept, decline or cancel", a.Reply.Action)
		}
		return host.Answer{Reply: &toolset.Reply{Action: a.Reply.Action, Content: a.Reply.Content}}, nil
	}
	return host.Answer{Choice: a.Choice}, nil
}

func (h *Handler) postAnswer(w http.ResponseWriter, r *http.Request) error {
	var in answer
	if err := h.decode(w, r, h.o.Limits.Body, &in); err != nil {
		return err
	}
	a, err := in.check()
	if err != nil {
		return err
	}
	s, done, err := h.Use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	if err := s.Decide(r.Context(), r.PathValue("question"), a); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Decide answers a question of the session in the name of the user. The store has the questions: what a client says about them counts for
// nothing.
func (s *Session) Decide(ctx context.Context, question string, a host.Answer) error {
	_, err := s.Resolve(ctx, question, a, Turn{})
	return err
}

// Resolve is like [Session.Decide]. If the answer was the last one that a pending run waits for, it returns the turn that resumes the run, which is
// as t says and has no prompt.
func (s *Session) Resolve(ctx context.Context, question string, a host.Answer, t Turn) (*Going, error) {
	admitted, err := s.Answer(ctx, question, s.user, a)
	switch {
	case errors.Is(err, host.ErrNoQuestion):
		snapshot, _, wrong := s.Snapshot(ctx)
		if wrong != nil {
			return nil, wrong
		}
		if e := snapshot.Get(question); e != nil && e.Kind == view.Question {
			return nil, refuse(KindAnswered, "the question has been answered already")
		}
		return nil, refuse(KindNotFound, "there is no question %q in this session", question)
	case err != nil && !errors.Is(err, host.ErrClosed) && ctx.Err() == nil:
		return nil, refuse(KindInvalid, "the answer does not fit the question: use one of its choices, or a decision about a call, or a reply to a form")
	case err != nil:
		return nil, err
	case admitted == nil:
		return nil, nil
	}
	return s.start(admitted, false, t, admitted.Resume), nil
}
