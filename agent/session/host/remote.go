// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/elicit"
	"github.com/ponte-go/ponte/toolset"
)

// answerJSON is the data of an answer in the inbox. The item has its digest.
type answerJSON struct {
	Question string            `json:"question"`
	By       string            `json:"by,omitempty"`
	Choice   string            `json:"choice,omitempty"`
	Decision *toolset.Decision `json:"decision,omitempty"`
	Reply    *toolset.Reply    `json:"reply,omitempty"`
	Result   *toolset.Result   `json:"result,omitempty"`
}

// sendAnswer passes an answer to the process that has the session, and waits until it has been
// taken or refused.
func (s *Session) sendAnswer(ctx context.Context, id, by string, a Answer) error {
	matched, err := s.matchShown(ctx, id, by, a)
	if err != nil {
		return err
	}
	data, err := json.Marshal(answerJSON{id, by, a.Choice, a.Decision, a.Reply, a.Result})
	if err != nil {
		return fmt.Errorf("host: send an answer: %w", err)
	}
	err = s.send(ctx, session.Item{Kind: session.ItemAnswer, Digest: a.Digest, Data: data})
	refused := errors.Is(err, errRefused)
	if err != nil && !refused {
		return err
	}
	begun := time.Now()
	e := s.shownQuestion(ctx, id)
	for ; e != nil && e.Status == view.Pending; e = s.shownQuestion(ctx, id) {
		if time.Since(begun) > leaving { // it was refused, and the question was asked again
			return fmt.Errorf("%w: the answer to %q came while the turn was interrupted: answer again",
				ErrNoQuestion, id)
		}
		if e.Digest != a.Digest {
			return fmt.Errorf("%w: %q", ErrChanged, id)
		}
		news := s.news() // the entry with the answer may come later
		if err := (&Turn{ctx: ctx}).waitFor(news); err != nil {
			return err
		}
	}
	if refused && (e == nil || a.Choice == "") || e != nil && e.Value != matched.value() {
		return fmt.Errorf("%w: %q", ErrNoQuestion, id)
	}
	return nil
}

// serveAnswer takes an answer that another process has sent.
func (s *Session) serveAnswer(ctx context.Context, i *session.Item) error {
	var t *Turn
	held := false
	err := s.consume(ctx, i, func() (err error) {
		s.mu.Lock()
		if held = s.closed == nil; held {
			s.holders++ // who leaves meanwhile must not end the turn that this resumes
		}
		s.mu.Unlock()
		if !held {
			return fmt.Errorf("%w: %w", session.ErrHeld, ErrClosed)
		}
		var a answerJSON
		if err = json.Unmarshal(i.Data, &a); err == nil {
			sent := Answer{i.Digest, a.Choice, a.Decision, a.Reply, a.Result}
			t, err = s.Answer(ctx, a.Question, a.By, sent)
		}
		return s.early(ctx, i, a.Question, err)
	})
	if held {
		go func() {
			defer func() { _ = s.Leave(context.WithoutCancel(ctx), nil) }()
			if t != nil {
				t.Resume(Prompt{})
			}
		}()
	}
	return err
}

// shownQuestion returns a question as the session shows it, nil if it does not.
func (s *Session) shownQuestion(ctx context.Context, id string) *view.Entity {
	c, done, err := s.look(ctx)
	if err != nil {
		return nil
	}
	defer done()
	if e := c.Fold().Get(id); e != nil && e.Kind == view.Question {
		return e
	}
	return nil
}

// followed returns the open question of a session that another process has, as it is shown here. It
// is nil if this process asks the questions. The form of another version of the program may be one
// that cannot be checked here.
func (s *Session) followed(ctx context.Context, id string) (q *question, err error) {
	if s.enter(ctx) != nil {
		return nil, nil
	}
	c := s.conversation
	follows := c != nil && c.feed != nil
	<-s.changing
	if !follows {
		return nil, nil
	}
	e := c.Fold().Get(id)
	if e == nil || e.Kind != view.Question || e.Status != view.Pending {
		return nil, nil
	}
	q = &question{entity: *e, follows: true}
	for _, c := range e.Choices { // what they mean is decided where the question is asked
		q.offers = append(q.offers, approval.Choice{ID: c.ID, Class: c.Class, Title: c.Title})
		q.always = q.always || c.Class == AllowAlways
	}
	if len(e.Choices) == 0 && e.Input != nil {
		q.form, err = elicit.Parse(e.Input)
	}
	return q, err
}

// sendSetting has the process that has the session set a setting.
func (s *Session) sendSetting(ctx context.Context, id, value string) ([]view.Setting, error) {
	data, err := json.Marshal(settingJSON{id, value})
	if err == nil {
		err = s.send(ctx, session.Item{Kind: session.ItemSetting, Data: data})
	}
	if err == nil {
		err = s.lookUp(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.Settings(), nil
}
