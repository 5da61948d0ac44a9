// SPDX-License-Identifier: Apache-2.0

package app

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
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const explorerInstructions = `You explore the project in the user's editor. Find out what you are asked, and answer with the files and lines that show it.
You cannot change anything.`

// capabilities returns what the agent has beside its tools.
func capabilities(m model.Model, store sessions.Store, code *lsptoolset.Servers) ([]agent.Capability[session], error) {
	work := func(s session) *workspace.Session { return s.Workspace }
	project := instructions.New(work, instructions.Options{Names: []string{"AGENTS.md", "CLAUDE.md"}})
	reading := func(_ context.Context, _ *toolset.RunContext[session], t *toolset.Tool[session]) (bool, error) {
		return t.Kind == toolset.KindRead || t.Kind == toolset.KindSearch, nil
	}
	var exploring []toolset.Toolset[session]
	if code != nil {
		exploring = append(exploring, lsptoolset.Tools(code, work, lsptoolset.Options{ReadOnly: true}))
	}
	explorer, err := agent.New(agent.Config[session, string]{
		Name:         "explorer",
		Model:        m,
		Instructions: explorerInstructions,
		Toolsets:     append(exploring, toolset.Filtered(acpbridge.Toolset[session](), reading)),
		Capabilities: []agent.Capability[session]{project},
	})
	if err != nil {
		return nil, err
	}
	all := []agent.Capability[session]{
		project,
		skills.New(skills.Options{}, skills.Workspace(work, ".agents/skills", ".claude/skills")),
		capability.Plan[session](),
		capability.Ask[session](capability.AskOptions{}),
		memory.New(session.notes, memory.Options{}),
		// The tools of the workspace bound their results themselves, below SpillBytes.
		compaction.New(compaction.Options[session]{Model: m, Spill: session.results, SpillBytes: 64 << 10, KeepResults: []string{capability.ToolUpdatePlan}}),
		webfetch.New[session](webfetch.Options{}), // each host is asked about
		subagents.New(subagents.Options[session]{Agents: []subagents.Agent[session]{
			subagents.Of("explorer", "Finds out how things are in the project. It changes nothing.", explorer, func(s session) session { return s }),
		}}),
	}
	if code != nil {
		all = append(all, lsptoolset.Capability(code, work, lsptoolset.Options{}))
	}
	if store != nil { // the sessions of this directory
		all = append(all, capability.Conversations(func(s session) capability.ConversationScope {
			return capability.ConversationScope{Store: store, Dir: s.Session.Cwd, Current: string(s.Session.ID)}
		}))
	}
	return all, nil
}

// notes returns the notes of the project. Undo does not affect them.
func (s session) notes() memory.Store {
	if w := s.writable(); w != nil {
		return memory.Files(w, ".agents/memory")
	}
	return nil
}

// results returns the files that long results are written to. The agent writes them itself, on this machine: a client would ask the user about what the
// model has not asked for. They are written nowhere if the client does not let the agent write.
func (s session) results() workspace.Workspace {
	if bridge, ok := s.writable().(*acpbridge.Workspace); ok && bridge.Local() != nil {
		return bridge.Local()
	}
	return s.writable()
}

// writable returns the files below the recorder, or nil if the client does not let the agent write.
func (s session) writable() workspace.Workspace {
	if s.files == nil {
		return nil
	}
	if can := s.files.Features(); !can.Read || !can.Write || !can.Walk {
		return nil
	}
	return s.files
}
