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

// answer is the answer to a question. Digest identifies the question as it was shown.
type answer struct {
	Digest   string `json:"digest"`
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
	if a.Digest == "" {
		return host.Answer{}, refuse(KindInvalid, "digest is missing: send the field digest of the question's entity as it was shown")
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
		return host.Answer{Digest: a.Digest, Decision: &d}, nil
	case a.Reply != nil:
		return host.Answer{Digest: a.Digest, Reply: &toolset.Reply{Action: a.Reply.Action, Content: a.Reply.Content}}, nil
	}
	return host.Answer{Digest: a.Digest, Choice: a.Choice}, nil
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
	s, done, err := h.use(r.Context(), r.PathValue("id"))
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
// nothing. An answer that was refused is an [*Error] of the kind invalid, or, with the question as it is now, changed or answered.
func (s *openSession) Decide(ctx context.Context, question string, a host.Answer) error {
	_, err := s.Resolve(ctx, question, a, turn{})
	return err
}

// Resolve is like openSession.Decide. If the answer was the last one that a pending run waits for, it returns the turn that resumes the run, which is
// as t says and has no prompt.
func (s *openSession) Resolve(ctx context.Context, question string, a host.Answer, t turn) (*going, error) {
	s.handler.turning(s.live, 1) // whoever comes between the answer and the turn waits for the turn
	defer s.handler.turning(s.live, -1)
	admitted, err := s.Answer(ctx, question, s.user, a)
	switch {
	case err != nil:
		return nil, s.refusal(ctx, question, err)
	case admitted == nil:
		return nil, nil
	}
	return s.start(admitted, false, t, admitted.Resume), nil
}

// refusal returns the error of an answer for clients.
func (s *openSession) refusal(ctx context.Context, question string, err error) error {
	if wrong, ok := errors.AsType[*host.AnswerError](err); ok {
		return refuse(KindInvalid, "the answer is not valid: %s", wrong.Problem)
	}
	changed := errors.Is(err, host.ErrChanged)
	if !changed && !errors.Is(err, host.ErrNoQuestion) {
		return err
	}
	snapshot, _, wrong := s.Snapshot(ctx)
	if wrong != nil {
		return wrong
	}
	var told *Error
	switch e := snapshot.Get(question); {
	case e == nil || e.Kind != view.Question:
		return refuse(KindNotFound, "this session has no question %q", question)
	case changed:
		told = refuse(KindChanged, "the question has changed since it was shown: look at it as it is now, and answer that")
		told.Question = e
	default:
		told = refuse(KindAnswered, "the question has been answered already")
		told.Question = e
	}
	return told
}

// isLate reports whether an answer was refused because the question does not wait for it any more: it was answered, it has changed, or it is
// gone. A [Protocol] then shows what there is now.
func isLate(e *Error) bool {
	return e.Kind == KindAnswered || e.Kind == KindChanged || e.Kind == KindNotFound
}
