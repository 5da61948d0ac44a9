// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/elicit"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Answer is the answer to a question. Digest is set, and exactly one of the other fields.
type Answer struct {
	// Digest is the digest of the question ([view.Entity].Digest) as the answering person saw it.
	// If the question has another digest by now, the answer is refused with [ErrChanged].
	Digest string
	// Choice is the id of a choice of the question: see [AllowOnce].
	Choice string
	// Decision decides about a call, in full.
	Decision *toolset.Decision
	// Reply answers the question of a tool. Content that is accepted must fit the question's schema.
	Reply *toolset.Reply
	// Result is the result of an external call.
	Result *toolset.Result
}

// The ids and classes of the choices about a call that needs approval. Further choices, such as
// "always in this project", have one of these classes and other ids: see [approval.Choices].
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// question is a question that waits for an answer.
type question struct {
	entity  view.Entity
	call    *agent.PendingCall // of a run that is pending; nil while a run waits
	always  bool               // "always" is offered
	lasting bool               // "always in this project" is
	offers  []approval.Choice  // about a call that needs approval
	form    *elicit.Form       // of a tool's question; nil for others
	// asked is the request of a run that waits; nil for others.
	asked *toolset.ApprovalRequest
	// follows is set in a process that only shows the question.
	follows bool

	giving sync.Mutex // held while an answer is recorded and given
	mu     sync.Mutex
	answer *Answer
	closed bool          // nobody waits for an answer any more
	given  chan struct{} // closed with the answer
	cancel context.CancelCauseFunc
}

// Decide answers a question by the id of its entity. The first answer counts, and later ones fail with
// [ErrNoQuestion]. An answer to something else than what the question shows now fails with [ErrChanged], and one that does
// not fit the question with an [*AnswerError]: the question stays open. by names who answered, for the record. Empty means
// the user of the session. The last answer to a pending run resumes it. If that turn
// does not begin, the questions are open again.
func (s *Session) Decide(ctx context.Context, id, by string, a Answer) error {
	t, err := s.Answer(ctx, id, by, a)
	if t != nil {
		go t.Resume(Prompt{})
	}
	return err
}

// Answer is like [Session.Decide], but leaves it to the caller to resume a pending run: after the last answer, it
// returns a turn, on which [Turn.Resume] must be called. The context of the turn has the values of ctx and does not
// end with it. Otherwise the turn is nil.
func (s *Session) Answer(ctx context.Context, id, by string, a Answer) (*Turn, error) {
	if s.runsAway() {
		return nil, s.sendAnswer(ctx, id, by, a)
	}
	c, done, err := s.useHeld(ctx, false, true) // another machine may have the answer
	if errors.Is(err, session.ErrHeld) {
		return nil, s.sendAnswer(ctx, id, by, a)
	}
	if err != nil {
		return nil, err
	}
	q, matched, err := s.matchSoon(ctx, c, id, by, a)
	if err == nil && q.follows { // another process has taken the session meanwhile, and asks
		done()
		return nil, s.sendAnswer(ctx, id, by, a)
	}
	var t *Turn
	defer func() {
		if t == nil {
			done()
		} else { // who has the session before the turn begins takes this process for dead
			t.keep = done
		}
	}()
	if err != nil {
		return nil, err
	}
	a = matched
	given, err := q.give(&a, func() error { return s.record(ctx, c, q, &a) })
	if err != nil {
		return nil, err
	}
	if !given {
		return nil, fmt.Errorf("%w: %q", ErrNoQuestion, id)
	}
	s.remember(ctx, c, q, a.Decision)
	if q.call != nil {
		s.answered(c, q, &a)
		t, err = s.resume(context.WithoutCancel(ctx))
	}
	return t, err
}

// CheckAnswer returns the error that [Session.Decide] would return for an answer now, without answering. Surfaces use it
// if several answers are to be accepted together or not at all.
func (s *Session) CheckAnswer(id string, a Answer) error {
	ctx, cancel := context.WithTimeout(context.Background(), lag)
	defer cancel()
	q, _, err := s.match(ctx, id, "", a)
	if err == nil && q.taken() != nil {
		err = fmt.Errorf("%w: %q", ErrNoQuestion, id)
	}
	return err
}

// record records the answer to a question about a call. It survives the end of the process.
func (s *Session) record(ctx context.Context, c *conversation, q *question, a *Answer) error {
	switch now := s.recording.Load(); {
	case q.call != nil:
		var answers agent.DeferredResults
		if a.Result != nil {
			answers.Supply(q.call.Key(), *a.Result)
		} else {
			answers.Decide(q.call.Key(), *a.Decision)
		}
		return c.Answer(ctx, q.call, answers)
	case a.Decision != nil && now != nil && s.host.durable:
		return now.Decided(ctx, q.asked.RunID, q.asked.Step, q.asked.CallID(), q.asked.Tool, *a.Decision)
	}
	return nil
}

