// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// A session of a nil workspace is a mistake and ends the run. A nil session means a run without
// files.
func TestSessionOfANilWorkspaceEndsTheRun(t *testing.T) {
	for session, want := range map[*workspace.Session]string{workspace.NewSession(nil): "workspace: NewSession: the workspace is nil", nil: ""} {
		a := agent.Must(agent.New(agent.Config[*workspace.Session, string]{
			Model:    modeltest.Script(modeltest.SayText("ok")),
			Toolsets: []toolset.Toolset[*workspace.Session]{workspace.Tools(func(s *workspace.Session) *workspace.Session { return s })},
		}))
		_, err := a.Run(t.Context(), session, "go")
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
