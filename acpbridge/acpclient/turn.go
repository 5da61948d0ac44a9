// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// Turn is the result of a prompt.
type Turn struct {
	// StopReason says why the agent ended the turn.
	StopReason acp.StopReason
	// Snapshot shows the session at the end of the turn.
	Snapshot *view.Snapshot
	// Messages are the ids of the agent's messages of this turn.
	Messages []string
	// Usage are the tokens of the turn. It is nil unless the agent has told them, as an unstable
	// part of the protocol lets it.
	Usage *TurnUsage
	// Meta is the metadata of the agent's answer.
	Meta map[string]json.RawMessage
}

// TurnUsage are the tokens of a turn, over all requests of the agent to its model.
type TurnUsage struct {
	// InputTokens and OutputTokens are all tokens that went in and came out, TotalTokens is their
	// sum.
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
	TotalTokens  int64 `json:"totalTokens"`
	// ThoughtTokens, CachedReadTokens and CachedWriteTokens are parts of them, 0 if they are not
	// known.
	ThoughtTokens     int64 `json:"thoughtTokens"`
	CachedReadTokens  int64 `json:"cachedReadTokens"`
	CachedWriteTokens int64 `json:"cachedWriteTokens"`
}

// Text returns what the agent said in the turn, its messages separated by blank lines. Thoughts are
// not part of it.
func (t *Turn) Text() string {
	var texts []string
	for _, id := range t.Messages {
		if e := t.Snapshot.Get(id); e != nil {
			if text := e.Text(); text != "" {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "\n\n")
}

// turn is a turn in progress. The session's mu guards cancelled and told.
type turn struct {
	ctx       context.Context // ends when nobody wants the turn any more
	cancel    context.CancelCauseFunc
	cancelled bool          // nobody wants the turn any more
	told      bool          // session/cancel has been sent, or is about to be
	done      chan struct{} // closed when the agent has answered, or will not
	result    *Turn
	err       error
	meta      map[string]json.RawMessage // of the prompt
	own       bool                       // the client has not asked for it with a prompt
	messages  []string                   // the agent's, if another turn has taken its place
}

// Say is [Session.Prompt] with a text.
func (s *Session) Say(ctx context.Context, text string) (*Turn, error) {
	return s.Prompt(ctx, acp.TextBlock(text))
}

// Prompt sends a prompt and waits for the end of the turn. The agent's updates have been folded
// then. A turn that was cancelled by [Session.Cancel] has the stop reason "cancelled".
//
// When ctx ends, Prompt cancels the turn and returns at once. The next prompt waits for the agent
// to end that turn, for at most [Config.CancelGrace]. During a turn that was not cancelled, a
// prompt fails with [ErrBusy].
func (s *Session) Prompt(ctx context.Context, prompt ...acp.ContentBlock) (*Turn, error) {
	if err := s.check(prompt); err != nil {
		return nil, err
	}
	t, err := s.begin(ctx, prompt)
	if err != nil {
		return nil, err
	}
	if meta := s.client.config.Conn.OutgoingMeta; meta != nil {
		t.meta = meta(ctx) // the call itself outlives ctx
	}
	s.client.work.Go(func() { s.run(t, prompt) })
	select {
	case <-t.done:
	case <-ctx.Done():
		select {
		case <-t.done: // both
		default:
			s.abandon(t, context.Cause(ctx))
			return nil, fmt.Errorf("acpclient: %s: %w", acp.MethodPrompt, context.Cause(ctx))
		}
	}
	return t.result, t.err
}

// check refuses content that the agent does not take.
func (s *Session) check(prompt []acp.ContentBlock) error {
	can := s.client.hello.AgentCapabilities.PromptCapabilities
	for i := range prompt {
		switch b := &prompt[i]; {
		case b.Image != nil && !can.Image:
			return s.client.unsupported("images in prompts")
		case b.Audio != nil && !can.Audio:
			return s.client.unsupported("audio in prompts")
		case b.Resource != nil && !can.EmbeddedContext:
			return s.client.unsupported("embedded resources in prompts")
		}
	}
	return nil
}

// begin takes the session's slot for a turn.
func (s *Session) begin(ctx context.Context, prompt []acp.ContentBlock) (*turn, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("acpclient: %s: %w", acp.MethodPrompt, context.Cause(ctx))
	}
	for {
		s.mu.Lock()
		if s.ended {
			s.mu.Unlock()
			if err := s.client.Err(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%w: the session", ErrClosed)
		}
		if s.fold.full {
			s.mu.Unlock()
			return nil, s.tooLarge()
		}
		before := s.turn
		if before == nil {
			defer s.mu.Unlock()
			t := &turn{done: make(chan struct{})}
			t.ctx, t.cancel = context.WithCancelCause(s.client.ctx)
			s.turn, s.granted = t, nil
			s.fold.beginTurn(prompt)
			return t, nil
		}
		cancelled := before.cancelled
		s.mu.Unlock()
		if !cancelled {
			return nil, ErrBusy
		}
		timer := time.NewTimer(s.client.config.CancelGrace)
		select {
		case <-before.done:
			timer.Stop()
		case <-timer.C:
			return nil, fmt.Errorf("%w: the agent has not ended the turn that was cancelled", ErrBusy)
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("acpclient: %s: %w", acp.MethodPrompt, context.Cause(ctx))
		}
	}
}

// run carries the turn out.
func (s *Session) run(t *turn, prompt []acp.ContentBlock) {
	// The call itself continues after a cancellation, until the agent has ended the turn.
	var raw json.RawMessage
	err := s.client.conn.Call(s.client.ctx, acp.MethodPrompt, &acp.PromptRequest{SessionID: s.id, Prompt: prompt, Meta: t.meta}, &raw)
	var resp acp.PromptResponse
	if err == nil {
		err = acp.Unmarshal(raw, &resp)
	}
	s.mu.Lock()
	limited := s.fold.full
	messages := t.messages
	if s.turn == t {
		messages = s.fold.endTurn(statusOf(resp.StopReason, err))
		s.turn, s.granted = nil, nil
	}
	s.mu.Unlock()
	t.cancel(ErrClosed)
	switch {
	case limited:
		t.err = s.tooLarge()
	case err != nil:
		t.err = s.client.failed(context.Background(), acp.MethodPrompt, err)
	default:
		var more struct{ Usage *TurnUsage }
		if json.Unmarshal(raw, &more) != nil {
			more.Usage = nil // of another form
		}
		t.result = &Turn{Usage: more.Usage, StopReason: resp.StopReason, Snapshot: s.Snapshot(), Messages: messages, Meta: resp.Meta}
	}
	close(t.done)
}

// statusOf returns the status of the answer of a turn, which is empty for a whole answer.
func statusOf(stop acp.StopReason, err error) view.Status {
	switch {
	case err != nil, stop == acp.StopReasonRefusal:
		return view.Failed
	case stop == acp.StopReasonCancelled:
		return view.Stopped
	case stop == acp.StopReasonMaxTokens, stop == acp.StopReasonMaxTurnRequests:
		return view.CutOff
	}
	return ""
}

func (s *Session) tooLarge() error {
	return fmt.Errorf("%w: more than %d bytes", ErrLimit, s.client.config.MaxState)
}

// Cancel cancels the turn in progress, if there is one. Its prompt returns when the agent has ended
// it. Open questions are withdrawn. The agent is told once; a Cancel that failed can be tried
// again.
func (s *Session) Cancel(ctx context.Context) error {
	s.mu.Lock()
	t := s.turn
	if t == nil {
		s.mu.Unlock()
		return nil
	}
	told := t.told
	t.cancelled, t.told = true, true
	s.mu.Unlock()
	t.cancel(context.Canceled)
	if told {
		return nil
	}
	if err := s.client.conn.Cancel(ctx, &acp.CancelNotification{SessionID: s.id}); err != nil {
		s.mu.Lock()
		t.told = false
		s.mu.Unlock()
		return s.client.failed(ctx, acp.MethodCancel, err)
	}
	return nil
}

// abandon cancels a turn that has no waiting caller. It does not wait.
func (s *Session) abandon(t *turn, cause error) {
	s.mu.Lock()
	told := t.told
	t.cancelled, t.told = true, true
	s.mu.Unlock()
	t.cancel(cause)
	if told {
		return
	}
	s.client.work.Go(func() {
		_ = s.client.conn.Cancel(s.client.ctx, &acp.CancelNotification{SessionID: s.id})
	})
}
