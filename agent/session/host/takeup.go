// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// takeUp continues the turn that was cut off. The outcome is nil if there is none.
func (s *Session) takeUp(ctx context.Context) (*Outcome, error) {
	t, err := s.admitFirst(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", session.ErrHeld, err)
	}
	defer t.passOn()
	defer t.end()
	defer t.closeInbox()
	s.asking.Add(1)
	defer s.asking.Add(-1)
	c, done, err := s.useCutOff(ctx, t)
	if err != nil || c == nil {
		t.left = true
		return nil, err
	}
	defer done()
	t.c = c
	t.live.Store(c)
	o := &Outcome{Reason: transcript.Cancelled}
	defer func() { t.outcome = t.session.explained(o) }()
	err = t.goOn(ctx, &Prompt{Wait: true}, o)
	t.left = t.left || err != nil
	return o, err
}

// admitFirst registers a turn that runs before those that wait until they can begin: they cannot
// while a turn that was cut off has no end.
func (s *Session) admitFirst(ctx context.Context) (*Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return nil, s.closed
	}
	s.turns = slices.DeleteFunc(s.turns, (*Turn).isEnded)
	if slices.ContainsFunc(s.turns, func(t *Turn) bool { return t.first || t.isGoing() && (!t.begins || t.live.Load() != nil) }) {
		return nil, ErrBusy
	}
	t := &Turn{
		session: s, first: true, ended: make(chan struct{}), passed: make(chan struct{}),
		inbox: new(agent.Inbox),
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	s.turns = slices.Insert(s.turns, 0, t)
	s.stirred()
	return t, nil
}

// ahead returns the turn that resumes one that was cut off, unless it is t. It is nil if there is
// none.
func (s *Session) ahead(t *Turn) *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.turns {
		if o.first && o != t && !o.isEnded() {
			return o
		}
	}
	return nil
}

// letFirst waits for the turn that resumes one that was cut off.
func (t *Turn) letFirst() error {
	for {
		o := t.session.ahead(t)
		if o == nil {
			return nil
		}
		select {
		case <-o.ended:
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
	}
}

// useCutOff is like use, for a session whose last turn was cut off, which it does not settle. The
// conversation is nil if no turn was. If a person has stopped that, t is stopped, and has no
// dependencies.
func (s *Session) useCutOff(ctx context.Context, t *Turn) (c *conversation, done func(), err error) {
	if err := s.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer func() { <-s.changing }()
	if !s.opened {
		return nil, nil, ErrClosed
	}
	if s.w == nil && s.conversation == nil {
		if err := s.read(ctx); err != nil {
			return nil, nil, err
		}
	}
	c = s.conversation
	if s.w != nil || c == nil || c.feed == nil { // it is settled
		return nil, nil, nil
	}
	t.known(c.Going())
	if err := s.acquire(ctx); err != nil {
		return nil, nil, err
	}
	c.feed.end()
	c.feed = nil
	err = s.catchUp(ctx, c)
	cut := c.Going() != ""
	if err == nil && cut {
		c.Hold(s.w)
		c.w = s.w
		if err = t.lookForStop(ctx, c.Interrupted()); err == nil && !t.isStopped() {
			err = s.wake(ctx)
		}
	} else if err == nil {
		err = s.take(ctx, c)
	}
	if err != nil || !cut {
		if err != nil {
			s.forgetConversation(errDropped)
		}
		s.let(ctx)
		return nil, nil, err
	}
	return c, s.writing(ctx), nil
}

// lookForStop stops the turn if a person has stopped the one that it takes up. From now on, that is
// heard of.
func (t *Turn) lookForStop(ctx context.Context, turn string) error {
	t.known(turn)
	is, err := t.session.isStopped(ctx, turn)
	if is {
		t.Cancel(ErrCancelled)
	}
	return err
}

// goOn continues the turn that was cut off, unless that was tried too often, a person has stopped
// it, or a call may have run that must not run twice: then a person is asked. A person who stops it
// ends the turn's context, not ctx.
func (t *Turn) goOn(ctx context.Context, p *Prompt, o *Outcome) error {
	s, c := t.session, t.c
	o.Turn = c.Interrupted()
	if t.isStopped() {
		return t.giveUp(ctx, o)
	}
	attempts := c.Attempts()
	doubt, whole, err := s.doubts(t.ctx, c)
	if err != nil && t.isStopped() {
		return t.giveUp(ctx, o)
	}
	if err != nil {
		return err
	}
	if attempts >= s.host.attempts || doubt || !whole {
		if doubt && whole && attempts < s.host.attempts {
			c.Doubt()
		}
		return t.giveUp(ctx, o)
	}
	err = c.Attempt(t.ctx)
	var now *transcript.Turn
	if err == nil {
		now, err = c.Resume(t.ctx)
	}
	if err != nil && t.isStopped() {
		return t.giveUp(ctx, o)
	}
	if err != nil {
		return err
	}
	t.id = now.ID()
	t.Notice("info", fmt.Sprintf(
		"The program ended. The turn goes on (attempt %d of %d).", attempts+1, s.host.attempts,
	))
	in, err := t.input(p)
	var checked *agent.Input
	if err == nil {
		checked, err = s.instance.input(t.ctx, in, now.Prompt())
	}
	if err != nil {
		wrong := now.Finish(context.WithoutCancel(t.ctx), c.Messages(), reasonOf(t.ctx, err))
		s.unended.Store(wrong != nil)
		return errors.Join(err, wrong)
	}
	t.finish(p, o, now, in, checked)
	s.drop(c) // it is shown as the store has it
	return nil
}

// giveUp ends the turn that was cut off with what is known of it.
func (t *Turn) giveUp(ctx context.Context, o *Outcome) error {
	s, c := t.session, t.c
	if err := c.Settle(ctx); err != nil {
		return err
	}
	s.unended.Store(false)
	o.Reason = transcript.Interrupted
	s.drop(c) // it is shown as it was settled
	_, done, err := s.use(ctx, false)
	if err == nil {
		done()
	}
	return err
}

// doubts reports whether a call of the turn that was cut off may have run and must not run twice.
// whole is false if an agent had begun inside one, which cannot begin again.
func (s *Session) doubts(ctx context.Context, c *conversation) (doubt, whole bool, err error) {
	names, whole := c.Unknown()
	if len(names) == 0 || !whole {
		return false, whole, nil
	}
	all, err := s.instance.tools(ctx)
	if err != nil {
		return false, false, err
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name })
		if i < 0 || !all[i].repeats() {
			return true, whole, nil
		}
	}
	return false, whole, nil
}

// repeats reports whether a call can be made twice.
func (t *Tool) repeats() bool {
	switch t.Kind {
	case toolset.KindRead, toolset.KindSearch, toolset.KindThink, toolset.KindFetch:
		return true
	}
	return t.Idempotent
}

// own makes an item of the inbox the prompt of the turn, which was sent elsewhere.
func (t *Turn) own(i *session.Item) {
	item := *i
	t.item, t.after, t.orphan = &item, t.session.Info().Head, true
	t.session.mu.Lock()
	t.queued = i.ID
	t.session.mu.Unlock()
}

// waitsHere reports whether a turn here waits with a prompt of the inbox.
func (s *Session) waitsHere(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.turns, func(t *Turn) bool { return t.queued == id && !t.isEnded() })
}
