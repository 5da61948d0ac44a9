// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Stage has the parts of a recording for the agent of one turn. Its methods are safe for concurrent
// use.
type Stage struct {
	r    *Recording
	turn int

	mu        sync.Mutex
	summaries int
}

// Stage returns the stage of a turn, counted from 0.
func (r *Recording) Stage(turn int) *Stage { return &Stage{r: r, turn: turn} }

// Model returns a model that replaces each model of the agent. It describes itself as the
// session's model. The responses of the session come by hooks, whatever model the agent has, so it
// only answers requests for summaries (package agent/history), with the summaries of the session.
func (s *Stage) Model() model.Model {
	return model.Func(s.r.Model, func(ctx context.Context, req *model.Request,
		sink model.Sink) (*model.Message, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		known := s.r.Turns[s.turn].Summaries
		if len(known) == 0 {
			return nil, errors.New("replay: a model was asked for something that is not a " +
				"response of the session: use an agent that asks no other models")
		}
		text := known[min(s.summaries, len(known)-1)]
		s.summaries++
		resp := model.Response(model.Text(text))
		resp.Finish = model.FinishStop
		return resp, nil
	})
}

// Workspace returns a workspace in memory with the files of the session as they were when the turn
// began, as far as whole contents are known: see [Options.Checkpoints]. Its root is the directory
// that all files are in.
func (s *Stage) Workspace() (*workspace.Memory, error) {
	files := s.r.Turns[s.turn].Files
	root := "/"
	for n, at := range files {
		dir := path.Dir(s.r.Files[at].Path)
		if n == 0 {
			root = dir
		}
		for root != "/" && root != "." && dir != root && !within(dir, root) {
			root = path.Dir(root)
		}
	}
	space, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{root}})
	if err != nil {
		return nil, fmt.Errorf("replay: the workspace: %w", err)
	}
	for _, at := range files {
		f := &s.r.Files[at]
		if err := space.Disk().WriteFile(f.Path, f.bytes(), 0o644); err != nil {
			return nil, fmt.Errorf("replay: the workspace: %w", err)
		}
	}
	return space, nil
}

func within(dir, root string) bool {
	return len(dir) > len(root) && dir[:len(root)] == root && dir[len(root)] == '/'
}

// ToolsOf returns tools as the model was told of them, for toolsets that cannot be made in a test,
// such as the tools of servers. They cannot be called: the session has their results. They ask
// about the calls that somebody was asked about. Only a recording that was filled knows them.
// Without names, it returns all tools, with those for the output: an agent that has one makes that
// tool itself, so give the names of the others.
func ToolsOf[D any](s *Stage, names ...string) ([]*toolset.Tool[D], error) {
	var tools []*toolset.Tool[D]
	for _, f := range s.r.Frames {
		for _, t := range f.Tools {
			known := func(x *toolset.Tool[D]) bool { return x.Def.Name == t.Name }
			wanted := len(names) == 0 || slices.Contains(names, t.Name)
			if !wanted || slices.ContainsFunc(tools, known) {
				continue
			}
			tool := toolset.Raw(t.Name, t.Description, t.Schema, unreachable[D])
			tool.Approval = func(_ context.Context, run *toolset.RunContext[D],
				_ any) (*toolset.Approval, error) {
				return s.asked(PastCall{Step: run.Step, ID: run.Call.ID}), nil
			}
			tools = append(tools, tool)
		}
	}
	if len(tools) < len(names) {
		return nil, fmt.Errorf("replay: the recording does not know all of the tools %q: "+
			"fill it with the agent of the session first", names)
	}
	return tools, nil
}

// asked returns a question about a call, nil if nobody was asked about it. A call that waits for
// approval at the end of the turn may have been left for later without asking.
func (s *Stage) asked(call PastCall) *toolset.Approval {
	turn := &s.r.Turns[s.turn]
	if turn.Checked == nil {
		return nil
	}
	if slices.Contains(turn.Checked.Asked, call) {
		return new(toolset.Approval)
	}
	step := 0
	for _, at := range turn.Messages {
		m := s.r.Messages[at]
		if step = max(step, m.Step); step != call.Step {
			continue
		}
		for i := range m.PendingCalls {
			w := &m.PendingCalls[i]
			if w.ID == call.ID && len(w.Path) == 0 && w.Approval != nil {
				return new(toolset.Approval)
			}
		}
	}
	return nil
}

func unreachable[D any](context.Context, *toolset.RunContext[D], json.RawMessage) (toolset.Result,
	error) {
	return toolset.Result{}, errors.New("replay: a tool of a recording cannot be called")
}
