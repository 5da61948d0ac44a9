// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// Turn is a prompt from its admission to its end.
type Turn struct {
	session *Session
	ctx     context.Context
	cancel  context.CancelCauseFunc
	before  []*Turn // that have to end before this one begins
	steers  *Turn   // the running turn that reads the prompt
	busy    Busy
	item    *session.Item // the prompt in the inbox, nil if it is not there
	after   int64         // the head when it was put
	queued  string        // the id of the item, also later; guarded by the session's mu
	orphan  bool          // nobody here has sent it
	ended   chan struct{}
	passed  chan struct{} // closed when the runner has the prompt
	resumed bool          // it resumes a pending run; guarded by the session's mu
	begins  bool          // it runs, or waits until it can; guarded by the session's mu
	first   bool          // it takes up a turn that was cut off, before those that wait
	begun   time.Time     // when it had the session; guarded by the session's mu
	named   string        // the id, once the turn can be stopped by it; guarded by the session's mu
	stopped bool          // a person has stopped it; guarded by the session's mu
	left    bool          // it has no end, and nobody knows that it was stopped
	keep    func()        // gives back the session, which the turn has since the answer that it resumes

	id   string
	c    *conversation // of the goroutine that runs the turn
	live atomic.Pointer[conversation]
	show func() // nil for nobody
	// resumes is set while the turn is to resume a pending run, and has not taken the answers.
	resumes bool

	mu      sync.Mutex
	inbox   *agent.Inbox // while the turn can be steered
	steered []*Turn      // whose prompts are in the inbox, in order
	unread  bool         // the prompt was not read by the turn that it steers
	outcome *Outcome
}

// Admit registers a turn with the host's policy, which makes it visible to later calls before it
// begins. Call [Turn.Run] on the result.
func (s *Session) Admit(ctx context.Context) (*Turn, error) { return s.AdmitWith(ctx, s.host.busy) }

// AdmitWith is like [Session.Admit], with a policy.
func (s *Session) AdmitWith(ctx context.Context, busy Busy) (*Turn, error) {
	if s.isFull() {
		return nil, ErrBusy
	}
	return s.admit(ctx, busy, true)
}

// maxTurns bounds the turns of a session that have not ended: each of them knows those before it.
const maxTurns = 1000

func (s *Session) isFull() bool {
	s.mu.Lock()
	all := len(s.turns)
	s.mu.Unlock()
	return all >= maxTurns && len(s.running()) >= maxTurns
}

// admit registers a turn. If steered is true, others can steer it from now on.
func (s *Session) admit(ctx context.Context, busy Busy, steered bool) (*Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return nil, s.closed
	}
	s.turns = slices.DeleteFunc(s.turns, (*Turn).isEnded)
	going := slices.IndexFunc(s.turns, (*Turn).isGoing)
	if busy == BusyRefuse && going >= 0 {
		return nil, ErrBusy
	}
	t := &Turn{session: s, busy: busy, before: slices.Clone(s.turns), ended: make(chan struct{}), passed: make(chan struct{})}
	if busy == BusySteer && going >= 0 {
		t.steers = s.turns[going]
	}
	if steered && t.steers == nil {
		t.inbox = new(agent.Inbox)
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	s.turns = append(s.turns, t)
	s.stirred()
	return t, nil
}

// Prompt runs a turn and waits for its end. The error comes from [Session.Admit]; the run's error
// is in the outcome.
func (s *Session) Prompt(ctx context.Context, p Prompt) (*Outcome, error) {
	t, err := s.Admit(ctx)
	if err != nil {
		return nil, err
	}
	return t.Run(p), nil
}

// Cancel stops the turn that is running, also in another process, and one that was cut off and that
// [Host.Serve] is about to take up. Prompts that wait stay: see [Session.RemoveWaiting]. It does not
// wait for the turn to end.
func (s *Session) Cancel() {
	if !s.cancelHere() && s.host.kept {
		s.cancelElsewhere("")
	}
}

// cancelHere cancels the turn that runs here, or is about to. It reports whether there is one.
func (s *Session) cancelHere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		waits := t.live.Load() == nil && t.queued != "" && t.begun.IsZero()
		if !waits && !t.isEnded() {
			t.stop()
			return true
		}
	}
	return false
}

// Steer passes parts to the running turn, which reads them with its next request, or to one that
// was admitted and has not begun. It reports whether a turn took them. If that turn ends before it
// has read them, they are in its [Outcome].Unread.
func (s *Session) Steer(parts ...model.Part) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if t.isGoing() && t.send(nil, parts) {
			return true
		}
	}
	return false
}

