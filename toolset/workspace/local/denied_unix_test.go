// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/internal/unprivtest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// What the user has made read-only stays as it is, and the model and the user are told why. Root
// may write everything, so this runs without its rights.
func TestThreeTruthsAgreeWherePermissionsAreMissing(t *testing.T) {
	if !unprivtest.Here(t) {
		return
	}
	plain := env(t, local.Config{NoCommands: true}, "outside", "project")
	editortest.RunTruths(t, nil, func(*editortest.Editor) (*workspacetest.Env, error) {
		e, err := plain()
		if err == nil {
			e.Deny = os.Chmod
		}
		return e, err
	})
}

func TestErrorsOfPermissions(t *testing.T) {
	if !unprivtest.Here(t) {
		return
	}
	e, err := env(t, local.Config{NoCommands: true}, "outside", "project")()
	require.NoError(t, err)
	defer e.Close()
	root := e.Workspace.Roots()[0]
	require.NoError(t, os.WriteFile(root+"/a", []byte("a"), 0o444))
	_, err = e.Workspace.Write(t.Context(), "a", []byte("b"), workspace.AnyVersion)
	require.EqualError(t, err, `workspace: write "a": permission denied`)
	require.NoError(t, os.Chmod(root+"/a", 0o644))
	require.NoError(t, os.Chmod(root, 0o555))
	defer os.Chmod(root, 0o755)
	for name, op := range map[string]func() error{
		"write": func() error {
			_, err := e.Workspace.Write(t.Context(), "a", []byte("b"), workspace.AnyVersion)
			return err
		},
		"create": func() error {
			_, err := e.Workspace.Write(t.Context(), "new", []byte("b"), "")
			return err
		},
		"create below": func() error {
			_, err := e.Workspace.Write(t.Context(), "dir/new", []byte("b"), "")
			return err
		},
		"remove": func() error { return e.Workspace.Remove(t.Context(), "a", workspace.AnyVersion) },
	} {
		err := op()
		require.ErrorIs(t, err, os.ErrPermission, name)
		require.NotContains(t, err.Error(), root, name)
		require.NotContains(t, err.Error(), ".tmp", name)
	}
	data, err := os.ReadFile(root + "/a")
	require.NoError(t, err)
	require.Equal(t, "a", string(data))
	files, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Len(t, files, 1, "nothing else was left")
}
