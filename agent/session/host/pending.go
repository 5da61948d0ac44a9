// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// expect records the questions of a pending run with its end. They are shown afterwards: a question
// that is shown survives a crash.
func (s *Session) expect(c *conversation, history []*model.Message) {
	for _, call := range agent.PendingCalls(history) {
		c.Record(&s.questionOf(c, history, &call).entity)
	}
}

func (s *Session) questionOf(c *conversation, history []*model.Message, call *agent.PendingCall) *question {
	q := pendingQuestion(history[len(history)-1].RunID, call, s.keeper() != nil)
	q.entity.Parent = c.Waiting(call)
	return q
}

// ask shows the questions of a run that is pending, which the history ends with. It records them
// unless expect has.
func (s *Session) ask(c *conversation, expected bool) {
	history, answers := c.Messages(), c.Answers()
	for _, call := range agent.PendingCalls(history) {
		q := s.questionOf(c, history, &call)
		q.given = make(chan struct{})
		if a := answerIn(&answers, call.Key()); a != nil { // before the process ended
			_, _ = q.give(a, nil)
			q.entity.Status, q.entity.Value = view.Completed, a.value()
		}
		s.mu.Lock()
		before := s.questions[q.entity.ID]
		known := before != nil && before.entity.Digest == q.entity.Digest
		if !known {
			if s.questions == nil {
				s.questions = map[string]*question{}
			}
			s.questions[q.entity.ID] = q
		}
		s.mu.Unlock()
		shown := c.Fold().Get(q.entity.ID)
		switch {
		case known, shown != nil && shown.Digest == q.entity.Digest && shown.Status == q.entity.Status:
		case expected:
			c.Show(&q.entity)
		default:
			c.Report(&q.entity)
		}
	}
}

// answerIn returns the answer to a call, or nil.
func answerIn(all *agent.DeferredResults, key string) *Answer {
	if d, ok := all.Decisions[key]; ok {
		return &Answer{Decision: &d}
	}
	if r, ok := all.Results[key]; ok {
		return &Answer{Result: &r}
	}
	return nil
}

func pendingQuestion(run string, call *agent.PendingCall, lasting bool) *question {
	q := &question{call: call, entity: view.Entity{
		ID: transcript.PendingID(run, call.Key()), Kind: view.Question, Name: call.Tool, Status: view.Pending, Title: show.Line(call.Tool),
	}}
	if a := call.Approval; a != nil {
		q.always, q.lasting = !a.Once, lasting
		q.offers = approval.Choices(&toolset.ApprovalRequest{
			Origin: toolset.Origin{Tool: call.Tool}, Approval: *a, Lasting: lasting,
		}, true)
		if a.Title != "" {
			q.entity.Title = show.Line(a.Title)
		}
		q.entity.Content, q.entity.Choices = previews(a, call.Invalid), choices(q.offers)
	}
	if call.MayHaveRun && call.Approval != nil {
		for i, title := range []string{"Run it again", "Do not run it again"} {
			q.entity.Choices[i].Title = title
		}
	}
	path := call.Path
	if len(path) == 0 {
		path = []string{call.ID}
	}
	q.entity.Digest = subject{
		ID: q.entity.ID, Path: path, Tool: call.Tool, Args: call.Args, Approval: call.Approval,
		Invalid: call.Invalid,
	}.digest()
	return q
}

// remember keeps a decision that holds always.
func (s *Session) remember(ctx context.Context, c *conversation, q *question, d *toolset.Decision) {
	switch {
	case d == nil || !d.Always || len(d.Args) > 0:
		return
	case q.asked != nil:
		s.keepDecision(ctx, c, q.asked.Tool, &q.asked.Approval, d)
	case q.call != nil: // which needs approval: nothing else holds always
		s.keepDecision(ctx, c, q.call.Tool, q.call.Approval, d)
	}
}

