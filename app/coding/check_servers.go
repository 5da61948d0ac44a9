// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// connecting is how long an MCP server may take to list its tools.
const connecting = 10 * time.Second

// checkServers connects to the MCP servers of the configuration, all at the same time.
func checkServers(ctx context.Context, e *app.Env) []app.Check {
	text := e.Config.MCPServers()
	if text == nil {
		return nil
	}
	servers, err := mcptoolset.ParseConfig(text, os.LookupEnv)
	if err != nil {
		return nil // a problem of the configuration
	}
	all := make([]app.Check, len(servers))
	var work sync.WaitGroup
	for i, s := range servers {
		work.Go(func() { all[i] = checkServer(ctx, e, s, connecting) })
	}
	work.Wait()
	return all
}

// checkServer connects to a server and counts its tools.
func checkServer(ctx context.Context, e *app.Env, s mcptoolset.ServerConfig, within time.Duration) app.Check {
	c := app.Check{Name: "MCP server " + s.Name}
	if s.Disabled {
		c.Found = "is turned off"
		return c
	}
	command, local := s.Transport.(mcptoolset.Command)
	if local {
		if _, c.Err = exec.LookPath(command.Path); c.Err != nil {
			c.Mend = "install the program, or correct the command in mcpServers of the configuration"
			return c
		}
	}
	changed := make(chan struct{}, 1)
	server, err := mcptoolset.New(mcptoolset.Config{
		Name: s.Name, Transport: s.Transport, ConnectTimeout: within, Logger: e.Logger,
		Client: mcptoolset.ClientInfo{Name: e.Name, Version: e.Version},
		OnChange: func(mcptoolset.Status) {
			select {
			case changed <- struct{}{}:
			default: // it will look
			}
		},
	})
	if err != nil {
		c.Err, c.Mend = err, "correct mcpServers in the configuration"
		return c
	}
	defer func() { c.Err = errors.Join(c.Err, server.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, within+time.Second)
	defer cancel()
	server.Connect()
	for {
		switch now := server.Status(); now.State {
		case mcptoolset.StateReady:
			c.Found = fmt.Sprintf("has %d tools", now.Tools)
			if n := len(now.Problems); n > 0 {
				c.Found += fmt.Sprintf(", and %d that cannot be offered: %v", n, now.Problems[0].Err)
			}
			return c
		case mcptoolset.StateFailed:
			c.Err = now.Err
			c.Mend = "check the address and the headers in mcpServers of the configuration"
			if local {
				c.Mend = "run its command yourself to see what it needs, or remove it from mcpServers"
			}
			return c
		}
		select {
		case <-changed:
		case <-ctx.Done():
			c.Err, c.Mend = context.Cause(ctx), "it does not answer: start it again, or remove it from mcpServers"
			return c
		}
	}
}
