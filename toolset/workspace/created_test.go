// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// creating is a workspace whose commands create what a sandbox could not protect.
type creating struct{ workspace.Workspace }

func (w creating) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	p, err := w.Workspace.Start(ctx, c)
	return created{p}, err
}

type created struct{ workspace.Process }

func (p created) Wait(ctx context.Context) (workspace.Exit, error) {
	exit, err := p.Process.Wait(ctx)
	exit.Created = []string{"/repo/.envrc", "/repo/a\u202e"}
	return exit, err
}

func TestModelIsToldWhatACommandCreated(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Commands: scripts})
	require.NoError(t, err)
	text := newRig(t, creating{ws}).call("run_command", args{"command": "echo hi"})
	require.Contains(t, text, "exit code 0; while it ran, these files were created, which other programs execute or obey: ")
	require.Contains(t, text, `/repo/.envrc, "/repo/a\u202e". Tell the user`)
}
