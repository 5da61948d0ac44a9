// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// Follower shows a session to a client, for a [Protocol]. It counts as a stream of the user until Close.
type Follower struct {
	session *Session
	done    func()
}

// Follow reserves a stream, within the limits. Close must be called.
func (s *Session) Follow() (*Follower, error) {
	done, err := s.handler.following(s)
	if err != nil {
		return nil, err
	}
	return &Follower{s, done}, nil
}

// Close ends the stream.
func (f *Follower) Close() { f.done() }

// Run calls show with what the session shows until done is closed, show returns false, or the client is gone. The
// first update has Reset and no Changes. When done is closed, show is called once more with the complete state.
// Changes within 15 ms are combined. While nothing changes, comments are written to out.
func (f *Follower) Run(ctx context.Context, out *Stream, done <-chan struct{}, show func(*host.Update) (more bool)) {
	s := f.session
	snapshot, from, err := s.Snapshot(ctx)
	if err != nil || !show(&host.Update{Update: view.Update{Snapshot: snapshot}, Position: from, Reset: true}) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	updates := make(chan *host.Update)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		for u, err := range s.Watch(ctx, from) {
			if err != nil { // the session is closed: done follows
				return
			}
			select {
			case updates <- u:
			case <-ctx.Done():
				return
			}
		}
	})
	idle := time.NewTimer(keepAlive)
	defer idle.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	var ready <-chan *host.Update // nil during the pause after an update
	for out.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-done:
			if snapshot := s.final(ctx); snapshot != nil {
				show(&host.Update{Update: view.Update{Snapshot: snapshot}, Reset: true})
			}
			return
		case <-pause.C:
			ready = updates
		case <-idle.C:
			out.comment()
			idle.Reset(keepAlive)
		case u := <-ready:
			if !show(u) {
				return
			}
			ready = nil
			pause.Reset(frame)
			idle.Reset(keepAlive)
		}
	}
}

// ended is how the last turn of a session has ended here.
type ended struct {
	outcome  *host.Outcome
	snapshot *view.Snapshot
	at       time.Time
}

// note keeps how a turn has ended, for streams of its answer.
func (s *Session) note(o *host.Outcome) {
	if s.live.fleeting != nil { // nobody finds it
		return
	}
	snapshot, _, _ := s.Snapshot(context.Background())
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	s.live.ended = ended{o, snapshot, time.Now()}
}

// final returns what the session shows after its last turn. When the server shuts down, the session may be closed already.
func (s *Session) final(ctx context.Context) *view.Snapshot {
	if snapshot, _, err := s.Snapshot(ctx); err == nil {
		return snapshot
	}
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	return s.live.ended.snapshot
}

// Running reports whether a turn of the session is running, or waits to, in this process.
func (s *Session) Running() bool {
	running, _ := s.handler.isRunning(s.live)
	return running
}

// Idle returns a channel that is closed when no turn of the session is running any more, or when ctx ends.
func (s *Session) Idle(ctx context.Context) <-chan struct{} {
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		for {
			running, flipped := s.handler.isRunning(s.live)
			if !running {
				return
			}
			select {
			case <-flipped:
			case <-ctx.Done():
				return
			}
		}
	}()
	return idle
}

// Last returns how the last turn of the session has ended in this process, nil if there was none.
func (s *Session) Last() *host.Outcome {
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	return s.live.ended.outcome
}

// Since returns how long ago the last turn of the session has ended in this process. ok is false if there was none.
func (s *Session) Since() (d time.Duration, ok bool) {
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	return time.Since(s.live.ended.at), s.live.ended.outcome != nil
}

// Asked returns the id of the last prompt of the session: of one that has begun in this process, even if it is not shown yet, or of a snapshot. It is
// empty if there is none.
func (s *Session) Asked(snapshot *view.Snapshot) string {
	s.handler.mu.Lock()
	prompt := s.live.prompt
	s.handler.mu.Unlock()
	if prompt != "" && s.Running() && snapshot.Get(prompt) == nil {
		return prompt
	}
	all := Exchanges(snapshot)
	if last := all[len(all)-1].Prompt; last != nil {
		return last.ID
	}
	return ""
}
