// SPDX-License-Identifier: Apache-2.0

package editortest_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

func TestThreeTruthsAgreeInMemory(t *testing.T) {
	editortest.RunTruths(t, nil, func(*editortest.Editor) (*workspacetest.Env, error) {
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
		require.NoError(t, editortest.RunSession(t.Context(), seed, nil, func(*editortest.Editor) (*workspacetest.Env, error) {
			ws, err := workspace.NewMemory(workspace.MemoryConfig{})
			if err != nil {
				return nil, err
			}
			return &workspacetest.Env{Workspace: ws, Disk: ws.Disk()}, nil
		}))
	}
}
