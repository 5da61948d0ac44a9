// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/acpview"
)

// handler serves the agent's requests.
type handler struct {
	acp.UnimplementedClient
	client *Client
}

var _ acp.Client = (*handler)(nil)

// maxEarly bounds the updates of sessions that are being opened.
const maxEarly = 10_000

// keepEarly keeps an update of a session that is not known yet. The caller holds c.mu.
func (c *Client) keepEarly(n *acp.SessionNotification) bool {
	if c.opening == 0 || c.earlies >= maxEarly {
		return false
	}
	data, err := acp.Marshal(n)
	if err != nil || c.earlyLen+len(data) > c.config.MaxState {
		return false
	}
	c.earlies++
	c.earlyLen += len(data)
	c.early[n.SessionID] = append(c.early[n.SessionID], &n.Update)
	return true
}

// SessionUpdate implements [acp.Client].
func (h *handler) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	c := h.client
	c.mu.Lock()
	s := c.sessions[n.SessionID]
	if s == nil {
		early := c.keepEarly(n)
		c.mu.Unlock()
		if !early {
			c.problem(acp.MethodSessionUpdate, "an update of an unknown session")
		}
		return nil
	}
	c.mu.Unlock()
	s.mu.Lock()
	problem := s.applyLocked(&n.Update)
	full := s.fullLocked()
	s.mu.Unlock()
	if problem != "" {
		c.problem(acp.MethodSessionUpdate, "%s", problem)
	}
	s.endFull(full)
	return nil
}

// fullLocked returns the turn that has to end because the session has reached its limit. The caller
// holds s.mu.
func (s *Session) fullLocked() *turn {
	if s.fold.full && s.turn != nil && !s.turn.cancelled {
		return s.turn
	}
	return nil
}

// grow counts what has been added to the session's content, and ends the turn at the limit.
func (s *Session) grow(size int) {
	s.mu.Lock()
	s.fold.size += size
	s.fold.over()
	full := s.fullLocked()
	s.mu.Unlock()
	s.endFull(full)
}

func (s *Session) endFull(t *turn) {
	if t != nil {
		s.abandon(t, ErrLimit)
	}
}

// applyLocked folds an update, and returns an error if it is invalid. The caller holds s.mu.
func (s *Session) applyLocked(u *acp.SessionUpdate) (problem string) {
	if s.ended {
		return "an update of a session that has been closed"
	}
	if info := u.SessionInfoUpdate; info != nil {
		if what := acpview.TurnOf(info); what != nil {
			problem = s.told(what)
		}
	}
	if s.turn == nil && !s.loading && ofTurn(u) {
		problem = "an update of a turn after its end"
	}
	if p := s.fold.apply(u); p != "" {
		problem = p
	}
	return problem
}

// ofTurn reports whether an update is a part of a turn. Others come at any time.
func ofTurn(u *acp.SessionUpdate) bool {
	return u.AgentMessageChunk != nil || u.AgentThoughtChunk != nil || u.UserMessageChunk != nil || u.ToolCall != nil ||
		u.ToolCallUpdate != nil || u.Plan != nil
}

// of returns the session of a request.
func (h *handler) of(id acp.SessionID) (*Session, error) {
	if s := h.client.session(id); s != nil {
		return s, nil
	}
	return nil, acp.Errorf(acp.CodeInvalidParams, "there is no session %q", cut(string(id)))
}

func cut(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}
