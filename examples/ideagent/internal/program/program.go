// SPDX-License-Identifier: Apache-2.0

// Package program is ideagent, which main packages with other stores share.
package program

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel" // openai, openrouter, groq, mistral, ollama, …
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/all"
	"github.com/ponte-go/ponte/app/coding"
	"github.com/ponte-go/ponte/app/offline"
	"github.com/ponte-go/ponte/app/proxy"
	// Providers with a separate package and an SDK are in providers_all.go: build with -tags
	// providers.
)

const task = `You are a coding agent in the user's editor. Work on the files of the working directory with your tools.
Look before you change: read a file before you write it, and search rather than guess. Make the smallest change that does
what was asked, run the project's own tests where there are some, and say briefly what you did and what you found.
If the user refuses something, do not try the same in another way; ask what to do instead.`

// Config describes ideagent.
func Config() app.Config[coding.Deps, string] {
	var kit *coding.Kit
	var bare bool
	return app.Config[coding.Deps, string]{
		Name:    "ideagent",
		Title:   "Ponte IDE agent",
		About:   "A coding agent for editors, terminals and browsers",
		Default: "acp",
		New: func(ctx context.Context, e *app.Env) (*agent.Agent[coding.Deps, string], error) {
			kit = coding.New(e)
			return newAgent(ctx, e, kit, bare || e.Config.Bare)
		},
		Deps: func(ctx context.Context, s *host.Session, p host.Place) (coding.Deps, error) {
			return kit.Deps(ctx, s, p)
		},
		Host: host.Config[coding.Deps, string]{Modes: host.Modes()},
		Setup: func(_ *app.Env, c *host.Config[coding.Deps, string]) error {
			coding.Configure(kit, c)
			return nil
		},
		Demo:     func(pace time.Duration) model.Model { return offline.New(offline.Config{Delay: pace}) },
		Surfaces: all.With(func() acpbridge.Options { return kit.Bridge() }),
		Checks:   []func(context.Context, *app.Env) []app.Check{coding.Checks},
		Commands: []func(*app.Env) *cobra.Command{proxy.Command},
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&bare, "bare", false, "offer only the tools for files, commands and MCP servers, without AGENTS.md and CLAUDE.md, skills, plan,\n"+
				"questions, notes, compaction of long conversations, pages of the web, and the agent that explores")
		},
	}
}

// newAgent makes the agent. A bare one has its tools only.
func newAgent(ctx context.Context, e *app.Env, kit *coding.Kit, bare bool) (*agent.Agent[coding.Deps, string], error) {
	var more []agent.Capability[coding.Deps]
	if !bare {
		store, err := e.Store(ctx)
		if err != nil {
			return nil, err
		}
		more = capabilities(e.Model(), store, kit.Code())
	}
	return agent.New(agent.Config[coding.Deps, string]{
		Name:         "ideagent",
		Model:        e.Model(),
		Instructions: strings.TrimSpace(task + "\n\n" + e.Config.Instructions),
		Capabilities: more,
		Toolsets:     kit.Toolsets(), // the user's files and terminals, /undo, MCP servers
	})
}
