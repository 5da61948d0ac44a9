// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// farewell bounds how long a turn that was cancelled tries to tell a client that reads slowly how its tool calls ended.
const farewell = 250 * time.Millisecond

// turn is one prompt from its registration to its answer.
type turn struct {
	session *session
	ctx     context.Context // of the prompt's handler, and cancelled by the bridge too
	cancel  context.CancelCauseFunc
	runID   string
	before  []*turn // that have to be answered before this one begins

	calls    atomic.Pointer[callProjection] // nil before the turn begins
	ended    chan struct{}                  // closed when the turn has ended, and its answer is about to go out
	failed   bool                           // the answer is an error; valid once ended is closed
	answered chan struct{}                  // closed when an answer that is no error stands in the order of the wire
}

func newTurn(ctx context.Context, s *session) *turn {
	t := &turn{session: s, runID: rand.Text(), ended: make(chan struct{}), answered: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	acp.AfterResponse(ctx, func(context.Context) { close(t.answered) })
	return t
}

func (t *turn) isEnded() bool { return isClosed(t.ended) }

// isGoing reports whether the turn has neither ended nor been cancelled.
func (t *turn) isGoing() bool { return t.ctx.Err() == nil && !t.isEnded() }

// isAnswered reports whether the turn's answer has gone out. Of an error's answer the connection tells nothing but that the ctx of its
// request ends behind it.
func (t *turn) isAnswered() bool {
	return isClosed(t.answered) || t.isEnded() && t.failed && t.ctx.Err() != nil
}

// waitAnswered waits for isAnswered, or for the end of everything.
func (t *turn) waitAnswered(ending <-chan struct{}) {
	select {
	case <-t.answered:
		return
	case <-t.ended:
	}
	var done <-chan struct{}
	if t.failed {
		done = t.ctx.Done()
	}
	select {
	case <-t.answered:
	case <-done:
	case <-ending: // the answer may not go out at all
	}
}

// run is the turn itself. What it returns answers the prompt. It begins, or ends if it has been cancelled meanwhile, when the turns before
// it have been answered: none of its updates is taken for one of theirs, and prompts are answered in their order.
func (t *turn) run(s *server, in *runInput) (_ *acp.PromptResponse, err error) {
	defer func() {
		t.failed = err != nil
		close(t.ended)
	}()
	for _, b := range t.before {
		b.waitAnswered(s.ending)
	}
	t.before = nil
	if end := cancelled(t.ctx); end != nil {
		return end.answer()
	}
	t.session.client.enter(t.ctx)
	defer t.session.client.leave()

	p := newProjection(t, s)
	t.calls.Store(&p.calls)
	in.runID, in.history = t.runID, t.session.history
	s.tellNews(p)
	history, err := t.session.convo.run(t.ctx, in, p)
	end := cancelled(t.ctx)
	if end == nil {
		end = endingOf(err, p.finish)
	}
	// The protocol has the agent forget a prompt that it refused, and all that followed from it.
	if history != nil && end.stop != acp.StopReasonRefusal {
		t.session.history = history
	}
	s.tellNews(p)
	p.close(end)
	s.logEnding(t, end, err)
	return end.answer()
}

// runningTools returns the names of the tools that have not returned.
func (t *turn) runningTools() []string {
	if calls := t.calls.Load(); calls != nil {
		return calls.tools()
	}
	return nil
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (e *ending) answer() (*acp.PromptResponse, error) {
	if e.err != nil {
		return nil, e.err
	}
	return &acp.PromptResponse{StopReason: e.stop}, nil
}
