// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// Working reports whether a turn of the session runs in any process, or waits to run here, and
// returns a channel that is closed when that may have changed. That a process which ran a turn was
// killed is noticed within two seconds.
func (s *Session) Working() (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moving == nil {
		s.moving = make(chan struct{})
	}
	working := s.isElsewhere() || slices.ContainsFunc(s.turns, func(t *Turn) bool { return !t.isEnded() })
	return working, s.moving
}

// stirred tells those who wait that Working may report something else. The caller has mu.
func (s *Session) stirred() {
	if s.moving != nil {
		close(s.moving)
		s.moving = nil
	}
}

// isElsewhere reports whether another process has the session. The caller has mu.
func (s *Session) isElsewhere() bool {
	return s.closed == nil && s.info.Holder != "" && s.info.Holder != s.host.holder
}

// know notes how the store describes the session. It reports whether another process has it.
func (s *Session) know(info *session.Info) (elsewhere bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.info.Holder
	s.info = *info
	s.info.Holder = before
	return s.heldBy(info.Holder)
}

// heldBy notes which process has the session. It reports whether that is another one. The caller
// has mu.
func (s *Session) heldBy(holder string) (elsewhere bool) {
	was := s.isElsewhere()
	s.info.Holder = holder
	if elsewhere = s.isElsewhere(); was != elsewhere {
		s.stirred()
	}
	return elsewhere
}

// brief bounds how long what must not wait for a turn waits for another process that has the
// session without one: it opens the session, or has ended a turn.
const brief = time.Second

// isTaken reports whether another process that has the session runs a turn, or has had the session
// for longer than it takes to open it. Else it waits a moment.
func (s *Session) isTaken(ctx context.Context, since time.Time) bool {
	c, done, err := s.look(ctx)
	if err != nil {
		return true
	}
	defer done()
	return c.Going() != "" || !again(ctx, since)
}

// again waits a moment, and reports whether to try again what was refused because another process
// has the session.
func again(ctx context.Context, since time.Time) bool {
	if time.Since(since) >= brief {
		return false
	}
	select {
	case <-time.After(brief / 50):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// useSoon is like use. It waits for another process that has the session without a turn: see brief.
func (s *Session) useSoon(
	ctx context.Context, deps bool,
) (c *conversation, done func(), err error) {
	for begun := time.Now(); ; {
		c, done, err = s.useHeld(ctx, deps, true)
		if !errors.Is(err, session.ErrHeld) || s.isTaken(ctx, begun) {
			return c, done, err
		}
	}
}