// give records and gives the first answer. Later ones are refused, and so are answers that come
// when no run is waiting.
func (q *question) give(a *Answer, record func() error) (given bool, err error) {
	q.giving.Lock()
	defer q.giving.Unlock()
	if q.taken() != nil || q.closed {
		return false, nil
	}
	if record != nil {
		if err := record(); err != nil {
			return false, err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answer = a
	close(q.given)
	if q.cancel != nil {
		q.cancel(ErrDecided)
	}
	return true, nil
}

// close waits for an answer that is being recorded, and refuses later ones.
func (q *question) close() {
	q.giving.Lock()
	defer q.giving.Unlock()
	q.closed = true
}

func (q *question) taken() *Answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.answer
}

// asker returns the asker of a turn's run. It asks the surface of the prompt, and those who watch the session.
func (s *Session) asker(t *Turn, p *Prompt) toolset.Asker {
	return toolset.AskerFuncs{
		OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (d toolset.Decision, err error) {
			if p.Defer {
				return toolset.Defer(), nil
			}
			if now := s.recording.Load(); r.Invalid != "" && now != nil && s.host.durable { // what was allowed has not run
				if err := now.Decided(ctx, r.RunID, r.Step, r.CallID(), r.Tool, toolset.Defer()); err != nil {
					return toolset.Defer(), err
				}
			}
			r.Lasting = s.keeper() != nil
			q := approvalQuestion(&r)
			q.asked = &r
			a, err := s.wait(ctx, t, p, q, func(ctx context.Context, asker toolset.Asker) (*Answer, error) {
				d, err := asker.Approve(ctx, r)
				if err != nil || d.Verdict == toolset.VerdictDefer {
					return nil, err
				}
				return &Answer{Decision: &d}, nil
			})
			if err != nil || a == nil {
				return toolset.Defer(), err
			}
			d = *a.Decision
			d.Lasting = d.Lasting && q.lasting && d.Always && len(d.Args) == 0 && ctx.Err() == nil
			if d.Lasting && (!r.Once || d.Verdict == toolset.VerdictDeny) {
				s.keepDecision(ctx, t.c, r.Tool, &r.Approval, &d)
			}
			return d, nil
		},
		OnAnswer: func(ctx context.Context, asked toolset.Question) (toolset.Reply, error) {
			q, err := toolQuestion(&asked)
			if err != nil {
				return toolset.Reply{}, err
			}
			a, err := s.wait(ctx, t, p, q, func(ctx context.Context, asker toolset.Asker) (*Answer, error) {
				r, err := asker.Answer(ctx, asked)
				if err != nil {
					return nil, err
				}
				a, err := q.resolve(Answer{Reply: &r}, "")
				if invalid, ok := errors.AsType[*AnswerError](err); ok {
					if p.Wait { // others can answer
						return nil, nil
					}
					return nil, toolset.Failed("The user's answer was not valid: %s.", invalid.Problem)
				}
				return &a, err
			})
			if err != nil {
				return toolset.Reply{}, err
			}
			if a == nil {
				return toolset.Reply{}, toolset.ErrNobody
			}
			return *a.Reply, nil
		},
	}
}

// wait asks the surface, and waits for the first answer. The answer is nil if no one can be asked.
func (s *Session) wait(ctx context.Context, t *Turn, p *Prompt, q *question, ask func(context.Context, toolset.Asker) (*Answer, error)) (a *Answer, err error) {
	if p.Asker == nil && !p.Wait {
		return nil, nil
	}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.cancel = cancel
	s.pose(t.c, q)
	returned := false
	defer func() {
		if !returned { // the surface has panicked
			err = errors.New("panic")
		}
		q.close()
		s.settle(t.c, q, a, err)
	}()
	if p.Asker != nil {
		a, err = ask(asking, p.Asker)
		if first := q.taken(); first != nil {
			a, err = first, nil
		} else if a != nil && err == nil {
			_, _ = q.give(a, nil) // the run records it
			a = q.taken()
		}
	}
	if nobody := err == nil && a == nil || errors.Is(err, toolset.ErrNobody); nobody && p.Wait {
		err = nil
		select {
		case <-q.given:
			a = q.taken()
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	returned = true
	return a, err
}

// pose shows a question. A later one about the same call replaces it.
func (s *Session) pose(c *conversation, q *question) {
	q.given = make(chan struct{})
	s.mu.Lock()
	if s.questions == nil {
		s.questions = map[string]*question{}
	}
	s.questions[q.entity.ID] = q
	s.mu.Unlock()
	e := q.entity
	c.Report(&e)
}

// settle shows the outcome of a question.
func (s *Session) settle(c *conversation, q *question, a *Answer, err error) {
	s.mu.Lock()
	if s.questions[q.entity.ID] == q {
		delete(s.questions, q.entity.ID)
	}
	s.mu.Unlock()
	e := q.entity
	switch {
	case err != nil && !errors.Is(err, toolset.ErrNobody):
		e.Status = view.Cancelled
	case a == nil: // the run ends pending, and asks again
		c.Remove(e.ID)
		return
	default:
		e.Status, e.Value = view.Completed, a.value()
	}
	c.Report(&e)
}

// value is the form of an answer that is shown.
func (a *Answer) value() string {
	switch d := a.Decision; {
	case a.Reply != nil:
		return string(a.Reply.Action)
	case a.Choice != "":
		return a.Choice
	case d == nil:
		return "result"
	case d.Verdict == toolset.VerdictAllow && d.Always:
		return AllowAlways
	case d.Verdict == toolset.VerdictAllow:
		return AllowOnce
	case d.Always:
		return RejectAlways
	}
	return RejectOnce
}

// approvalQuestion is the question about a call that needs approval.
func approvalQuestion(r *toolset.ApprovalRequest) *question {
	offers := approval.Choices(r, true)
	q := &question{always: !r.Once, lasting: r.Lasting, offers: offers, entity: view.Entity{
		ID: transcript.QuestionID(r.RunID, r.Step, r.CallID()), Parent: transcript.CallID(r.RunID, r.Step, r.CallID()),
		Kind: view.Question, Name: r.Tool, Status: view.Pending, Title: show.Line(cmp.Or(r.Approval.Title, r.Title, r.Tool)),
		Content: previews(&r.Approval, r.Invalid), Choices: choices(offers),
	}}
	q.entity.Digest = subject{ID: q.entity.ID, Path: r.Path, Tool: r.Tool, Args: r.Args, Approval: &r.Approval, Invalid: r.Invalid}.digest()
	return q
}

// toolQuestion is a question that a tool asks. A schema that does not describe a form is an error.
func toolQuestion(asked *toolset.Question) (*question, error) {
	form, err := elicit.Parse(asked.Schema)
	if err != nil {
		return nil, fmt.Errorf("host: question of tool %q: %w", asked.Tool, err)
	}
	q := &question{form: form, entity: view.Entity{
		ID: transcript.QuestionID(asked.RunID, asked.Step, asked.CallID()), Parent: transcript.CallID(asked.RunID, asked.Step, asked.CallID()),
		Kind: view.Question, Name: asked.Tool, Status: view.Pending, Title: show.Line(asked.Message), Input: asked.Schema,
	}}
	if asked.URL != "" {
		q.entity.Content = []view.Content{{Kind: view.Link, URI: asked.URL, Name: asked.URL}}
	}
	if q.entity.Input == nil {
		q.entity.Input = []byte("{}")
	}
	q.entity.Digest = subject{
		ID: q.entity.ID, Path: asked.Path, Tool: asked.Tool, Message: asked.Message, Schema: asked.Schema, URL: asked.URL,
	}.digest()
	return q, nil
}

// previews returns an approval's reason and previews, all of them in full. invalid describes the
// problem with the arguments of the previous answer.
func previews(a *model.Approval, invalid string) []view.Content {
	var all []view.Content
	text := func(s string) { all = append(all, view.Content{Kind: view.Text, Text: s}) }
	if invalid != "" {
		text(show.Text("The changed arguments are not valid, so the call has not run: " + invalid))
	}
	if a.Reason != "" {
		text(show.Text(a.Reason))
	}
	for i := range a.Preview {
		p := &a.Preview[i]
		if p.Diff == nil || p.Diff.New == nil {
			text(approval.PreviewText(p))
			continue
		}
		all = append(all, view.Content{Kind: view.Diff, Diff: &view.FileChange{Path: p.Diff.Path, Old: p.Diff.Old, New: *p.Diff.New}})
		if hidden := approval.Hidden(p); hidden != "" {
			text("The new text contains invisible characters:\n" + hidden)
		}
	}
	return all
}

// choices returns the choices of a person, with "always" only if it is remembered.
func choices(all []approval.Choice) []view.Choice {
	shown := make([]view.Choice, len(all))
	for i, c := range all {
		shown[i] = view.Choice{ID: c.ID, Class: c.Class, Title: c.Title}
	}
	return shown
}
