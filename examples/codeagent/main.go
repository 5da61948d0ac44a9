// SPDX-License-Identifier: Apache-2.0

// Command codeagent is a coding agent for the terminal, made of capabilities. It asks before it changes or runs anything.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"unicode"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/capability/ask"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/capability/instructions"
	"github.com/ponte-go/ponte/agent/capability/memory"
	"github.com/ponte-go/ponte/agent/capability/plan"
	"github.com/ponte-go/ponte/agent/capability/skills"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
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
			plan.New[Deps](),
			ask.New[Deps](ask.Options{}),
			memory.New(func(d Deps) memory.Store { return memory.Files(d.Work.Workspace(), ".agents/memory") }, memory.Options{}),
			compaction.New(compaction.Options[Deps]{Model: m, Spill: func(d Deps) workspace.Workspace { return d.Work.Workspace() }}),
			subagents.New(subagents.Options[Deps]{Agents: []subagents.Agent[Deps]{helper}}),
		},
	}))
}

// terminal talks to the user.
type terminal struct {
	in  *bufio.Scanner
	out io.Writer
}

// say writes text without the characters that a terminal would obey.
func (t *terminal) say(format string, args ...any) {
	text := strings.FieldsFunc(fmt.Sprintf(format, args...), func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
	fmt.Fprint(t.out, strings.Join(text, " "))
}

func (t *terminal) line(prompt string, args ...any) (string, bool) {
	t.say(prompt, args...)
	ok := t.in.Scan()
	return strings.TrimSpace(t.in.Text()), ok
}

func (t *terminal) Approve(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	if answer, _ := t.line("\n%s\nAllow? [y/N] ", approval.Text(&r.Approval)); answer == "y" {
		return toolset.Allow(), nil
	}
	return toolset.Deny("The user does not want this."), nil
}

func (t *terminal) Answer(_ context.Context, q toolset.Question) (toolset.Reply, error) {
	answer, _ := t.line("\n%s\n%s\n? ", q.Message, q.Schema)
	content, err := json.Marshal(map[string]string{"answer": answer})
	return toolset.Reply{Action: toolset.ActionAccept, Content: content}, err
}

// converse reads prompts and slash commands until the input ends.
func (t *terminal) converse(ctx context.Context, coder *agent.Agent[Deps, string], d Deps) (messages []*model.Message) {
	for {
		prompt, ok := t.line("\n> ")
		if !ok {
			return messages
		}
		if cmd, is, err := coder.Command(ctx, d, prompt, messages); is {
			if err != nil {
				cmd.Notice = err.Error()
			}
			t.say("%s\n", cmd.Notice)
			if prompt = cmd.Prompt; cmd.Messages != nil {
				messages = cmd.Messages
			}
		}
		if prompt == "" {
			continue
		}
		s := coder.Stream(ctx, d, prompt, agent.WithHistory(messages), agent.WithAsker(t))
		for e := range s.Events() {
			switch {
			case e.Kind == agent.EventPartDelta && e.PartKind == model.PartText:
				t.say("%s", e.Text)
			case e.Kind == agent.EventToolStart:
				t.say("\n[%s %s]\n", e.Tool, e.Args)
			}
		}
		if res, err := s.Result(); err == nil {
			messages = res.Messages
		} else if failed, ok := errors.AsType[*agent.RunError](err); ok {
			messages = failed.Messages
			t.say("\n%v\n", err)
		}
	}
}

func main() {
	name := flag.String("model", "ollama:qwen3:8b", "provider:name of a model")
	flag.Parse()
	ctx := context.Background()
	coder, ws := newCoder(must(model.Open(ctx, *name))), must(local.Open(local.Config{}))
	work := workspace.NewSession(ws)
	defer work.Close(ctx)
	(&terminal{bufio.NewScanner(os.Stdin), os.Stdout}).converse(ctx, coder, Deps{work})
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
