// SPDX-License-Identifier: Apache-2.0

//go:build unix

package workspacetest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// The disk of this machine makes missing directories, sets the mode of files that are there, and does not follow links.
func TestTheDiskOfThisMachine(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	d, dir := workspacetest.OSDisk{}, t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	mode := func(name string) fs.FileMode {
		t.Helper()
		m, err := d.Mode(path(name))
		require.NoError(t, err)
		return m
	}
	require.NoError(t, d.WriteFile(path("a/b/f"), []byte("one"), 0o640))
	require.Equal(t, fs.FileMode(0o640), mode("a/b/f"))
	require.NoError(t, d.WriteFile(path("a/b/f"), []byte("two"), 0o604))
	require.Equal(t, fs.FileMode(0o604), mode("a/b/f"))
	data, err := d.ReadFile(path("a/b/f"))
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
	require.NoError(t, d.Mkdir(path("c/d")))
	require.NoError(t, d.Symlink("target", path("e/link")))
	for _, name := range []string{"a", "a/b", "c", "c/d", "e"} {
		require.Equal(t, fs.ModeDir|0o755, mode(name), name)
	}
	require.Equal(t, fs.ModeSymlink, mode("e/link").Type())
	target, err := os.Readlink(path("e/link"))
	require.NoError(t, err)
	require.Equal(t, "target", target)
	require.NoError(t, d.Pipe(path("pipe")))
	require.Equal(t, fs.ModeNamedPipe|0o600, mode("pipe"))
	require.NoError(t, d.Remove(path("a")))
	_, err = d.Mode(path("a/b/f"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = d.Mode(path("pipe/x"))
	require.Equal(t, workspace.ErrNotDirectory, err)
	require.Error(t, d.WriteFile(path("pipe/x/f"), nil, 0o600))
	require.Error(t, d.WriteFile(path("c"), nil, 0o600))
	require.Error(t, d.Symlink("t", path("pipe/x/l")))
	require.Error(t, d.Symlink("t", path("e/link")))
	_, err = d.ReadFile(path("nothing"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, d.Remove(path("nothing")))
}
