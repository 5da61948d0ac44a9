// SPDX-License-Identifier: Apache-2.0

// Command codeagent is a coding agent for the terminal, made of capabilities. It asks before it changes or runs anything. It keeps no
// conversation: examples/ideagent does.
//
//	codeagent [-model MODEL] [-dir DIR] [-scratch] [-yes] [PROMPT]
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/capability/instructions"
	"github.com/ponte-go/ponte/agent/capability/memory"
	"github.com/ponte-go/ponte/agent/capability/skills"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/app/ask"
	"github.com/ponte-go/ponte/app/offline"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Deps are the files and commands of the project.
type Deps struct{ Work *workspace.Session }

func session(d Deps) *workspace.Session { return d.Work }

func newCoder(m model.Model) *agent.Agent[Deps, string] {
	files := workspace.Tools(session)
	project := instructions.New(session, instructions.Options{Names: []string{"AGENTS.md", "CLAUDE.md"}})
	explorer := agent.Must(agent.New(agent.Config[Deps, string]{
		Name: "explorer", Model: m, Instructions: "Find out what you are asked. Name files and lines. You cannot change anything.",
		Toolsets: []toolset.Toolset[Deps]{toolset.Filtered(files, func(_ context.Context, _ *toolset.RunContext[Deps], t *toolset.Tool[Deps]) (bool, error) {
			return t.Kind == toolset.KindRead || t.Kind == toolset.KindSearch, nil
		})},
		Capabilities: []agent.Capability[Deps]{project},
	}))
	helper := subagents.Of("explorer", "Finds out how things are in the project. It changes nothing.", explorer, func(d Deps) Deps { return d })
	return agent.Must(agent.New(agent.Config[Deps, string]{
		Name: "codeagent", Model: m, Toolsets: []toolset.Toolset[Deps]{files},
		Instructions: "You are a coding agent. Look before you change, make the smallest change that does what was asked, run the tests, and say briefly what you did.",
		Capabilities: []agent.Capability[Deps]{
			project,
			skills.New(skills.Options{}, skills.Workspace(session, ".agents/skills", ".claude/skills")),
			capability.Plan[Deps](),
			capability.Ask[Deps](capability.AskOptions{}),
			memory.New(func(d Deps) memory.Store { return memory.Files(d.Work.Workspace(), ".agents/memory") }, memory.Options{}),
			compaction.New(compaction.Options[Deps]{Model: m, Spill: func(d Deps) workspace.Workspace { return d.Work.Workspace() }}),
			subagents.New(subagents.Options[Deps]{Agents: []subagents.Agent[Deps]{helper}}),
		},
	}))
}

func main() {
	log.SetFlags(0)
	name := flag.String("model", "ollama:qwen3:8b", "provider:name of a `model`, or offline: a demo model that follows rules and needs nothing")
	dir := flag.String("dir", ".", "`directory` to work in")
	scratch := flag.Bool("scratch", false, "work on a copy of the directory, and keep the copy for inspection")
	yes := flag.Bool("yes", false, "allow everything without asking")
	flag.Parse()
	ctx := context.Background()
	if *scratch {
		*dir = copied(*dir)
		fmt.Println("Working on a copy:", *dir)
	}
	work := workspace.NewSession(must(local.Open(local.Config{Roots: []string{*dir}})))
	t, coder := ask.New(os.Stdin, os.Stdout), newCoder(must(open(ctx, *name)))
	t.Yes = *yes
	var err error
	if prompt := strings.Join(flag.Args(), " "); prompt != "" {
		_, err = ask.Turn(ctx, t, coder, Deps{work}, prompt, nil)
	} else {
		ask.Converse(ctx, t, coder, Deps{work})
		err = t.Err()
	}
	work.Close(ctx)
	if err != nil {
		log.Fatal(err)
	}
}

func open(ctx context.Context, name string) (model.Model, error) {
	if name == "offline" {
		return offline.New(offline.Config{}), nil
	}
	return model.Open(ctx, name)
}

// copied returns a copy of a directory.
func copied(dir string) string {
	work := filepath.Join(must(os.MkdirTemp("", "codeagent-")), filepath.Base(must(filepath.Abs(dir))))
	return must(work, os.CopyFS(work, os.DirFS(dir)))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
