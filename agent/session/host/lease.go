// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// noRules is the value of a policy without rules.
const noRules = `{"version":1,"rules":[]}`

// acquire acquires the session, and reads what the store knows about it. The caller holds changing.
func (s *Session) acquire(ctx context.Context) error {
	w, err := session.Open(ctx, &patient{Store: s.host.store, to: s}, s.id, session.Claim{Holder: s.host.holder})
	if err != nil {
		return err
	}
	s.unended.Store(w.Lease().Head > 0) // until it was read
	if err := s.lookUp(ctx); err != nil {
		return errors.Join(err, s.giveBack(ctx, w))
	}
	s.w = w
	return nil
}

// lookUp reads what the store knows about the session.
func (s *Session) lookUp(ctx context.Context) error {
	info, err := s.host.store.Get(ctx, s.id)
	if err != nil {
		return err
	}
	rules := info.Values[rulesValue]
	if rules == nil {
		rules = json.RawMessage(noRules)
	}
	s.know(&info)
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(rules) == s.stored { // what was remembered since is not stored yet
		return nil
	}
	if wrong := json.Unmarshal(rules, &s.policy); wrong != nil {
		return fmt.Errorf("host: open session %s: value %q: %w", s.id, rulesValue, wrong)
	}
	s.rules, s.stored = s.policyText(), string(rules)
	return nil
}

// open opens the session. It settles a turn that was cut off, and reads the conversation. While
// somebody else writes to the session, it is followed.
func (s *Session) open(ctx context.Context) error {
	err := s.lookUp(ctx)
	if err == nil {
		err = s.read(ctx)
	}
	info := s.Info()
	if err == nil && !(s.conversation.Going() != "" && (s.host.away || s.host.takesUp(&info))) { // else Serve goes on with the turn
		if err = s.hold(ctx); errors.Is(err, session.ErrHeld) {
			err = nil
		} else if err == nil {
			if err = s.read(ctx); err == nil {
				err = s.wake(ctx)
			}
		}
	}
	if err != nil {
		s.forgetConversation(err)
		if s.w != nil {
			err = errors.Join(err, s.giveBack(ctx, s.w))
			s.w = nil
		}
		return err
	}
	s.opened = true
	s.let(ctx)
	s.rest()
	return nil
}

// openedValue is the name of the session's value that marks an empty session as open in more than
// one process, so that the one that has made it does not remove it.
const openedValue = "opened"

// mark marks a session that is empty, and that another process has made.
func (s *Session) mark(ctx context.Context) error {
	info := s.Info()
	if info.Head > 0 || !s.host.kept || lasts(&info) {
		return nil
	}
	return s.update(ctx, session.Change{Values: map[string]json.RawMessage{openedValue: json.RawMessage("true")}})
}

// read reads the conversation. The caller holds changing.
func (s *Session) read(ctx context.Context) error {
	if s.conversation != nil {
		return nil
	}
	c := &conversation{epoch: rand.Text()}
	var err error
	c.Conversation, err = transcript.Follow(ctx, s.host.store, s.id, transcript.Options{
		Render: s.host.render, Window: s.host.window, Prices: s.host.prices, Currency: s.host.money, ErrorText: s.host.ErrorText,
		First: s.own(),
	})
	if err != nil {
		return err
	}
	if s.w != nil {
		err = s.take(ctx, c)
	} else {
		c.feed = s.follow(c)
	}
	if err == nil {
		s.conversation = c
		s.showWaiting(ctx, c)
	}
	return err
}

// take goes on with a conversation that has all entries, for the holder of the lease. The caller
// holds changing.
func (s *Session) take(ctx context.Context, c *conversation) error {
	if c.Going() != "" && s.runsAway() {
		return fmt.Errorf("host: session %s: its runner continues a turn: %w", s.id, session.ErrHeld)
	}
	if s.leftToServe(c) {
		s.host.advance(s.id)
		return s.errLeft()
	}
	c.Hold(s.w)
	c.w = s.w
	if err := c.Settle(ctx); err != nil {
		return err
	}
	s.unended.Store(false)
	s.ask(c, false)
	if err := c.Keep(ctx); err != nil {
		s.logError("the questions of a run are not recorded", err)
	}
	return nil
}

