// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpmcp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/examples/ideagent/internal/keys"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

const instructions = `You are a coding agent in the user's editor. Work on the files of the working directory with your tools.
Look before you change: read a file before you write it, and search rather than guess. Make the smallest change that does
what was asked, run the project's own tests where there are some, and say briefly what you did and what you found.
If the user refuses something, do not try the same in another way; ask what to do instead.`

func agentCommand(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("ideagent", flag.ContinueOnError)
	name := flags.String("model", "", "`model` that answers, as PROVIDER:NAME: openai:gpt-5-mini, ollama:qwen3:8b, openrouter:…, or offline. Keys and addresses\n"+
		"come from the environment: OPENAI_API_KEY, OPENAI_BASE_URL, OLLAMA_HOST, …\n"+
		"Default: the provider of a key, with OPENAI_MODEL for openai's, else a local Ollama, else offline")
	pace := flags.Duration("pace", 0, "how long the offline model waits between two pieces of text, for people to watch")
	if code, done := parseFlags(flags, args, usage); done {
		return code
	}
	if command := flags.Arg(0); (command == "login" || command == "logout") && flags.NArg() == 1 { // an editor has put it behind its own arguments
		provider, _, _ := strings.Cut(cmp.Or(*name, "openai"), ":")
		return keepKey(command, provider)
	}
	if flags.NArg() > 0 {
		return misuse(fmt.Errorf("unknown argument %q; to ask for something, use: ideagent chat %q", flags.Arg(0), flags.Arg(0)))
	}
	choose := chooser{env: os.Getenv, stored: keys.Open(os.Getenv), pace: *pace, tell: func(c choice) {
		fmt.Fprintf(os.Stderr, "ideagent: model %s: %s\n", c.name, c.why)
	}}
	m, err := choose.choose(ctx, *name)
	if err != nil {
		return misuse(err)
	}
	if err := serve(ctx, m); err != nil {
		fmt.Fprintf(os.Stderr, "ideagent: %v\n", err)
		return exitError
	}
	return exitOK
}

// serve is what it takes to bring an agent into every IDE that speaks ACP: its tools, the agent, the bridge.
func serve(ctx context.Context, m model.Model) error {
	config, err := configure(m)
	if err != nil {
		return err
	}
	return acpbridge.Serve(ctx, config)
}

// session is what the tools of a session know: its files and commands, and what was changed in the files.
type session struct {
	deps.ACPDeps
	changes *checkpoint.Recorder
}

// configure returns the agent and how it is served.
func configure(m model.Model) (config acpbridge.Config[session, string], err error) {
	servers := acpmcp.New(acpmcp.Config{})
	a, err := agent.New(agent.Config[session, string]{
		Name:         "ideagent",
		Model:        m,
		Instructions: instructions,
		Toolsets: []toolset.Toolset[session]{
			acpbridge.Toolset[session](), // the user's files and terminals, through the IDE
			checkpoint.Tools(func(s session) *checkpoint.Recorder { return s.changes }),
			acpmcp.Toolset(servers, mcptoolset.Options[session]{}), // the IDE's MCP servers
		},
	})
	if err != nil {
		return config, err
	}
	title := "Ponte IDE agent"
	auth, _ := m.(acpbridge.Auth) // a model that needs a key
	return acpbridge.Config[session, string]{
		Agent: a,
		Auth:  auth,
		MCP:   servers,
		Deps: func(_ context.Context, d deps.ACPDeps) (session, error) {
			changes := checkpoint.New(d.Workspace.Workspace(), checkpoint.Options{})
			d.Workspace = workspace.NewSession(changes) // the tools work through the recorder
			return session{d, changes}, nil
		},
		RunOptions: func(_ context.Context, s session, prompt *acp.PromptRequest) ([]agent.RunOption, error) {
			s.changes.Mark(titleOf(prompt))
			return nil, nil
		},
		Info:   acp.Implementation{Name: "ideagent", Title: &title, Version: release()},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}, nil
}

// titleOf returns the first text of a prompt, which names the checkpoint that its turn begins with.
func titleOf(prompt *acp.PromptRequest) string {
	for _, block := range prompt.Prompt {
		if block.Text != nil {
			line, _, _ := strings.Cut(block.Text.Text, "\n")
			return strings.ToValidUTF8(line[:min(len(line), 200)], "")
		}
	}
	return ""
}