// quiet keeps turns from beginning until done is called. It fails with [ErrBusy] if one is running.
func (s *Session) quiet(ctx context.Context) (done func(), err error) {
	t, err := s.admit(ctx, BusyRefuse, false)
	if err != nil {
		return nil, err
	}
	t.wait()
	return t.end, nil
}

// Turn returns the turn that is running, and nil if there is none.
func (s *Session) Turn() *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if t.live.Load() != nil {
			return t
		}
	}
	return nil
}

// ID returns the id of the turn and of its run. It is empty until the turn begins.
func (t *Turn) ID() string { return t.id }

// Context returns the context of the turn.
func (t *Turn) Context() context.Context { return t.ctx }

// Cancel cancels the turn. With [ErrCancelled] it is as stopped as by [Session.Cancel].
func (t *Turn) Cancel(cause error) {
	t.session.mu.Lock()
	t.stopped = t.stopped || errors.Is(cause, ErrCancelled)
	t.session.mu.Unlock()
	t.cancel(cause)
}

// Notice shows the user a message that is not part of the conversation. class is info, warning or
// error. Call it only in Began or Ending.
func (t *Turn) Notice(class, title string) { t.c.Notice(class, title); t.shown() }

// Say shows a message of the agent that is not part of the conversation. Call it only in Began or
// Ending.
func (t *Turn) Say(text string) { t.c.Say(text); t.shown() }

func (t *Turn) shown() {
	if t.show != nil {
		t.show()
	}
}

// Fold returns what the session shows, for those who follow the turn. Call it only in Began and
// Show. It must not be changed.
func (t *Turn) Fold() *view.Fold { return t.c.Fold() }

// Emit shows a change that a tool has emitted in the words of a surface, with the event that has
// it. It reports false if tools cannot show that, or the turn has ended. Any goroutine may call it.
func (t *Turn) Emit(e *agent.Event, c view.Change) bool {
	now := t.live.Load()
	return now != nil && now.Emit(e, &c)
}

// Report adds what a surface knows about an entity: see [transcript.Transcript.Report]. Any
// goroutine may call it while the turn runs. Show is not called for it. It reports false if the
// turn has ended.
func (t *Turn) Report(e *view.Entity) bool {
	c := t.live.Load()
	if c != nil {
		c.Report(e)
	}
	return c != nil
}

// Call returns a tool call as it is shown now, nil if it is not known, and the name of the agent
// inside another call whose call it is. Any goroutine may call it.
func (t *Turn) Call(id string) (call *view.Entity, agent string) {
	if c := t.live.Load(); c != nil {
		return c.Call(id)
	}
	return nil, ""
}

// Abandon shows that the open calls of the turn are not waited for, because they ignore that it was
// cancelled. Any goroutine may call it.
func (t *Turn) Abandon() {
	if c := t.live.Load(); c != nil {
		c.Abandon()
	}
}

// Running returns the names of the turn's tools that are running.
func (t *Turn) Running() []string {
	if c := t.live.Load(); c != nil {
		return c.Running()
	}
	return nil
}

func (t *Turn) isEnded() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// isGoing reports whether the turn has neither ended nor been cancelled.
func (t *Turn) isGoing() bool { return t.ctx.Err() == nil && !t.isEnded() }

func (t *Turn) end() {
	t.cancel(nil)
	t.c, t.show = nil, nil // a turn that is remembered keeps no conversation
	t.live.Store(nil)
	t.session.mu.Lock()
	close(t.ended)
	t.session.stirred()
	t.session.mu.Unlock()
}

