// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// session is a conversation with the client: what the agent remembers, and the turns that are running or wait.
type session struct {
	id      acp.SessionID
	info    *deps.Session
	client  *sessionClient
	tracker *deps.Tracker
	convo   conversation

	workspace *Workspace
	work      *workspace.Session // on workspace
	ending    sync.Once
	ended     chan struct{} // closed when the commands have ended; see endCommands

	release sync.Once

	mu     sync.Mutex
	closed error   // why no more turns begin, as the answer to a prompt; nil while they do
	turns  []*turn // that have not been answered, in order; at most one of them runs

	history []*model.Message // the running turn's
}

// conversation is the typed side of a session.
type conversation interface {
	// run runs the agent once. It returns the whole history also if it fails, unless the run has not begun.
	run(ctx context.Context, in *runInput, p *projection) (history []*model.Message, err error)
	// work returns the workspace session of the dependencies, which need not be the bridge's. It may be nil.
	work() *workspace.Session
	// release frees the session's dependencies.
	release(ctx context.Context) error
}

// runInput is what a run is given.
type runInput struct {
	prompt  *acp.PromptRequest
	parts   []model.Part
	links   []*acp.ResourceLink // in the prompt
	history []*model.Message
	runID   string
}

// admit registers a turn, so that the next message of the session finds it.
func (s *session) admit(ctx context.Context, policy BusyPolicy) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return nil, s.closed
	}
	s.turns = slices.DeleteFunc(s.turns, (*turn).isAnswered)
	if policy == BusyReject && slices.ContainsFunc(s.turns, (*turn).isGoing) {
		return nil, acp.Errorf(acp.CodeInvalidRequest, "the session is busy: wait for the running turn to end, or cancel it").
			WithData(errorData{Kind: KindBusy, SessionID: s.id})
	}
	t := newTurn(ctx, s)
	t.before = slices.Clone(s.turns)
	s.turns = append(s.turns, t)
	return t, nil
}

// end cancels all turns and lets no more begin: prompts are answered with the given error.
func (s *session) end(cause, answer error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = answer
	for _, t := range s.turns {
		t.cancel(cause)
	}
}

// endCommands ends the commands of the session and lets none begin. The result is closed when they have ended. It may be called several
// times.
func (s *session) endCommands(ctx context.Context) <-chan struct{} {
	s.ending.Do(func() {
		s.ended = make(chan struct{})
		go func() {
			defer close(s.ended)
			s.closeWork(ctx)
		}()
	})
	return s.ended
}

func (s *session) closeWork(ctx context.Context) {
	all := []*workspace.Session{s.work}
	if s.convo != nil {
		if own := s.convo.work(); own != nil && own != s.work {
			all = append(all, own)
		}
	}
	var done sync.WaitGroup
	for _, work := range all {
		done.Go(func() { _ = work.Close(ctx) }) // a client that is gone has ended its terminals
	}
	done.Wait()
}

// wait waits until the turns have ended, and reports whether they have before ctx.
func (s *session) wait(ctx context.Context) bool {
	for _, t := range s.unfinished() {
		select {
		case <-t.ended:
		case <-ctx.Done():
			if !t.isEnded() {
				return false
			}
		}
	}
	return true
}

// unfinished returns the turns that have not ended.
func (s *session) unfinished() []*turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.turns), (*turn).isEnded)
}

func unknownSession(id acp.SessionID) error {
	return acp.Errorf(acp.CodeResourceNotFound, "resource not found: session %q", id).
		WithData(errorData{Kind: KindSession, SessionID: id})
}
