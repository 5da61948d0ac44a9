// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"

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
	was := s.isElsewhere()
	s.info = *info
	elsewhere = s.isElsewhere()
	if was != elsewhere {
		s.stirred()
	}
	return elsewhere
}
