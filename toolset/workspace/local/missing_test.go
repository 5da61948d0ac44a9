// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// What the system calls are is no business of the model's.
func TestErrorOfAMissingFileIsThatOfEveryWorkspace(t *testing.T) {
	ws, err := local.Open(local.Config{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	for _, path := range []string{"missing", "a/b/missing"} {
		_, err = ws.Read(t.Context(), path, workspace.Range{})
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.EqualError(t, err, (&workspace.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}).Error())
	}
}
