// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acpregistry"
)

// Open starts an agent by its name, such as "claude-code", "codex" or "gemini". It is [Named] and [Start].
//
//	client, err := acpclient.Open(ctx, "claude-code", acpclient.Config{Permission: ask})
func Open(ctx context.Context, name string, config Config) (*Client, error) {
	command, err := Named(name)
	if err != nil {
		return nil, err
	}
	return Start(ctx, command, config)
}

// Named returns the command of an agent by its name. It looks the name up in the agents that package acpregistry knows and in the user's
// file, see [acpregistry.Load], and returns the program that is installed for it in the user's store, with the arguments and the variables of the
// entry.
//
// Named downloads nothing and runs nothing. For a name that is unknown the error is an [*acpregistry.UnknownError] with the nearest names, and for an
// agent that is not installed an [*acpregistry.NotInstalledError] with the command that installs it; [acpregistry.Store.Install] does that if the
// program decides to. The agent gets the environment of this process too: see [Command.Env].
func Named(name string) (Command, error) {
	agents, err := acpregistry.Load()
	if err != nil {
		return Command{}, fmt.Errorf("acpclient: %w", err)
	}
	a, err := agents.Find(name)
	if err != nil {
		return Command{}, fmt.Errorf("acpclient: %w", err)
	}
	c, err := acpregistry.Store{}.Command(a)
	if err != nil {
		return Command{}, fmt.Errorf("acpclient: %w", err)
	}
	return Command{Path: c.Path, Args: c.Args, Env: c.Env}, nil
}