// hold acquires the session to write to it, and catches up with what others have written. The
// caller holds changing.
func (s *Session) hold(ctx context.Context) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	c := s.conversation
	switch {
	case c == nil:
	case c.feed != nil:
		c.feed.end()
		c.feed = nil
		err := s.catchUp(ctx, c)
		if err == nil {
			err = s.take(ctx, c)
		}
		if err != nil {
			s.forgetConversation(errDropped)
			s.let(ctx)
			return err
		}
	case s.w.Lease().Head == c.head:
		c.Hold(s.w)
		c.w = s.w
		s.unended.Store(false) // a conversation is not kept otherwise
	default: // others have written
		s.forgetConversation(errDropped)
	}
	return nil
}

// catchUp reads what others have written since.
func (s *Session) catchUp(ctx context.Context, c *conversation) error {
	for e, err := range s.host.store.Load(ctx, s.id, c.Taken()) {
		if err == nil {
			err = c.Take(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetConversation makes the next use read the conversation again. Those who follow it are told
// cause, if there is one. The caller holds changing.
func (s *Session) forgetConversation(cause error) {
	c := s.conversation
	s.conversation = nil
	if c == nil {
		return
	}
	if c.feed != nil {
		c.feed.end()
	}
	if cause != nil {
		c.Fold().End(cause)
	}
	s.mu.Lock()
	s.questions = nil
	s.mu.Unlock()
}

// use keeps the session awake until done is called, with its dependencies if deps is true, and
// holds its lease. While another process does, the error wraps [session.ErrHeld].
func (s *Session) use(ctx context.Context, deps bool) (c *conversation, done func(), err error) {
	return s.useHeld(ctx, deps, deps)
}

// useHeld is like use. If ask is true, it asks the store first whether another process has taken
// over the session.
func (s *Session) useHeld(ctx context.Context, deps, ask bool) (c *conversation, done func(), err error) {
	if err := s.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer func() { <-s.changing }()
	if !s.opened {
		return nil, nil, ErrClosed
	}
	if s.w == nil {
		err = s.hold(ctx)
	} else {
		err = s.regain(ctx, ask)
	}
	if err != nil {
		return nil, nil, err
	}
	if t, ok := ctx.Value(beginning{}).(*Turn); ok {
		t.began(time.Now())
	}
	if err = s.read(ctx); err == nil && deps {
		if err := s.moveOn(ctx); err != nil {
			s.logError("the dependencies of a closed place were not released", err)
		}
		err = s.wake(ctx)
	}
	if err != nil {
		s.let(ctx)
		return nil, nil, err
	}
	return s.conversation, s.writing(ctx), nil
}

// writing keeps the session awake, and its lease, until done is called.
func (s *Session) writing(ctx context.Context) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	s.writes++
	return func() {
		s.mu.Lock()
		s.uses--
		s.writes--
		last := s.writes == 0
		s.mu.Unlock()
		if last && s.host.kept {
			s.part(ctx)
		}
		s.rest()
	}
}

// look is like use, but only reads: whoever has the lease. The conversation has at least what the
// store had when look was called.
func (s *Session) look(ctx context.Context) (c *conversation, done func(), err error) {
	c, done, f, head, err := s.lookNow(ctx)
	if err == nil && f != nil {
		if err = f.upTo(ctx, c, head); err != nil {
			done()
		}
	}
	return c, done, err
}

// lookNow is like look, and does not wait: it returns what feeds the conversation, nil if nothing
// does, and up to which entry.
func (s *Session) lookNow(ctx context.Context) (
	c *conversation, done func(), f *feed, head int64, err error,
) {
	if err := s.enter(ctx); err != nil {
		return nil, nil, nil, 0, err
	}
	defer func() { <-s.changing }()
	if !s.opened {
		return nil, nil, nil, 0, ErrClosed
	}
	if s.w != nil && s.w.Lost() {
		s.w = nil
		s.forgetConversation(errDropped)
	}
	if s.w == nil && s.host.kept {
		if info, err := s.host.store.Get(ctx, s.id); err == nil { // else what is known is shown
			head = info.Head
			s.mu.Lock()
			was := s.isElsewhere()
			begun := s.heldBy(info.Holder) && !was
			s.mu.Unlock()
			if begun { // which looks again until it is over
				s.hear()
			}
		}
		if c := s.conversation; c != nil && c.feed == nil && head > c.head {
			s.forgetConversation(errDropped)
		}
	}
	if err := s.read(ctx); err != nil {
		return nil, nil, nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	return s.conversation, func() {
		s.mu.Lock()
		s.uses--
		s.mu.Unlock()
		s.rest()
	}, s.conversation.feed, head, nil
}

// part gives the lease back if nothing here writes to the session. In an outage of the store that goes
// on after ctx has ended.
func (s *Session) part(ctx context.Context) {
	late, stop := lingering(ctx)
	over := make(chan struct{})
	s.host.beside(func() {
		defer close(over)
		defer stop()
		_ = s.enter(context.Background())
		s.let(late)
		<-s.changing
	})
	select {
	case <-over:
	case <-late.Done():
	}
}

// let gives the lease back if nothing here writes to the session. The caller holds changing.
func (s *Session) let(ctx context.Context) {
	s.mu.Lock()
	busy := s.writes > 0
	s.mu.Unlock()
	if busy || s.w == nil || !s.host.kept {
		return
	}
	late, stop := lingering(ctx)
	defer stop()
	w := s.w
	s.w = nil
	saved := s.saveRules(late, w)
	if c := s.conversation; c != nil {
		_, _ = w.Append(late) // of nothing: after an append that has failed, the head is not known
		if late.Err() == nil {
			c.head = w.Head()
		}
	}
	if s.unended.Load() || late.Err() != nil {
		s.forgetConversation(errDropped)
	}
	err := errors.Join(saved, s.giveBack(late, w))
	if errors.Is(err, session.ErrLeaseLost) || errors.Is(err, session.ErrNotFound) {
		s.forgetConversation(errDropped)
	} else if err != nil {
		s.logError("a session was not given back", err)
	}
}

// regain acquires the session again if another process has taken it over, and makes the next use
// read it again: it may have other turns now. While another process has it, the error names the
// holder. If ask is true, it asks the store first. The caller holds changing.
func (s *Session) regain(ctx context.Context, ask bool) error {
	if ask && s.host.kept {
		_, _ = s.w.Append(ctx) // of nothing; what is wrong otherwise is found by the first entry
	}
	if !s.w.Lost() {
		return nil
	}
	s.w = nil
	s.forgetConversation(errDropped)
	return s.acquire(ctx)
}

// yield gives the session back when it is closed. An empty one is removed unless another process
// has used it, which the store knows. The caller holds changing.
func (s *Session) yield(ctx context.Context) error {
	late, stop := lingering(ctx)
	defer stop()
	if s.w == nil && s.host.kept {
		s.mu.Lock()
		changed := s.policyText() != s.rules
		s.mu.Unlock()
		if !changed {
			return s.removeEmpty(late)
		}
		if err := s.acquire(late); err != nil {
			return elsewhere(err)
		}
	}
	w := s.w
	s.w = nil
	if w == nil {
		return nil
	}
	saved := s.saveRules(late, w)
	err := s.giveBack(late, w)
	if errors.Is(err, session.ErrLeaseLost) || errors.Is(err, session.ErrNotFound) {
		return nil // it is somebody else's, or gone, and so is what is known of it here
	}
	err = errors.Join(saved, err)
	if !s.host.kept {
		return errors.Join(err, s.host.remove(ctx, s.id))
	}
	if late.Err() != nil || w.Head() > 0 {
		return err
	}
	return errors.Join(err, s.removeEmpty(late))
}

// elsewhere leaves out that the session is somebody else's, or gone.
func elsewhere(err error) error {
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrHeld) {
		return nil
	}
	return err
}

// removeEmpty removes the session if nobody has used it.
func (s *Session) removeEmpty(ctx context.Context) error {
	info, err := s.host.store.Get(ctx, s.id)
	if err == nil && info.Head == 0 && info.Waiting == 0 && info.Holder == "" && !lasts(&info) {
		err = s.host.remove(ctx, s.id)
	}
	return elsewhere(err)
}

// updateHeld changes the session's values for the holder of a lease. A lease that was lost changes nothing.
func (s *Session) updateHeld(ctx context.Context, w *session.Writer, c session.Change) error {
	late, stop := lingering(ctx)
	defer stop()
	if _, err := w.Append(late); err != nil { // of nothing
		return err
	}
	return s.update(ctx, c)
}
