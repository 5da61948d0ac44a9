// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPathsAreFollowedToWhatTheyMean follows paths through links of each kind.
func TestPathsAreFollowedToWhatTheyMean(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a/file"), nil, 0o600))
	for name, target := range map[string]string{
		"a/b/up": "../file", "a/b/c/far": "../../../d", "a/b/c/middle": "../../b/../file", "abs": filepath.Join(dir, "a/b"), "gone": "a/none/x", "a/b/c/top": "../../../../../../../../../../../../../..",
		"self": ".", "loop": "loop", "twice": "abs/c", "a/gone": "/no/such/place", "slashes": "a//b/",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	for i := range 42 {
		target := "d"
		if i > 0 {
			target = fmt.Sprint("chain", i-1)
		}
		require.NoError(t, os.Symlink(target, filepath.Join(dir, fmt.Sprint("chain", i))))
	}
	for name, want := range map[string]string{
		"": "", "a/b": "a/b", "a/b/up": "a/file", "a/b/c/far": "d", "a/b/c/far/x": "d/x", "a/b/c/middle": "a/file", "abs": "a/b", "abs/c/far": "d", "abs/up": "a/file", "twice": "a/b/c", "twice/middle": "a/file",
		"gone": "a/none/x", "gone/y/z": "a/none/x/y/z", "none/y": "none/y", "a/file/x/y": "a/file/x/y", "abs/none": "a/b/none", "self/self/a": "a", "chain39/x": "d/x", "slashes/c": "a/b/c",
	} {
		got, err := realPath(filepath.Join(dir, name))
		require.NoError(t, err, name)
		require.Equal(t, filepath.Join(dir, want), got, name)
	}
	for name, want := range map[string]string{"a/b/c/top": "/", "a/b/c/top/no/such": "/no/such", "a/gone/x": "/no/such/place/x"} {
		got, err := realPath(filepath.Join(dir, name))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"loop", "loop/x", "chain40", "chain41"} {
		got, err := realPath(filepath.Join(dir, name))
		require.ErrorIs(t, err, errTooManyLinks, name)
		require.EqualError(t, err, "too many links")
		require.Empty(t, got)
	}
	got, err := realPath(`C:\a\..\b`)
	require.NoError(t, err)
	require.Equal(t, `C:\a\..\b`, got, "a path of another system is left as it is")
	got, err = realPath(filepath.Join(dir, strings.Repeat("x", 5000)))
	require.Error(t, err, "a name that is too long")
	require.False(t, errors.Is(err, fs.ErrNotExist))
	require.Empty(t, got)
}
