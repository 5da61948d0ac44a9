// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"weak"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// teller tells a client what a turn shows. The turn waits for it, so nothing is lost and nothing is
// piled up.
type teller struct {
	ctx     context.Context
	session *session
	client  *acpview.Client // nil until the turn begins
	fold    *view.Fold      // of the turn
	prompt  string          // the id of the turn's prompt
	before  string          // the prompt of the turn before
	upTo    seen            // what the client has been shown, once stop was called
	log     *slog.Logger
	cancel  context.CancelFunc // of close; nil before it
}

// begin tells the client from now on what changes.
func (r *teller) begin(turn *host.Turn) {
	options := r.session.options()
	options.Late = true
	fold := turn.Fold()
	r.fold, r.prompt = fold, transcript.PromptID(turn.ID())
	r.client = acpview.New(&r.session.client.gate, r.session.id, fold, fold.Snapshot(), options)
	r.client.Skip(ownWays...)
	r.session.client.enter(r.ctx, turn, r.client)
	r.catchUp(turn)
	r.before = lastPrompt(fold.Snapshot(), r.prompt)
}

// ownWays are the kinds of entities that clients are told of in other ways.
var ownWays = []view.Kind{view.Options, view.Commands, view.Session}

// catchUp shows what has happened elsewhere since the client was shown something: the prompts of
// others, and the answers. A turn that was stopped already is told of as well, because nobody else
// tells what came before it.
func (r *teller) catchUp(turn *host.Turn) {
	client := r.elsewhere(turn.Fold())
	if client == nil {
		return
	}
	client.Skip(ownWays...)
	client.Skip(view.Question)
	client.Saw(transcript.PromptID(turn.ID()))
	ctx, cancel := r.grace()
	defer cancel()
	r.report(client.Show(ctx))
}

// grace returns a context for what the client must be told even if the turn is stopped. It ends a
// short time after the turn's.
func (r *teller) grace() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	stop := context.AfterFunc(r.ctx, func() {
		select {
		case <-time.After(farewell):
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { stop(); cancel() }
}

// elsewhere returns a client that has seen what the real one was shown of the session, nil if that
// is not known.
func (r *teller) elsewhere(fold *view.Fold) *acpview.Client {
	seen, options := r.session.seen, r.session.options()
	options.Prompts = true
	to, id := &r.session.client.gate, r.session.id
	switch {
	case r.session.blank: // others may have been here before the client's first prompt
		return acpview.New(to, id, fold, nil, options)
	case seen.in.Value() != fold:
		return r.again(fold, options)
	case seen.whole != nil:
		return acpview.New(to, id, fold, seen.whole, options)
	}
	return acpview.Since(to, id, fold, seen.pos, options)
}

// again is elsewhere if the session was forgotten and read again: what was shown ends where the
// turn after the last one begins that the client was shown.
func (r *teller) again(fold *view.Fold, options acpview.Options) *acpview.Client {
	client := acpview.New(&r.session.client.gate, r.session.id, fold, nil, options)
	found := r.session.seen.known && r.session.seen.last == "" // there was none
	for e := range fold.Snapshot().All() {
		if found && isPrompt(e) {
			break
		}
		found = found || e.ID == r.session.seen.last
		client.Saw(e.ID)
	}
	if !found {
		return nil
	}
	return client
}

// lastPrompt returns the id of the last prompt that is not except, empty if there is none.
func lastPrompt(s *view.Snapshot, except string) (id string) {
	for e := range s.Backward() {
		if isPrompt(e) && e.ID != except {
			return e.ID
		}
	}
	return ""
}

// since returns what a session shows from the last turn on, without what came before it.
func (r *teller) since(s *view.Snapshot) (all []*view.Entity) {
	for e := range s.Backward() {
		all = append(all, e)
		if e.ID == r.prompt || e.ID == r.before {
			break
		}
	}
	slices.Reverse(all)
	return all
}

// isPrompt reports whether a turn begins with an entity.
func isPrompt(e *view.Entity) bool { return strings.HasPrefix(e.ID, transcript.PromptID("")) }

// stop keeps back the turns that have begun since this one ended: catchUp tells all of them.
func (r *teller) stop() {
	snapshot := r.fold.Snapshot()
	r.upTo = seenUpTo(r.fold, snapshot.Pos())
	r.upTo.last = r.before
	all := r.since(snapshot)
	ours, next := r.before == "" || len(all) > 0 && all[0].ID == r.prompt, false
	for _, e := range all {
		switch {
		case next:
		case e.ID == r.prompt:
			r.upTo.last = e.ID
		case ours && isPrompt(e):
			next = true
		case e.ID == r.before:
			ours = true
		}
		if next {
			r.client.Saw(e.ID)
		}
	}
	if next {
		r.upTo.in = weak.Pointer[view.Fold]{}
	}
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
		r.stop()
		r.report(r.client.ShowAll(r.ctx))
		r.session.seen = r.upTo
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
