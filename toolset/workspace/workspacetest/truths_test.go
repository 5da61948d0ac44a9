// SPDX-License-Identifier: Apache-2.0

package workspacetest_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

func TestThreeTruthsAgreeInMemory(t *testing.T) {
	workspacetest.RunTruths(t, nil, func(*workspacetest.Editor) (*workspacetest.Env, error) {
		ws, err := workspace.NewMemory(workspace.MemoryConfig{})
		if err != nil {
			return nil, err
		}
		return &workspacetest.Env{Workspace: ws, Disk: ws.Disk()}, nil
	})
}

var codingSessions = flag.Int("coding-sessions", 100, "how many random coding sessions are played")

func TestRandomCodingSessionsInMemory(t *testing.T) {
	for seed := range uint64(*codingSessions) {
		require.NoError(t, workspacetest.RunSession(t.Context(), seed, nil, func(*workspacetest.Editor) (*workspacetest.Env, error) {
			ws, err := workspace.NewMemory(workspace.MemoryConfig{})
			if err != nil {
				return nil, err
			}
			return &workspacetest.Env{Workspace: ws, Disk: ws.Disk()}, nil
		}))
	}
}
