// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Agent configures which agent is used, and how.
type Agent struct {
	// Name names the agent in events, questions and errors.
	Name string
	// Command and Config start the agent. A tool starts it for each call, a model when it is needed
	// first.
	Command Command
	Config  Config
	// Client is an agent that has been started already. Command and Config are ignored then, and
	// the caller closes the client.
	Client *Client
	// Session configures its sessions.
	Session SessionConfig
}

func (a *Agent) name() string { return cmp.Or(a.Name, a.Command.Path, "agent") }

// connect returns the client, and what ends it if that is ours to do.
func (a *Agent) connect(ctx context.Context) (c *Client, end func(), err error) {
	if a.Client != nil {
		return a.Client, func() {}, nil
	}
	if a.Command.Path == "" {
		return nil, nil, errors.New("acpclient: set Agent.Command or Agent.Client")
	}
	c, err = Start(ctx, a.Command, a.Config)
	if err != nil {
		return nil, nil, err
	}
	return c, func() { _ = c.Close() }, nil
}

// closing is how long an agent may take to close a session that is not needed any more.
const closing = 5 * time.Second

// closeSession closes a session although ctx may have ended.
func closeSession(ctx context.Context, s *Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	_ = s.Close(ctx) // it is gone for us in any case
}
