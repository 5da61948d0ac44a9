// SPDX-License-Identifier: Apache-2.0

package subagents

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// note is kept in the history, for a process that resumes the run.
type note struct {
	// Started is set by a call that has begun a sub-agent in the background.
	Started *started `json:"started,omitempty"`
	// Ended are the handles that the model no longer waits for.
	Ended []string `json:"ended,omitempty"`
}

// started describes a sub-agent in the background.
type started struct {
	Handle string `json:"handle"`
	Agent  string `json:"agent"`
	Task   string `json:"task"`
	// Step and Call identify the call that began it.
	Step int    `json:"step"`
	Call string `json:"call"`
	// Run is the id of its run in the journal, empty without one.
	Run string `json:"run,omitempty"`
}

func (n *note) meta() json.RawMessage {
	data, _ := json.Marshal(n) // it is made of strings and numbers
	return data
}

// allStarted are sub-agents in the background.
type allStarted []*started

func (all allStarted) has(handle string) bool {
	return slices.ContainsFunc(all, func(s *started) bool { return s.Handle == handle })
}

// left returns the sub-agents that the run has in the background by its history, the oldest first.
// A response may have the call that gets a result before the one that began the sub-agent.
func left(run *toolset.RunInfo) (all allStarted) {
	for _, m := range run.Messages {
		var ended []string
		for i := range m.Parts {
			p := &m.Parts[i]
			ours := p.Tool == ToolDelegate || p.Tool == ToolWait || p.Tool == ToolCancel
			if m.RunID != run.RunID || p.Kind != model.PartToolReturn || !ours || len(p.Meta) == 0 {
				continue
			}
			var n note
			if json.Unmarshal(p.Meta, &n) != nil {
				continue
			}
			if n.Started != nil {
				all = append(all, n.Started)
			}
			ended = append(ended, n.Ended...)
		}
		all = slices.DeleteFunc(all, func(s *started) bool { return slices.Contains(ended, s.Handle) })
	}
	return all
}

// textLost is told of a tool in the background that was cut off and may not be called again.
const textLost = "The program ended before the agent had finished. It is not known what it has done."

// revive continues the sub-agents that an earlier process had in the background when it ended, by
// their handles, or all. They continue where they were, with the same keys. It returns the lost
// ones: a tool of [FromTool] has no records, so it is called again only if it is idempotent.
func (o *opened[D]) revive(ctx context.Context, run *toolset.RunContext[D], handles []string) (lost allStarted, err error) {
	for _, s := range left(&run.RunInfo) {
		if len(handles) > 0 && !slices.Contains(handles, s.Handle) || o.known(s.Handle) {
			continue
		}
		a, args, err := o.arguments(delegateArgs{Agent: s.Agent, Task: s.Task})
		if err != nil || s.Run == "" || a.background == nil && !a.tool.Idempotent {
			lost = append(lost, s)
			continue
		}
		beside := agent.Beside(ctx, run, s.Run)
		if beside == nil {
			lost = append(lost, s)
			continue
		}
		outside := &toolset.RunContext[D]{Deps: run.Deps, RunInfo: run.RunInfo, Call: run.Call}
		outside.Step, outside.Call.ID, outside.Call.Tool = s.Step, s.Call, ToolDelegate
		if _, err := o.begin(ctx, outside, a, args, s.Handle, s.Task, beside); err != nil {
			return nil, err
		}
	}
	return lost, nil
}
