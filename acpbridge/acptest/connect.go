// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// ServeFunc serves an agent on two streams until the peer ends its side or ctx ends, as an agent's
// main function does on its standard streams.
type ServeFunc func(ctx context.Context, r io.Reader, w io.Writer) error

// ServeAgent is a [ServeFunc] that serves a new agent by means of a connection of package acp.
func ServeAgent(newAgent func(*acp.AgentConn) acp.Agent, opts *acp.ConnOptions) ServeFunc {
	return func(ctx context.Context, r io.Reader, w io.Writer) error {
		return acp.NewAgentConn(r, w, newAgent, opts).Serve(ctx)
	}
}

// Conn is the client's end of a connection with an agent: all methods of [acp.Agent], and what is
// mostly done with them.
type Conn struct {
	*acp.ClientConn
	// Client is the agent's peer.
	Client *Client
}

// Connect serves an agent at the other end of a connection in memory. Both ends are ended and
// waited for at the end of the test, which fails if serve does with anything but ctx's end.
func Connect(t testing.TB, c *Client, serve ServeFunc) *Conn {
	t.Helper()
	toAgent, fromClient := acp.Pipe()
	toClient, fromAgent := acp.Pipe()
	conn := acp.NewClientConn(toClient, fromClient, func(*acp.ClientConn) acp.Client { return c }, nil)
	c.mu.Lock()
	c.disconnect = func() { _ = conn.Close() }
	c.mu.Unlock()

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served, client := make(chan error), make(chan error)
	go func() {
		err := serve(ctx, toAgent, fromAgent)
		_ = fromAgent.Close() // a serve function need not own its streams
		_ = toAgent.Close()
		served <- err
	}()
	go func() { client <- conn.Serve(ctx) }()
	t.Cleanup(func() {
		_ = conn.Close() // the agent's standard input ends
		<-client
		// Output that the agent had not written when the client went away is lost, which is not the
		// agent's mistake.
		if err := <-served; err != nil && ctx.Err() == nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("acptest: the agent ended with: %v", err)
		}
		cancel()
		c.Close()
	})
	return &Conn{ClientConn: conn, Client: c}
}

// Start initializes the connection and opens a session.
func (c *Conn) Start(ctx context.Context, cwd string) (acp.SessionID, error) {
	_, err := c.Initialize(ctx, &acp.InitializeRequest{
		ProtocolVersion: acp.Version, ClientCapabilities: c.Client.capabilities,
		ClientInfo: &acp.Implementation{Name: "acptest", Version: "1"},
	})
	if err != nil {
		return "", err
	}
	return c.Open(ctx, cwd)
}

// Open opens a session of a connection that has been initialized.
func (c *Conn) Open(ctx context.Context, cwd string) (acp.SessionID, error) {
	resp, err := c.NewSession(ctx, &acp.NewSessionRequest{Cwd: cwd, MCPServers: []acp.MCPServer{}})
	if err != nil {
		return "", err
	}
	return resp.SessionID, nil
}

// Say sends a prompt of text and waits for the end of the turn.
func (c *Conn) Say(ctx context.Context, session acp.SessionID, text string) (acp.StopReason, error) {
	resp, err := c.Prompt(ctx, &acp.PromptRequest{SessionID: session, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	if err != nil {
		return "", err
	}
	return resp.StopReason, nil
}
