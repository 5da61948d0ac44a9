// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

func TestConfigurationIsChecked(t *testing.T) {
	for want, c := range map[string]local.Config{
		"OutputLimit and TimeLimit must not be negative": {OutputLimit: -1},
		"TimeLimit must not be negative":                 {TimeLimit: -1},
		`PassEnv has "A" with a value`:                   {PassEnv: []string{"B", "A=secret"}},
		`PassEnv has "" with a value, or an empty name`:  {PassEnv: []string{""}},
	} {
		_, err := local.Open(c)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}

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
