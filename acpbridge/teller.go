// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/acpview"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// teller tells a client what a turn shows. The turn waits for it, so nothing is lost and nothing is
// piled up.
type teller struct {
	ctx     context.Context
	session *session
	client  *acpview.Client // nil until the turn begins
	fold    *view.Fold      // of the turn
	log     *slog.Logger
	cancel  context.CancelFunc // of close; nil before it
}

// begin tells the client from now on what changes.
func (r *teller) begin(turn *host.Turn) {
	options := r.session.options()
	options.Late = true
	fold := turn.Fold()
	r.fold = fold
	r.client = acpview.New(&r.session.client.gate, r.session.id, fold, fold.Snapshot(), options)
	r.client.Skip(ownWays...)
	r.session.client.enter(r.ctx, turn, r.client)
	r.catchUp(turn)
}

// ownWays are the kinds of entities that clients are told of in other ways.
var ownWays = []view.Kind{view.Options, view.Commands, view.Session}

// catchUp shows what has happened elsewhere since the client was shown something: the prompts of
// others, and the answers.
func (r *teller) catchUp(turn *host.Turn) {
	fold, seen := turn.Fold(), r.session.seen
	if r.session.blank { // others may have been here before the client's first prompt
		seen = seenUpTo(fold, 0)
	}
	if seen.in.Value() != fold {
		return
	}
	options := r.session.options()
	options.Prompts = true
	client := acpview.Since(&r.session.client.gate, r.session.id, fold, seen.pos, options)
	if seen.whole != nil {
		client = acpview.New(&r.session.client.gate, r.session.id, fold, seen.whole, options)
	}
	client.Skip(ownWays...)
	client.Skip(view.Question)
	client.Saw(transcript.PromptID(turn.ID()))
	r.report(client.Show(r.ctx))
}

// show tells the client what has changed.
func (r *teller) show() { r.report(r.client.Show(r.ctx)) }

// close gives a slow client a short time to receive the remaining updates before the turn is
// answered, even if the turn was cancelled.
func (r *teller) close() {
	turn := r.ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(turn), farewell)
	r.cancel = cancel
	if turn.Err() != nil {
		r.ctx = ctx
	}
}

// done ends what close has begun.
func (r *teller) done() {
	if r.client != nil {
		r.report(r.client.ShowAll(r.ctx))
		r.session.seen = seenUpTo(r.fold, r.fold.Snapshot().Pos())
		r.session.blank = false
	}
	if r.cancel != nil {
		r.cancel()
	}
}

// observe takes the updates that tools emit.
func (r *teller) observe(e *agent.Event) {
	if e.Kind != agent.EventCustom {
		return
	}
	var update *acp.SessionUpdate
	switch v := e.Value.(type) {
	case agent.Nested:
		if v.HandOver {
			r.observe(&v.Event)
		}
	case acp.SessionUpdate:
		update = &v
	case *acp.SessionUpdate:
		update = v
	}
	if update == nil {
		return
	}
	if err := r.session.client.emit(e, update); err != nil {
		r.log.Warn("acpbridge: an update that a tool has emitted is not shown", "session", r.session.id, "tool", e.Tool, "error", err)
	}
}

// report logs an update that could not be sent. The end of the turn or connection is expected and
// not logged.
func (r *teller) report(err error) {
	if err != nil && r.ctx.Err() == nil && !errors.Is(err, acp.ErrClosed) {
		r.log.Warn("acpbridge: update not sent", "session", r.session.id, "error", fmt.Sprintf("%T", err))
	}
}
