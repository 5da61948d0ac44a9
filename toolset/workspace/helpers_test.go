// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

type args = map[string]any

type deps struct{ session *workspace.Session }

func (d deps) Session() *workspace.Session { return d.session }

// rig runs tools through an agent whose model makes the calls that a test gives it.
type rig struct {
	t       *testing.T
	ws      workspace.Workspace
	session *workspace.Session
	options []workspace.ToolsOption
	asker   toolset.Asker
	// asked are the approvals that were requested, with the tool's name.
	asked []toolset.ApprovalRequest
}

func newRig(t *testing.T, ws workspace.Workspace, opts ...workspace.ToolsOption) *rig {
	r := &rig{t: t, ws: ws, session: workspace.NewSession(ws), options: opts}
	t.Cleanup(func() { require.NoError(t, r.session.Close(context.Background())) })
	return r
}

func inMemory(t *testing.T, c workspace.MemoryConfig, opts ...workspace.ToolsOption) (*rig, *workspace.Memory) {
	t.Helper()
	ws, err := workspace.NewMemory(c)
	require.NoError(t, err)
	return newRig(t, ws, opts...), ws
}

// Approve implements [toolset.Asker]: everything is allowed unless the rig has an asker of its own.
func (r *rig) Approve(ctx context.Context, req toolset.ApprovalRequest) (toolset.Decision, error) {
	r.asked = append(r.asked, req)
	if r.asker != nil {
		return r.asker.Approve(ctx, req)
	}
	return toolset.Allow(), nil
}

func (r *rig) Answer(context.Context, toolset.Question) (toolset.Reply, error) {
	return toolset.Reply{}, toolset.ErrNobody
}

type toolCall struct {
	tool string
	args args
}

// calls runs calls one after the other, each in a response of its own, and returns what the model
// was told.
func (r *rig) calls(calls ...toolCall) []model.Part {
	r.t.Helper()
	res, err := r.run(r.t.Context(), calls...)
	require.NoError(r.t, err)
	var told []model.Part
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				told = append(told, p)
			}
		}
	}
	require.Len(r.t, told, len(calls))
	return told
}

func (r *rig) run(ctx context.Context, calls ...toolCall) (*agent.Result[string], error) {
	var script []modeltest.Step
	for i, c := range calls {
		raw, err := json.Marshal(c.args)
		require.NoError(r.t, err)
		script = append(script, modeltest.Say(model.ToolCall(fmt.Sprint("c", i), c.tool, string(raw))))
	}
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model:       modeltest.Script(append(script, modeltest.SayText("done"))...),
		Toolsets:    []toolset.Toolset[deps]{workspace.Tools(deps.Session, r.options...)},
		ToolRetries: new(100),
	}))
	return a.Run(ctx, deps{r.session}, "go", agent.WithAsker(r))
}

// call makes one call and returns the text that the model was told.
func (r *rig) call(tool string, a args) string {
	r.t.Helper()
	return r.calls(toolCall{tool, a})[0].Text
}
