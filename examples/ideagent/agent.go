// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/ponte-go/ponte/agent/model/prices"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/examples/ideagent/internal/keys"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

const task = `You are a coding agent in the user's editor. Work on the files of the working directory with your tools.
Look before you change: read a file before you write it, and search rather than guess. Make the smallest change that does
what was asked, run the project's own tests where there are some, and say briefly what you did and what you found.
If the user refuses something, do not try the same in another way; ask what to do instead.`

func agentCommand(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("ideagent", flag.ContinueOnError)
	name := flags.String("model", "", "`model` that answers, as PROVIDER:NAME: openai:gpt-5-mini, ollama:qwen3:8b, openrouter:…, or offline. Keys and addresses\n"+
		"come from the environment: OPENAI_API_KEY, OPENAI_BASE_URL, OLLAMA_HOST, …\n"+
		"Default: the provider of a key, with OPENAI_MODEL for openai's, else a local Ollama, else offline")
	storeAt := flags.String("store", "", "`directory` to keep sessions in (default: ideagent/sessions in XDG_STATE_HOME, or else in ~/.local/state,\n"+
		"~/Library/Application Support on macOS, LocalAppData on Windows)")
	noStore := flags.Bool("no-store", false, "keep sessions in memory only, until the connection ends")
	bare := flags.Bool("bare", false, "leave out what is beside the tools for files, commands and MCP servers: AGENTS.md and CLAUDE.md, skills, plan,\n"+
		"questions, notes, compaction of long conversations, pages of the web, and the agent that explores")
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
	o := options{bare: *bare}
	if !*noStore {
		dir, err := storeDir(*storeAt, os.Getenv)
		if err != nil {
			fmt.Fprintf(os.Stderr, "ideagent: %v\nideagent: going on without a store: sessions end with the connection\n", err)
		} else {
			store := &lazyStore{dir: dir, tell: func(err error) {
				fmt.Fprintf(os.Stderr, "ideagent: %s\nideagent: this session is kept in memory and ends with the connection\n", show.Line(err.Error()))
			}}
			defer store.Close()
			o.store = store
		}
	} else if *storeAt != "" {
		return misuse(errors.New("-store and -no-store: use one of them"))
	}
	if err := serve(ctx, m, o); err != nil {
		fmt.Fprintf(os.Stderr, "ideagent: %v\n", err)
		return exitError
	}
	return exitOK
}

// serve is what it takes to bring an agent into every IDE that speaks ACP: its tools, the agent, the bridge.
func serve(ctx context.Context, m model.Model, o options) error {
	config, err := configure(m, o)
	if err != nil {
		return err
	}
	return acpbridge.Serve(ctx, config)
}

// options say how the agent is served.
type options struct {
	store sessions.Store // nil keeps sessions in memory
	bare  bool           // no capabilities
}

// session is what the tools of a session know: its files and commands, and what was changed in the files.
type session struct {
	deps.ACPDeps
	changes *checkpoint.Recorder
	turns   *checkpoint.Turns
	files   workspace.Workspace // below changes
}

// configure returns the agent and how it is served.
func configure(m model.Model, o options) (config acpbridge.Config[session, string], err error) {
	servers := acpmcp.New(acpmcp.Config{})
	var more []agent.Capability[session]
	if !o.bare {
		if more, err = capabilities(m); err != nil {
			return config, err
		}
	}
	a, err := agent.New(agent.Config[session, string]{
		Name:         "ideagent",
		Model:        m,
		Instructions: task,
		Capabilities: more,
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
		Store: o.store,
		// A session that slept would forget what /undo takes back, and end commands in the background.
		Idle:     -1,
		Modes:    host.Modes(),
		Commands: host.BuiltIns(prices.Table()),
		Prices:   prices.Table(),
		Unstable: true, // forks, archived sessions and more, for editors that know them
		Files:    func(s session) host.Files { return s.turns },
		Deps: func(_ context.Context, d deps.ACPDeps) (session, error) {
			files := d.Workspace.Workspace()
			changes := checkpoint.New(files, checkpoint.Options{})
			d.Workspace = workspace.NewSession(changes) // the tools work through the recorder
			return session{d, changes, checkpoint.NewTurns(changes), files}, nil
		},
		Info:   acp.Implementation{Name: "ideagent", Title: &title, Version: release()},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}, nil
}
