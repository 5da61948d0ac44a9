// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"time"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// ended is how the last turn of a session has ended here.
type ended struct {
	outcome *host.Outcome
	at      time.Time
}

// note keeps how a turn has ended, for streams of its answer.
func (s *openSession) note(o *host.Outcome) {
	if s.live.fleeting != nil { // nobody finds it
		return
	}
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	s.live.ended = ended{o, time.Now()}
}

// Running reports whether a turn of the session is running, or waits to, in this process.
func (s *openSession) Running() bool {
	running, _ := s.handler.isRunning(s.live)
	return running
}

// Idle returns a channel that is closed when no turn of the session is running in any process, or when ctx ends.
func (s *openSession) Idle(ctx context.Context) <-chan struct{} {
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		for {
			running, flipped := s.handler.isRunning(s.live)
			working, moved := s.Working()
			if !running && !working {
				return
			}
			select {
			case <-flipped:
			case <-moved:
			case <-ctx.Done():
				return
			}
		}
	}()
	return idle
}

// Last returns how the last turn of the session has ended in this process, nil if there was none.
func (s *openSession) Last() *host.Outcome {
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	return s.live.ended.outcome
}

// Since returns how long ago the last turn of the session has ended in this process. ok is false if there was none.
func (s *openSession) Since() (d time.Duration, ok bool) {
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	return time.Since(s.live.ended.at), s.live.ended.outcome != nil
}

// Asked returns the id of the last prompt of the session: of one that has begun in this process, even if it is not shown yet, or of a snapshot. It is
// empty if there is none.
func (s *openSession) Asked(snapshot *view.Snapshot) string {
	s.handler.mu.Lock()
	prompt := s.live.prompt
	s.handler.mu.Unlock()
	if prompt != "" && s.Running() && snapshot.Get(prompt) == nil {
		return prompt
	}
	all := exchangesOf(snapshot)
	if last := all[len(all)-1].Prompt; last != nil {
		return last.ID
	}
	return ""
}
