// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"cmp"
	"context"
	"errors"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// Close ends the session's turn and terminals, and closes the agent's session if the agent supports
// it. It may be called several times.
func (s *Session) Close(ctx context.Context) error {
	s.client.mu.Lock()
	open := s.client.sessions[s.id] == s
	delete(s.client.sessions, s.id)
	s.client.mu.Unlock()
	if !open {
		return nil
	}
	defer s.end(nil)
	if s.client.conn.Err() != nil {
		return nil
	}
	if s.client.hello.AgentCapabilities.SessionCapabilities.Close == nil {
		return s.Cancel(ctx)
	}
	_, err := s.client.conn.CloseSession(ctx, &acp.CloseSessionRequest{SessionID: s.id})
	if errors.Is(err, acp.ErrMethodNotFound) { // some announce it all the same
		s.client.problem(acp.MethodCloseSession, "it was announced and is not there")
		return s.Cancel(ctx)
	}
	if err == nil || errors.Is(err, acp.ErrClosed) {
		return nil
	}
	return s.client.failed(ctx, acp.MethodCloseSession, err)
}

// end ends the session's turn, terminals and cursors in this process.
func (s *Session) end(err error) {
	s.mu.Lock()
	s.ended = true
	t := s.turn
	own := t != nil && t.own
	if own { // nobody will say how it has ended
		s.turn = nil
	}
	s.stir()
	s.mu.Unlock()
	if t != nil {
		t.cancel(ErrClosed)
	}
	if own {
		t.err = cmp.Or(s.client.Err(), ErrClosed)
		close(t.done)
	}
	s.terminals.releaseAll()
	s.fold.view.End(err)
}
