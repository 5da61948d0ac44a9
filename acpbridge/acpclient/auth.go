// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/guard"
)

// AuthMethods returns the ways to authenticate that the agent has announced. Most agents need none
// of them once the user has logged in.
func (c *Client) AuthMethods() []acp.AuthMethod { return c.hello.AuthMethods }

func authMethodID(m *acp.AuthMethod) acp.AuthMethodID {
	switch {
	case m.Agent != nil:
		return m.Agent.ID
	case m.Terminal != nil:
		return m.Terminal.ID
	}
	return ""
}

func (c *Client) authMethod(id acp.AuthMethodID) (*acp.AuthMethod, error) {
	for i := range c.hello.AuthMethods {
		if m := &c.hello.AuthMethods[i]; id != "" && authMethodID(m) == id {
			return m, nil
		}
	}
	return nil, &UnsupportedError{What: fmt.Sprintf("the authentication method %q", id), Agent: c.name()}
}

// Authenticate has the agent authenticate by one of its [Client.AuthMethods]. It may take as long
// as the user needs in a browser. A method that needs a terminal is refused: see [Client.Login].
func (c *Client) Authenticate(ctx context.Context, id acp.AuthMethodID) error {
	m, err := c.authMethod(id)
	if err != nil {
		return err
	}
	if m.Terminal != nil {
		return fmt.Errorf("acpclient: the authentication method %q needs a terminal: use Login, then connect again", id)
	}
	if _, err := c.conn.Authenticate(ctx, &acp.AuthenticateRequest{MethodID: id}); err != nil {
		return c.failed(ctx, acp.MethodAuthenticate, err)
	}
	return nil
}

// Logout ends the authentication.
func (c *Client) Logout(ctx context.Context) error {
	if c.hello.AgentCapabilities.Auth.Logout == nil {
		return c.unsupported(acp.MethodLogout)
	}
	if _, err := c.conn.Logout(ctx, &acp.LogoutRequest{}); err != nil {
		return c.failed(ctx, acp.MethodLogout, err)
	}
	return nil
}

// Terminal is where a person logs in. Nil files are the null device.
type Terminal struct {
	// In, Out and Err are the login's standard streams.
	In, Out, Err *os.File
}

// Login runs the agent's program a second time, as a login in a terminal, and waits for its end.
// The agent must have been started by [Start] with [Config.TerminalLogin]. After a login the client
// has to be closed and the agent started again, as the protocol has it. The end of ctx ends the
// login.
func (c *Client) Login(ctx context.Context, id acp.AuthMethodID, t Terminal) error {
	m, err := c.authMethod(id)
	if err != nil {
		return err
	}
	if m.Terminal == nil {
		return fmt.Errorf("acpclient: the authentication method %q needs no terminal: use Authenticate", id)
	}
	if c.process == nil {
		return fmt.Errorf("acpclient: login %q: this client has not started the agent's process", id)
	}
	command := *c.process.command
	env := command.environment()
	for name, value := range m.Terminal.Env {
		env = append(env, name+"="+value)
	}
	p, err := guard.Start(guard.Command{
		Path: command.Path, Args: slices.Concat(command.Args, m.Terminal.Args), Env: env, Dir: command.Dir,
		Stdin: t.In, Stdout: t.Out, Stderr: t.Err,
	})
	if err != nil {
		return fmt.Errorf("acpclient: login %q: %w", id, err)
	}
	defer p.Close()
	select {
	case <-p.Exited():
	case <-ctx.Done():
		return fmt.Errorf("acpclient: login %q: %w", id, context.Cause(ctx))
	}
	if exit := p.Exit(); exit.Code != 0 {
		return &ProcessError{Command: command.String(), Method: "login", Ended: true, ExitCode: exit.Code, Signal: exit.Signal}
	}
	return nil
}
