// SPDX-License-Identifier: Apache-2.0

package instructions_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/instructions"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

type deps struct{ work *workspace.Session }

// project is a workspace with an agent on it.
type project struct {
	t     *testing.T
	ws    *workspace.Memory
	deps  deps
	agent *agent.Agent[deps, string]
}

type files = map[string]string

func newProject(t *testing.T, o instructions.Options, c workspace.MemoryConfig) *project {
	t.Helper()
	if c.Roots == nil {
		c.Roots = []string{"/repo"}
	}
	ws, err := workspace.NewMemory(c)
	require.NoError(t, err)
	work := workspace.NewSession(ws)
	t.Cleanup(func() { _ = work.Close(context.Background()) })
	session := func(d deps) *workspace.Session { return d.work }
	a, err := agent.New(agent.Config[deps, string]{
		Toolsets:     []toolset.Toolset[deps]{workspace.Tools(session)},
		Capabilities: []agent.Capability[deps]{instructions.New(session, o)},
	})
	require.NoError(t, err)
	return &project{t, ws, deps{work}, a}
}

func (p *project) write(path, text string) {
	p.t.Helper()
	require.NoError(p.t, p.ws.Disk().WriteFile(path, []byte(text), 0o644))
}

func (p *project) link(target, path string) {
	p.t.Helper()
	require.NoError(p.t, p.ws.Disk().Symlink(target, path))
}

// run runs the agent with a script and returns its requests and the history.
func (p *project) run(history []*model.Message, steps ...modeltest.Step) ([]*model.Request, []*model.Message) {
	p.t.Helper()
	script := modeltest.Script(append(steps, modeltest.SayText("done"))...)
	allow := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Allow(), nil
	}}
	res, err := p.agent.Run(p.t.Context(), p.deps, "go", agent.WithModel(script), agent.WithHistory(history), agent.WithAsker(allow))
	require.NoError(p.t, err)
	return script.Requests(), res.Messages
}

// standing returns what a run begins with, without what the workspace says.
func (p *project) standing() string {
	p.t.Helper()
	script := modeltest.Script(modeltest.SayText("done"))
	a := agent.Must(agent.New(agent.Config[deps, string]{Model: script, Capabilities: []agent.Capability[deps]{
		instructions.New(func(d deps) *workspace.Session { return d.work }, instructions.Options{}),
	}}))
	_, err := a.Run(p.t.Context(), p.deps, "go")
	require.NoError(p.t, err)
	return script.Requests()[0].Instructions
}

func read(id, path string) model.Part {
	return model.ToolCall(id, workspace.ToolReadFile, `{"path":"`+path+`"}`)
}

// added returns the texts that tools have added to a history.
func added(messages []*model.Message) (all []string) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartUser && p.Meta != nil {
				all = append(all, p.Text)
			}
		}
	}
	return all
}
