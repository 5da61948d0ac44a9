// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// runsAway reports whether the turns of the session run where the host's runner says, and none of
// them runs here.
func (s *Session) runsAway() bool {
	return s.host.away && s.advancing.Load() == 0 && s.Turn() == nil
}

// wakeRunner tells the runner that something was put into the inbox.
func (s *Session) wakeRunner(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := s.host.runner.Wake(ctx, s.id); err != nil {
		s.logError("the runner was not told about the inbox", err)
	}
}

// remind tells the runner about an item that has waited for a while, in case it was not told.
func (s *Session) remind(ctx context.Context, i *session.Item) (waits bool) {
	switch i.Kind {
	case session.ItemPrompt, session.ItemCancel, session.ItemAnswer, session.ItemSetting:
	default:
		return false
	}
	if info := s.Info(); info.Holder == "" && time.Since(i.Time) > grace {
		s.wakeRunner(ctx)
	}
	return true
}

// delegates reports whether the prompt is for the runner.
func (t *Turn) delegates(p *Prompt) bool {
	s := t.session
	command := !p.Plain && s.isCommand(p.Parts)
	return s.host.away && !t.orphan && !p.resume && len(p.Parts) > 0 && !command
}

// delegate puts the prompt into the inbox, and waits for the end of the turn that the runner makes
// of it.
func (t *Turn) delegate(p *Prompt, o *Outcome) *Outcome {
	s := t.session
	s.mu.Lock() // the turn that the runner makes may run here, and does not wait for this one
	s.turns = slices.DeleteFunc(s.turns, func(other *Turn) bool { return other == t })
	s.mu.Unlock()
	close(t.passed)
	go func() {
		select {
		case <-s.gone:
			t.cancel(ErrClosed)
		case <-t.ctx.Done():
		}
	}()
	err := context.Cause(t.ctx)
	if err == nil {
		err = t.put(p)
	}
	for err == nil {
		news := s.news()
		if err = t.reread(p); err == nil {
			err = t.waitFor(news)
		}
	}
	if errors.Is(err, errElsewhere) {
		return t.elsewhere(t.id)
	}
	o.Err, o.Reason = err, reasonOf(t.ctx, err)
	s.logFailure(t, o)
	return o
}

// begun waits for the turn that resumes a pending run here, if there is one, and returns its
// outcome.
func (s *Session) begun(ctx context.Context) *Outcome {
	for _, t := range s.running() {
		s.mu.Lock()
		resumed := t.resumed
		s.mu.Unlock()
		if !resumed {
			continue
		}
		select {
		case <-t.ended:
		case <-ctx.Done():
			t.cancel(context.Cause(ctx))
			<-t.ended
		}
		return t.outcome
	}
	return nil
}

// wait waits for the turns before this one.
func (t *Turn) wait() {
	for _, b := range t.before {
		select {
		case <-b.ended:
		case <-b.passed:
		}
	}
	t.before = nil
}