// Run waits for earlier turns to end, and runs the turn. It must be called exactly once.
func (t *Turn) Run(p Prompt) (o *Outcome) {
	defer t.passOn()
	defer t.end()
	defer t.closeInbox()
	defer t.giveBack()
	defer func() {
		if t.resumes {
			t.session.reopen(context.WithoutCancel(t.ctx))
		}
	}()
	if t.steers != nil && t.ctx.Err() == nil && (p.Plain || !t.session.isCommand(p.Parts)) {
		if t.steers.send(t, p.Parts) {
			t.wait()
			if !t.unread {
				return &Outcome{Turn: t.steers.id, Reason: t.steers.outcome.Reason, Finish: t.steers.outcome.Finish, Err: t.steers.outcome.Err, Failure: t.steers.outcome.Failure, Steered: true}
			}
		}
	}
	o = &Outcome{Reason: transcript.Cancelled}
	defer func() { t.outcome = t.session.explained(o) }()
	defer t.leave(&p)
	if t.delegates(&p) {
		t.giveBack()
		return t.delegate(&p, o)
	}
	t.session.mu.Lock()
	t.begins = true
	t.session.mu.Unlock()
	if slices.ContainsFunc(t.before, func(b *Turn) bool { return b.isGoing() }) {
		o.Err = t.put(&p)
	}
	t.wait()
	if p.Next != nil {
		p.Next()
	}
	if o.Err == nil {
		o.Err = context.Cause(t.ctx)
	}
	if o.Err != nil {
		o.Reason = reasonOf(t.ctx, o.Err)
		t.session.logFailure(t, o)
		return o
	}
	c, done, err := t.begin(&p)
	t.giveBack() // it has the session for itself
	if errors.Is(err, errElsewhere) {
		return t.elsewhere(t.id)
	}
	if err != nil {
		o.Err, o.Reason = err, reasonOf(t.ctx, err)
		t.session.logFailure(t, o)
		return o
	}
	defer done()
	t.c = c
	t.live.Store(c)
	t.run(&p, o)
	return o
}

// begin waits until the turn can begin: until no other process has the session, if the prompt may
// wait.
func (t *Turn) begin(p *Prompt) (c *conversation, done func(), err error) {
	for begun := time.Now(); ; {
		if err := t.reread(p); err != nil {
			return nil, nil, err
		}
		if err := t.letFirst(); err != nil {
			return nil, nil, err
		}
		news := t.session.news()
		err = t.session.host.reaching(t.ctx, func() (err error) {
			t.began(time.Time{})
			c, done, err = t.session.use(context.WithValue(t.ctx, beginning{}, t), true)
			return err
		})
		if err == nil && t.session.ahead(t) != nil { // the lease is that turn's
			done()
			continue
		}
		if err == nil && p.AfterAnswers && t.session.asks() {
			done()
			return nil, nil, ErrAsked
		}
		if !errors.Is(err, session.ErrHeld) {
			return c, done, err
		}
		if t.busy == BusyRefuse {
			if t.session.isTaken(t.ctx, begun) {
				return c, done, err
			}
			continue
		}
		if t.orphan { // it is not ours, and waits for the next one
			return nil, nil, err
		}
		if err := t.put(p); err != nil {
			return nil, nil, err
		}
		if err := t.waitFor(news); err != nil {
			return nil, nil, err
		}
	}
}

// beginning is the key in a context of the turn that is about to have the session.
type beginning struct{}

// began notes when the turn had the session.
func (t *Turn) began(at time.Time) {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	t.begun = at
}

// send puts parts into the inbox of the turn. from is the turn whose prompt they are, if any.
func (t *Turn) send(from *Turn, parts []model.Part) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inbox == nil || t.ctx.Err() != nil {
		return false
	}
	t.inbox.Send(parts...)
	t.steered = append(t.steered, from)
	return true
}

// openInbox lets others steer the turn, until closeInbox.
func (t *Turn) openInbox() *agent.Inbox {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inbox == nil {
		t.inbox = new(agent.Inbox)
	}
	return t.inbox
}

// closeInbox marks the turns whose prompts were not read, and returns the unread parts of
// [Session.Steer].
func (t *Turn) closeInbox() (unread [][]model.Part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inbox == nil {
		return nil
	}
	left := t.inbox.Left()
	from := t.steered[max(0, len(t.steered)-len(left)):]
	left = left[len(left)-len(from):]
	for i := range from {
		if from[i] != nil {
			from[i].unread = true
			continue
		}
		unread = append(unread, left[i])
	}
	t.inbox, t.steered = nil, nil
	return unread
}

// reasonOf returns the reason for the end of a run.
func reasonOf(ctx context.Context, err error) string {
	var pending *agent.PendingError
	switch {
	case ctx.Err() != nil:
		return transcript.Cancelled
	case err == nil:
		return transcript.Done
	case errors.As(err, &pending):
		return transcript.Pending
	case errors.Is(err, agent.ErrContentFilter):
		return transcript.Refused
	case errors.As(err, new(*model.APIError)): // a provider that took too long was not cancelled by anybody
		return transcript.Failed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return transcript.Cancelled
	}
	return transcript.Failed
}
