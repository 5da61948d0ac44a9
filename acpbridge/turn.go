// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// farewell bounds how long a turn that was cancelled tries to tell a client that reads slowly how its tool calls ended.
const farewell = 250 * time.Millisecond

// turn is one prompt from its registration to its answer.
type turn struct {
	session *session
	ctx     context.Context // of the prompt's handler, and cancelled by the bridge too
	cancel  context.CancelCauseFunc
	before  []*turn // that have to be answered before this one begins

	hosted   atomic.Pointer[host.Turn] // nil before the turn begins
	ended    chan struct{}             // closed when the turn has ended, and its answer is about to go out
	failed   bool                      // the answer is an error; valid once ended is closed
	answered chan struct{}             // closed when an answer that is no error stands in the order of the wire
}

func newTurn(ctx context.Context, s *session) *turn {
	t := &turn{session: s, ended: make(chan struct{}), answered: make(chan struct{})}
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
	hosted, err := t.session.hosted.AdmitWith(t.ctx, host.BusyQueue)
	if err != nil {
		return nil, failureOf(err)
	}
	t.session.client.enter(t.ctx, hosted)
	defer t.session.client.leave()
	t.hosted.Store(hosted)

	r := newRenderer(t.ctx, t.session, s.log)
	var end *ending
	o := hosted.Run(host.Prompt{
		Parts: in.parts, Shown: promptContent(in.prompt.Prompt), Meta: in.prompt, Asker: t.session.asker(),
		Show: r.show, Observe: func(e *agent.Event) { r.custom(e, hosted) },
		Began: func(turn *host.Turn) { s.tellNews(r, turn) },
		More: func(*host.Turn) []model.Part {
			work := t.session.made().Workspace
			if work == nil {
				return nil
			}
			return linkedFiles(t.ctx, work.Workspace(), in.links, s.media, s.linkedFiles)
		},
		Ending: func(turn *host.Turn, o *host.Outcome) string {
			if end = cancelled(t.ctx); end == nil {
				end = endingOf(o.Err, o.Finish)
			}
			s.tellNews(r, turn)
			r.close()
			return end.notice
		},
		Closed: func(turn *host.Turn) { r.report(t.session.tracker.EndRun(r.ctx, turn.ID())) },
	})
	defer r.done()
	if end == nil {
		if end = cancelled(t.ctx); end == nil {
			end = endingOf(o.Err, o.Finish)
		}
	}
	s.logEnding(t, end, o.Err)
	return end.answer()
}

// asker asks the user of the editor, by the dependencies that the program has made.
func (s *session) asker() toolset.Asker {
	return toolset.AskerFuncs{
		OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			return editorAsker(s.made()).Approve(ctx, r)
		},
		OnAnswer: func(ctx context.Context, q toolset.Question) (toolset.Reply, error) {
			return editorAsker(s.made()).Answer(ctx, q)
		},
	}
}

// runningTools returns the names of the tools that have not returned.
func (t *turn) runningTools() []string {
	if hosted := t.hosted.Load(); hosted != nil {
		return hosted.Running()
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

// runInput is what a prompt comes to.
type runInput struct {
	prompt *acp.PromptRequest
	parts  []model.Part
	links  []*acp.ResourceLink // in the prompt
}