// keepDecision keeps the rules of a decision that holds always, in the session or in the project.
func (s *Session) keepDecision(
	ctx context.Context, c *conversation, tool string, a *toolset.Approval, d *toolset.Decision,
) {
	if k := s.keeper(); d.Lasting && k != nil {
		if err := k.Keep(approval.RulesOf(tool, a, *d)...); err == nil {
			return
		} else { // it holds in the session at least
			s.logError("what holds always in the project is not recorded", err)
		}
	}
	now := *d
	now.Lasting = false
	s.policy.RememberDecision(tool, a, now)
	s.keepRules(ctx, c)
}

// keeper returns what keeps rules beyond the session, or nil.
func (s *Session) keeper() approval.Keeper {
	if s.host.lasting == nil {
		return nil
	}
	return s.host.lasting(s.Info().Dir)
}

// keepRules stores the rules of the policy in the middle of a turn, in case the process ends.
func (s *Session) keepRules(ctx context.Context, c *conversation) {
	if err := s.saveRules(context.WithoutCancel(ctx), c.w); err != nil {
		s.logError("what holds always is not recorded", err)
	}
}

// answered shows the answer to the question of a pending run.
func (s *Session) answered(c *conversation, q *question, a *Answer) {
	e := q.entity
	e.Status, e.Value = view.Completed, a.value()
	c.Report(&e)
}

// allAnswered reports whether the pending run has questions, and none is without an answer. Each
// answer asks, so it stops at the first.
func (s *Session) allAnswered() (some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.questions {
		if q.call != nil && q.taken() == nil {
			return false
		}
		some = some || q.call != nil
	}
	return some
}

// asks reports whether a call of the pending run waits for approval.
func (s *Session) asks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.questions {
		if q.call != nil && q.call.Approval != nil && q.taken() == nil {
			return true
		}
	}
	return false
}

// resume admits the turn that resumes the pending run, if all of its questions have been answered.
func (s *Session) resume(ctx context.Context) (*Turn, error) {
	if !s.allAnswered() {
		return nil, nil
	}
	t, err := s.admit(ctx, BusyQueue, true) // also of a session whose queue is full
	if err == nil {
		s.mu.Lock()
		t.resumed = true
		s.mu.Unlock()
	}
	return t, err
}

// Resume is like Run, for a turn returned by [Session.Answer]: it resumes the pending run with its
// answers. Parts of the prompt are ignored. Its other fields apply.
func (t *Turn) Resume(p Prompt) *Outcome {
	p.Parts, p.Shown, p.resume, t.resumes = nil, nil, true, true
	return t.Run(p)
}

// giveBack gives back what the turn has kept of the session since it was admitted.
func (t *Turn) giveBack() {
	if t.keep != nil {
		t.keep()
		t.keep = nil
	}
}

// reopen asks again what was answered for a turn that did not begin. Nothing has been carried out.
func (s *Session) reopen(ctx context.Context) {
	s.mu.Lock()
	maps.DeleteFunc(s.questions, func(_ string, q *question) bool { return q.call != nil && q.taken() != nil })
	s.mu.Unlock()
	c, done, err := s.use(ctx, false)
	if err != nil {
		return // whoever uses the session next is asked
	}
	defer done()
	s.ask(c, false)
}

// takeResults returns the answers for a turn that follows a pending one, and closes the
// questions: later answers are refused.
func (s *Session) takeResults(c *conversation) *agent.DeferredResults {
	s.mu.Lock()
	var all, open []*question
	for id, q := range s.questions {
		if q.call != nil {
			delete(s.questions, id)
			all = append(all, q)
		}
	}
	s.mu.Unlock()
	results := new(agent.DeferredResults)
	for _, q := range all {
		q.close()
		switch a := q.taken(); {
		case a == nil:
			open = append(open, q)
		case a.Result != nil:
			results.Supply(q.call.Key(), *a.Result)
		default:
			results.Decide(q.call.Key(), *a.Decision)
		}
	}
	slices.SortFunc(open, func(a, b *question) int { return strings.Compare(a.entity.ID, b.entity.ID) })
	for _, q := range open {
		e := q.entity
		e.Status = view.Cancelled
		if c.Fold().Get(e.ID) != nil { // a rewind may have removed it
			c.Report(&e)
		}
	}
	return results
}
