// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
)

// ForkSession opens a new session that begins with the conversation of another one, which stays
// unchanged. Earlier messages are not shown. It returns an [*UnsupportedError] if the agent does
// not announce session/fork, an unstable part of the protocol.
func (c *Client) ForkSession(ctx context.Context, id acp.SessionID, config SessionConfig) (*Session, error) {
	if !c.forks {
		return nil, c.unsupported(unstable.MethodForkSession)
	}
	return c.create(unstable.MethodForkSession, config, func(s *Session, dirs []string) (*acp.NewSessionResponse, error) {
		resp, err := unstable.CallAgent(c.conn).ForkSession(ctx, &unstable.ForkSessionRequest{
			SessionID: id, Cwd: s.cwd, AdditionalDirectories: dirs, MCPServers: servers(config.MCPServers),
		})
		switch {
		case err != nil:
			return nil, c.failed(ctx, unstable.MethodForkSession, err)
		case resp.SessionID == id:
			return nil, &ProtocolError{Method: unstable.MethodForkSession, Problem: "the new session has the id of the old one"}
		}
		return &acp.NewSessionResponse{SessionID: resp.SessionID, Modes: resp.Modes, ConfigOptions: resp.ConfigOptions}, nil
	})
}
