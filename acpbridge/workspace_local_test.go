// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Files of the agent's own are written without the client.
func TestLocalFilesAreNotTheClients(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	client := acptest.New(acptest.Options{})
	defer client.Close()
	w, err := acpbridge.NewWorkspace(client.Deps(dir), acpbridge.LocalFallback{})
	require.NoError(t, err)
	defer w.Close()
	_, err = w.Local().Write(t.Context(), ".agents/results/a.txt", []byte("long\n"), workspace.AnyVersion)
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, ".agents", "results", "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "long\n", string(data))
	_, written := client.File(filepath.Join(dir, ".agents", "results", "a.txt"))
	require.False(t, written)
	_, err = w.Local().Write(t.Context(), "../a.txt", nil, workspace.AnyVersion)
	require.ErrorIs(t, err, workspace.ErrOutside)

	elsewhere, err := acpbridge.NewWorkspace(client.Deps("/no/such/directory"), acpbridge.LocalFallback{})
	require.NoError(t, err)
	defer elsewhere.Close()
	require.Nil(t, elsewhere.Local(), "the directory is on the client's machine")
}
