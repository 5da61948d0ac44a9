// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/capability/instructions"
	"github.com/ponte-go/ponte/agent/capability/memory"
	"github.com/ponte-go/ponte/agent/capability/skills"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/capability/webfetch"
	"github.com/ponte-go/ponte/agent/model"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/coding"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// capabilities returns what the agent has beside its tools.
func capabilities(m model.Model, store sessions.Store, code *lsptoolset.Servers) []agent.Capability[coding.Deps] {
	work := func(s coding.Deps) *workspace.Session { return s.Workspace }
	project := instructions.New(work, instructions.Options{Names: []string{"AGENTS.md", "CLAUDE.md"}})
	reading := func(_ context.Context, _ *toolset.RunContext[coding.Deps], t *toolset.Tool[coding.Deps]) (bool, error) {
		return t.Kind == toolset.KindRead || t.Kind == toolset.KindSearch, nil
	}
	var exploring []toolset.Toolset[coding.Deps]
	if code != nil {
		exploring = append(exploring, lsptoolset.Tools(code, work, lsptoolset.Options{ReadOnly: true}))
	}
	explorer := agent.Must(agent.New(agent.Config[coding.Deps, string]{
		Name:  "explorer",
		Model: m,
		Instructions: "You explore the project in the user's editor. Find out what you are asked, and\n" +
			"answer with the files and lines that show it. You cannot change anything.",
		Toolsets:     append(exploring, toolset.Filtered(acpbridge.Toolset[coding.Deps](), reading)),
		Capabilities: []agent.Capability[coding.Deps]{project},
	}))
	all := []agent.Capability[coding.Deps]{
		project,
		skills.New(skills.Options{}, skills.Workspace(work, ".agents/skills", ".claude/skills")),
		capability.Plan[coding.Deps](),
		capability.Ask[coding.Deps](capability.AskOptions{}),
		memory.New(notes, memory.Options{}),
		// The tools of the workspace bound their results themselves, below SpillBytes.
		compaction.New(compaction.Options[coding.Deps]{Model: m, Spill: coding.Deps.Results, SpillBytes: 64 << 10, KeepResults: []string{capability.ToolUpdatePlan}}),
		webfetch.New[coding.Deps](webfetch.Options{}), // each host is asked about
		subagents.New(subagents.Options[coding.Deps]{Agents: []subagents.Agent[coding.Deps]{
			subagents.Of("explorer", "Finds out how things are in the project. It changes nothing.", explorer, func(s coding.Deps) coding.Deps { return s }),
		}}),
	}
	if code != nil {
		all = append(all, lsptoolset.Capability(code, work, lsptoolset.Options{}))
	}
	if store != nil { // the sessions of this directory
		all = append(all, capability.Conversations(func(s coding.Deps) capability.ConversationScope {
			return capability.ConversationScope{Store: store, Dir: s.Session.Cwd, Current: string(s.Session.ID)}
		}))
	}
	return all
}

// notes are kept with the project, where its files can be written.
func notes(d coding.Deps) memory.Store {
	if w := d.Notes(); w != nil {
		return memory.Files(w, ".agents/memory")
	}
	return nil
}
