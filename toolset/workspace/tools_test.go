// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestToolsWithoutFunctionAreFoundByNew(t *testing.T) {
	_, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(), Toolsets: []toolset.Toolset[deps]{workspace.Tools[deps](nil)}})
	require.ErrorContains(t, err, "workspace: Tools: the function is nil")
}

func TestRunWithoutSessionHasNoTools(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("done"))
	a := agent.Must(agent.New(agent.Config[deps, string]{Model: m, Toolsets: []toolset.Toolset[deps]{workspace.Tools(deps.Session)}}))
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Empty(t, m.Requests()[0].Tools)
}

// What is offered does not change from run to run, so provider caches hit and a run pays nothing
// for the definitions.
func TestToolsAreMadeOnce(t *testing.T) {
	tools := workspace.Tools(deps.Session)
	list := func() []*toolset.Tool[deps] {
		ws, err := workspace.NewMemory(workspace.MemoryConfig{})
		require.NoError(t, err)
		run := &toolset.RunContext[deps]{Deps: deps{workspace.NewSession(ws)}}
		in, err := tools.Open(t.Context(), run)
		require.NoError(t, err)
		l, err := in.Tools(t.Context(), run)
		require.NoError(t, err)
		require.Contains(t, l.Instructions, "The working directory is /project")
		return l.Tools
	}
	first, second := list(), list()
	require.NotEmpty(t, first)
	require.Same(t, &first[0], &second[0])
}

// lostWorkspace cannot be reached.
type lostWorkspace struct{ workspace.Workspace }

func (lostWorkspace) Read(context.Context, string, workspace.Range) (workspace.File, error) {
	return workspace.File{}, fmt.Errorf("%w: connection closed", workspace.ErrLost)
}

func TestLostWorkspaceEndsRun(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{})
	require.NoError(t, err)
	_, err = newRig(t, lostWorkspace{ws}).run(t.Context(), toolCall{"read_file", args{"path": "a"}})
	require.ErrorIs(t, err, workspace.ErrLost)
}
