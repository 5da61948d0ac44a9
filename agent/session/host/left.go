// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// leaving bounds how long a turn that was cut off is left to [Host.Serve].
const leaving = 30 * time.Second

// leftToServe reports whether the turn that was cut off is left to Serve, which continues it in
// a moment. Until then the session counts as held by the process that was killed: an answer would
// end the turn. The caller holds changing.
func (s *Session) leftToServe(c *conversation) bool {
	info := s.Info()
	if c.Going() == "" || !s.host.takesUp(&info) {
		return false
	}
	if at := c.Taken(); s.cutAt != at || s.cutSince.IsZero() {
		s.cutAt, s.cutSince = at, time.Now()
	}
	return time.Since(s.cutSince) < leaving
}

// isLeft reports whether a turn is left to Serve, as far as is known here.
func (s *Session) isLeft(ctx context.Context) bool {
	if s.enter(ctx) != nil {
		return false
	}
	defer func() { <-s.changing }()
	c := s.conversation
	return s.w == nil && c != nil && c.feed != nil && s.leftToServe(c)
}

// advance has the cut off turn of a session continued. The lease was taken and given back, so
// the store does not tell Serve of it any more.
func (h *Host) advance(id string) {
	if _, ok := h.runner.(native); !ok {
		_ = h.runner.Wake(h.life, id) // or it is found later
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.attending.Add(1)
	served := h.served
	go func() {
		defer h.attending.Done()
		if served != nil {
			select {
			case <-served:
			case <-h.life.Done():
				return
			}
		}
		_, _ = turns{h}.Advance(h.life, id) // what went wrong is shown in the session
	}()
}

// errLeft is the error for a session with a turn that was cut off and is left to Serve.
func (s *Session) errLeft() error {
	return &session.Error{Op: "open", Session: s.id, Holder: "a process that was killed", Err: session.ErrHeld}
}

// early tells an answer that came before its question was asked, by a turn that was taken up or has
// just ended, from one that is too late: it waits.
func (s *Session) early(ctx context.Context, i *session.Item, question string, err error) error {
	if !errors.Is(err, ErrNoQuestion) || time.Since(i.Time) > leaving {
		return err
	}
	if !s.asksSoon(s.shownQuestion(ctx, question)) {
		return err
	}
	return fmt.Errorf("%w: %w", session.ErrHeld, err)
}

// asksSoon reports whether a question that is shown like this, or not at all, may soon be asked.
func (s *Session) asksSoon(q *view.Entity) bool {
	return q != nil && q.Status == view.Pending || s.asking.Load() > 0 && (q == nil || q.Status == view.Cancelled)
}

// nothingCut marks the context of who knows that no turn was cut off.
type nothingCut struct{}

// All ids of questions begin with questionPrefix.
var questionPrefix = strings.TrimSuffix(transcript.PendingID("", ""), "/pending/")

// matchSoon is like match. It waits for a question that is shown, and that a turn which was taken
// up, or has just ended, has not asked yet, unless ctx says that none is: see nothingCut.
func (s *Session) matchSoon(
	ctx context.Context, c *conversation, id, by string, a Answer,
) (*question, Answer, error) {
	for end := time.Now().Add(leaving / 6); ; {
		q, b, err := s.match(ctx, id, by, a)
		if !errors.Is(err, ErrNoQuestion) || !strings.HasPrefix(id, questionPrefix) || time.Now().After(end) {
			return q, b, err
		}
		if ctx.Value(nothingCut{}) != nil && len(s.running()) == 0 {
			return q, b, err
		}
		if !s.asksSoon(c.Fold().Get(id)) {
			return q, b, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, Answer{}, context.Cause(ctx)
		}
	}
}

// matchShown checks an answer to a question of a session that another process has, as it is shown
// here. It waits for a question that is not shown yet: a process that takes a turn up asks it
// again.
func (s *Session) matchShown(ctx context.Context, id, by string, a Answer) (Answer, error) {
	for end := time.Now().Add(leaving / 6); ; {
		e := s.shownQuestion(ctx, id) // which reads the conversation, if that was forgotten
		_, b, err := s.match(ctx, id, by, a)
		if e != nil || !errors.Is(err, ErrNoQuestion) || !strings.HasPrefix(id, questionPrefix) || time.Now().After(end) {
			return b, err
		}
		if wrong := (&Turn{ctx: ctx}).waitFor(s.news()); wrong != nil {
			return b, wrong
		}
	}
}
