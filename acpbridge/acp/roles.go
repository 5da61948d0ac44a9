// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"encoding/json"
	"io"
)

// Version is the version of the protocol that this package speaks.
const Version ProtocolVersion = 1

// AgentConn is the agent's end of a connection: it calls the handlers of an [Agent], and is the
// [Client] that the agent calls. All methods are safe for concurrent use.
type AgentConn struct{ conn }

// NewAgentConn returns the agent's end of a connection that reads from r and writes to w; nothing
// happens before [AgentConn.Serve]. newAgent gets the connection, in order to call the client, and
// returns the agent.
func NewAgentConn(r io.Reader, w io.Writer, newAgent func(*AgentConn) Agent, opts *ConnOptions) *AgentConn {
	c := new(AgentConn)
	c.init(r, w, opts)
	c.role = agentRole{newAgent(c)}
	return c
}

// ClientConn is the client's end of a connection: it calls the handlers of a [Client], and is the
// [Agent] that the client calls. All methods are safe for concurrent use.
type ClientConn struct{ conn }

// NewClientConn returns the client's end of a connection that reads from r and writes to w; nothing
// happens before [ClientConn.Serve]. newClient gets the connection, in order to call the agent, and
// returns the client.
func NewClientConn(r io.Reader, w io.Writer, newClient func(*ClientConn) Client, opts *ConnOptions) *ClientConn {
	c := new(ClientConn)
	c.init(r, w, opts)
	c.gate = gateOpen
	c.role = clientRole{newClient(c)}
	return c
}

type agentRole struct{ agent Agent }

func (r agentRole) isAgent() bool { return true }

func (r agentRole) serve(ctx context.Context, method string, params json.RawMessage) (message, bool, error) {
	return serveAgent(ctx, r.agent, method, params)
}

func (r agentRole) notify(ctx context.Context, method string, params json.RawMessage) (bool, error) {
	return notifyAgent(ctx, r.agent, method, params)
}

type clientRole struct{ client Client }

func (r clientRole) isAgent() bool { return false }

func (r clientRole) serve(ctx context.Context, method string, params json.RawMessage) (message, bool, error) {
	return serveClient(ctx, r.client, method, params)
}

func (r clientRole) notify(ctx context.Context, method string, params json.RawMessage) (bool, error) {
	return notifyClient(ctx, r.client, method, params)
}
