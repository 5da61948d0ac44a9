// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/toolset"
)

// farewell bounds how long a turn that was cancelled tries to tell a client that reads slowly how
// its tool calls ended.
const farewell = 250 * time.Millisecond

// turn is one prompt from its registration to its answer.
type turn struct {
	session *session
	ctx     context.Context // of the prompt's handler, and cancelled by the bridge too
	cancel  context.CancelCauseFunc
	before  []*turn // that have to be answered before this one begins

	hosted   *host.Turn
	steers   bool          // the prompt is for the turn that was running when it came
	own      bool          // the client has not asked for it with session/prompt
	told     atomic.Bool   // of an own turn: the client has been told that it has begun
	ended    chan struct{} // closed when the turn has ended, and its answer is about to go out
	failed   bool          // the answer is an error; valid once ended is closed
	end      *ending       // valid once ended is closed
	answered chan struct{} // closed when an answer that is no error stands in the order of the wire
}

func newTurn(ctx context.Context, s *session) *turn {
	t := &turn{session: s, ended: make(chan struct{}), answered: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	return t
}

func (t *turn) isEnded() bool { return isClosed(t.ended) }

// isGoing reports whether the turn has neither ended nor been cancelled.
func (t *turn) isGoing() bool { return t.cancelled() == nil && !t.isEnded() }

// cancelled returns the ending of a turn that the client, another surface or the end of the session
// has cancelled, nil if none has.
func (t *turn) cancelled() *ending {
	cause := context.Cause(t.hosted.Context())
	if t.ctx.Err() == nil && (errors.Is(cause, host.ErrCancelled) || errors.Is(cause, host.ErrClosed)) {
		return &ending{stop: acp.StopReasonCancelled}
	}
	return cancelled(t.ctx)
}

// isAnswered reports whether the turn's answer has been sent. For an error, the connection only
// ends the ctx of its request afterwards.
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

// waitLeft waits for turns that were answered before their end. Otherwise their late updates would
// be taken for this turn's.
func (t *turn) waitLeft(before []*turn) {
	for _, b := range before {
		select {
		case <-b.ended:
		case <-t.ctx.Done():
		}
	}
}

// run executes the turn and returns the answer to its prompt. It begins, or ends if it was
// cancelled while waiting, when the earlier turns have been answered. So none of its updates is
// taken for one of theirs, and prompts are answered in order.
func (t *turn) run(s *server, in *runInput) (_ *acp.PromptResponse, err error) {
	var end *ending
	shown := "" // the reason with which the turn has ended as it was shown
	before := t.before
	defer func() {
		t.failed, t.end, t.before = err != nil, end, nil
		close(t.ended)
	}()
	wait := func() {
		for _, b := range before {
			b.waitAnswered(s.ending)
		}
	}
	if end = t.cancelled(); end != nil {
		t.hosted.Run(host.Prompt{})
		wait()
		return end.answer()
	}
	r := &teller{ctx: t.ctx, session: t.session, log: s.log}
	defer func() {
		r.done()
		t.session.client.leave(t.ctx)
	}()
	var used *toolset.Usage
	began := false
	o := t.hosted.Run(host.Prompt{
		Parts: in.parts, Shown: in.shown, Plain: in.plain, Meta: in.meta(),
		Asker: t.session.asker(), Wait: t.own && in.prompt == nil,
		Queued: in.isRecorded,
		Show: func() {
			if t.own {
				t.showRecorded(r, in)
			}
			r.show()
		},
		Observe: func(e *agent.Event) {
			if e.Kind == agent.EventUsage {
				used = e.Usage
			}
			r.observe(e)
		},
		Withdrawn: func(cause error) bool {
			byTurn, byRequest := acp.ErrTurnCancelled, acp.ErrRequestCancelled
			return !t.own && (errors.Is(cause, byTurn) || errors.Is(cause, byRequest))
		},
		Next: func() { // who cancels all has cancelled this one when the answer before it goes out
			wait()
			t.waitLeft(before)
		},
		Began: func(turn *host.Turn) {
			began = true
			if t.own {
				t.told.Store(true)
				t.tell(&acpview.Turn{})
			}
			r.begin(turn)
			if t.own {
				t.showCommand(r, in)
			}
			s.tellNews(r, turn)
		},
		More: func(*host.Turn) []model.Part {
			work := t.session.made().Workspace
			if work == nil {
				return nil
			}
			return linkedFiles(t.ctx, work.Workspace(), in.links, s.media, s.linkedFiles)
		},
		Ending: func(turn *host.Turn, o *host.Outcome) string {
			if t.own {
				t.showRecorded(r, in)
			}
			end, shown = cmp.Or(t.cancelled(), s.endingOf(o)), o.Reason
			s.tellNews(r, turn)
			r.close()
			if n := len(o.Unread); n > 0 {
				s.tell(r, turn, unread(n))
			}
			return end.notice
		},
	})
	if !began { // prompts are answered in order
		wait()
		if errors.Is(o.Err, host.ErrCancelled) { // another surface, or a command, has removed it
			return (&ending{stop: acp.StopReasonCancelled}).answer()
		}
	}
	if o.Steered {
		for _, b := range before { // one that was cancelled may have been answered before
			<-b.ended
		}
		if i := slices.IndexFunc(before, func(b *turn) bool { return b.hosted.ID() == o.Turn }); i >= 0 {
			end = before[i].end
		}
		if own := t.cancelled(); own != nil || end == nil {
			end = cmp.Or(own, s.endingOf(o))
		}
		return end.answer()
	}
	if end == nil || o.Reason != shown { // what was shown is not recorded
		end = cmp.Or(t.cancelled(), s.endingOf(o))
	}
	s.tellUsage(t.ctx, used)
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
	return t.hosted.Running()
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

// runInput is a prompt converted for a run.
type runInput struct {
	prompt *acp.PromptRequest // nil if another connection has sent it
	parts  []model.Part
	shown  []view.Content
	plain  bool
	links  []*acp.ResourceLink // in the prompt

	told     bool          // of an own turn: the client has been shown the prompt
	once     sync.Once     // closes recorded
	recorded chan struct{} // closed when the prompt is in the inbox or the session; may be nil
}

// isRecorded notes that the prompt is recorded.
func (in *runInput) isRecorded() {
	if in.recorded != nil {
		in.once.Do(func() { close(in.recorded) })
	}
}

// meta is what [Config].RunOptions is given.
func (in *runInput) meta() any {
	if in.prompt == nil {
		return nil
	}
	return in.prompt
}
