// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// handler is what the agent talks to.
type handler struct {
	acp.UnimplementedClient
	client *Client
}

var _ acp.Client = (*handler)(nil)

// maxEarly bounds the updates of a session that is being opened.
const maxEarly = 10_000

// SessionUpdate implements [acp.Client].
func (h *handler) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	c := h.client
	c.mu.Lock()
	s := c.sessions[n.SessionID]
	if s == nil {
		early := c.opening > 0 && len(c.early[n.SessionID]) < maxEarly
		if early {
			c.early[n.SessionID] = append(c.early[n.SessionID], &n.Update)
		}
		c.mu.Unlock()
		if !early {
			c.problem(acp.MethodSessionUpdate, "an update of an unknown session")
		}
		return nil
	}
	c.mu.Unlock()
	s.mu.Lock()
	problem := s.applyLocked(&n.Update)
	var full *turn
	if s.fold.full && s.turn != nil && !s.turn.cancelled {
		full = s.turn
	}
	s.mu.Unlock()
	if problem != "" {
		c.problem(acp.MethodSessionUpdate, "%s", problem)
	}
	if full != nil {
		s.abandon(full, ErrLimit)
	}
	return nil
}

// applyLocked folds an update. It says what is wrong with it. The caller holds s.mu.
func (s *Session) applyLocked(u *acp.SessionUpdate) (problem string) {
	if s.ended {
		return "an update of a session that has been closed"
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
