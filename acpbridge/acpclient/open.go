// SPDX-License-Identifier: Apache-2.0

package acpclient

import "context"

// Open starts an agent by its name, such as "claude-code", "codex" or "gemini". It is [Named] and
// [Start].
//
//	client, err := acpclient.Open(ctx, "claude-code", acpclient.Config{Permission: ask})
func Open(ctx context.Context, name string, config Config) (*Client, error) {
	command, err := Named(name)
	if err != nil {
		return nil, err
	}
	return Start(ctx, command, config)
}

// Named returns the command of an agent by its name. It looks the name up in the agents that this
// package knows and in the user's file, see [LoadRegistry], and returns the program that is
// installed for it in the user's store, with the arguments and the variables of the entry.
//
// Named downloads nothing and runs nothing. For a name that is unknown the error is an
// [*UnknownAgentError] with the nearest names, and for an agent that is not installed an
// [*NotInstalledError] with the command that installs it; [AgentStore.Install] does that if the
// program decides to. The agent gets the environment of this process too: see [Command.Env].
func Named(name string) (Command, error) {
	agents, err := LoadRegistry()
	if err != nil {
		return Command{}, err
	}
	a, err := agents.Find(name)
	if err != nil {
		return Command{}, err
	}
	return AgentStore{}.Command(a)
}
