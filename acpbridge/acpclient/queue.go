// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/acpview"
)

// methodQueue is an extension of the protocol. Agents that have it announce it in the _meta of the
// answer to initialize, if the client shows turns that it has not asked for.
const methodQueue = "_ponte-go.dev/queue"

// Queues reports whether the agent takes prompts while a turn runs: see [Session.Queue].
func (c *Client) Queues() bool {
	return c.config.Turns && string(c.hello.Meta[acpview.MetaTurns]) == "true"
}

// Queue sends a prompt that becomes a turn when those before it have ended, at once if there are
// none. It returns when the agent has recorded the prompt. From then on the prompt is the agent's:
// [Session.Cancel] and the end of the client leave it there, and it may be changed while it waits.
// It is then an entity of the kind [view.Waiting]. [Session.Begun] returns its turn.
//
// It returns an [*UnsupportedError] if the agent does not take prompts in this way.
func (s *Session) Queue(ctx context.Context, prompt ...acp.ContentBlock) error {
	if !s.client.Queues() {
		return s.client.unsupported(methodQueue)
	}
	if err := s.check(prompt); err != nil {
		return err
	}
	req := &acp.PromptRequest{SessionID: s.id, Prompt: prompt}
	if meta := s.client.config.Conn.OutgoingMeta; meta != nil {
		req.Meta = meta(ctx)
	}
	data, err := acp.Marshal(req) // its answer does not wait for updates, unlike that of a prompt
	if err != nil {
		return err
	}
	if err := s.client.conn.Call(ctx, methodQueue, json.RawMessage(data), nil); err != nil {
		return s.client.failed(ctx, methodQueue, err)
	}
	return nil
}

// Begun waits until the agent begins a turn that the client has not asked for with
// [Session.Prompt], and returns a function that waits for the end of the turn as Prompt does. When
// its ctx ends, the turn goes on. A turn that has begun before the call is returned too, unless
// another one has begun since. One goroutine at a time may call Begun. Agents begin such turns only
// with [Config.Turns].
func (s *Session) Begun(
	ctx context.Context,
) (wait func(context.Context) (*Turn, error), err error) {
	for {
		s.mu.Lock()
		t, ended := s.begun, s.ended
		s.begun = nil
		s.mu.Unlock()
		switch {
		case t != nil:
			return t.wait, nil
		case ended:
			return nil, ErrClosed
		}
		select {
		case <-s.begins:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// wait waits for the end of a turn.
func (t *turn) wait(ctx context.Context) (*Turn, error) {
	select {
	case <-t.done:
		return t.result, t.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// told takes over what the agent says of a turn that the client has not asked for. The caller holds
// s.mu.
func (s *Session) told(what *acpview.Turn) (problem string) {
	if !what.Ended {
		if before := s.turn; before != nil && before.own {
			s.endOwn(&acpview.Turn{Ended: true, StopReason: acp.StopReasonCancelled})
			problem = "a turn began before the end of another one"
		} else if before != nil { // its answer is about to be taken over, or the agent will refuse it
			before.messages = s.fold.endTurn("")
		}
		t := &turn{own: true, done: make(chan struct{})}
		t.ctx, t.cancel = context.WithCancelCause(s.client.ctx)
		s.turn, s.granted, s.begun = t, nil, t
		s.fold.beginTurn(nil)
		s.stir()
		return problem
	}
	if s.turn == nil || !s.turn.own {
		return "the end of a turn that has not begun"
	}
	s.endOwn(what)
	return ""
}

// endOwn ends the turn that the client has not asked for. The caller holds s.mu.
func (s *Session) endOwn(what *acpview.Turn) {
	t, err := s.turn, what.Err()
	limited := s.fold.full
	messages := s.fold.endTurn(statusOf(what.StopReason, err))
	s.turn, s.granted = nil, nil
	t.cancel(ErrClosed)
	switch {
	case limited:
		t.err = s.tooLarge()
	case err != nil:
		t.err = s.client.failed(context.Background(), methodQueue, err)
	default:
		t.result = &Turn{StopReason: what.StopReason, Snapshot: s.Snapshot(), Messages: messages}
	}
	close(t.done)
}

// stir wakes Begun.
func (s *Session) stir() {
	select {
	case s.begins <- struct{}{}:
	default:
	}
}
