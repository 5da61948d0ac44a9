// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local_test

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

func TestNewFilesHaveTheUsualMode(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	w, root := open(t, local.Config{})
	_, err := w.Write(t.Context(), "d/f", nil, "")
	require.NoError(t, err)
	for name, want := range map[string]os.FileMode{"d": 0o750, "d/f": 0o640} {
		info, err := os.Stat(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), name)
	}
}

func TestWriteReplacesOneOfSeveralNames(t *testing.T) {
	w, root := open(t, local.Config{})
	put(t, filepath.Join(root, "f"), "one")
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Link(filepath.Join(root, "f"), other); err != nil {
		t.Skip(err)
	}
	_, err := w.Write(t.Context(), "f", []byte("two"), workspace.AnyVersion)
	require.NoError(t, err)
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "one", string(text))
}

// Opening a pipe wakes its writer, and a device may do anything.
func TestPipesSocketsAndDevicesAreNotOpened(t *testing.T) {
	dir, err := os.MkdirTemp("", "ponte") // the path of a socket must be short
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	w, root := open(t, local.Config{Roots: []string{dir}})
	require.NoError(t, workspacetest.OSDisk{}.Pipe(filepath.Join(root, "pipe")))
	l, err := net.Listen("unix", filepath.Join(root, "socket"))
	require.NoError(t, err)
	defer l.Close()
	names := []string{"pipe", "socket"}
	if syscall.Mknod(filepath.Join(root, "null"), syscall.S_IFCHR|0o666, 1<<8|3) == nil {
		names = append(names, "null")
	}
	for _, name := range names {
		_, err := w.Read(t.Context(), name, workspace.Range{})
		require.ErrorIs(t, err, workspace.ErrNotRegular, name)
		_, err = w.Write(t.Context(), name, nil, workspace.AnyVersion)
		require.ErrorIs(t, err, workspace.ErrNotRegular, name)
		_, err = w.Start(t.Context(), workspace.Command{Line: "true", Dir: name})
		require.ErrorIs(t, err, workspace.ErrNotDirectory, name)
		info, err := w.Stat(t.Context(), name)
		require.NoError(t, err)
		require.False(t, info.Mode.IsRegular())
		require.Empty(t, info.Version)
	}
	for info, err := range w.Walk(t.Context(), ".", workspace.WalkOptions{Details: true}) {
		require.NoError(t, err)
		require.Empty(t, info.Version, info.Path)
	}
}

// Somebody exchanges a directory for a link that leads out, all the time, while every method is used.
func TestExchangedDirectoriesLeadNowhere(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	outside := filepath.Join(base, "outside")
	put(t, filepath.Join(outside, "sub", "f"), "secret")
	put(t, filepath.Join(outside, "sub", "only-outside"), "secret")
	require.NoError(t, os.Mkdir(filepath.Join(base, "project"), 0o755))
	w, root := open(t, local.Config{Roots: []string{filepath.Join(base, "project")}, Grace: -1})
	real, spare, out := filepath.Join(root, "d"), filepath.Join(root, "spare"), filepath.Join(root, "out")
	put(t, filepath.Join(real, "sub", "f"), "harmless")
	require.NoError(t, os.Symlink(outside, out))

	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(real, spare)
			_ = os.Rename(out, real)
			_ = os.Rename(real, out)
			_ = os.Rename(spare, real)
		}
	})
	for i := range 150 {
		if f, err := w.Read(t.Context(), "d/sub/f", workspace.Range{}); err == nil {
			require.Equal(t, "harmless", string(f.Data))
		}
		_, err = w.Stat(t.Context(), "d/sub/only-outside")
		require.Error(t, err)
		_, _ = w.Write(t.Context(), "d/sub/f", []byte("harmless"), workspace.AnyVersion)
		_, _ = w.Write(t.Context(), "d/sub/new/new", nil, "")
		_ = w.Remove(t.Context(), "d/sub/new/new", workspace.AnyVersion)
		require.Error(t, w.Remove(t.Context(), "d/sub/only-outside", workspace.AnyVersion))
		for info := range w.Walk(t.Context(), "d", workspace.WalkOptions{}) {
			require.NotContains(t, info.Path, "only-outside")
		}
		if i%20 == 0 {
			p, err := w.Start(t.Context(), workspace.Command{Line: "ls", Dir: "d/sub"})
			if err != nil {
				continue
			}
			_, err = p.Wait(t.Context())
			require.NoError(t, err)
			c, err := p.Output(t.Context(), 0, 0)
			require.NoError(t, err)
			require.NotContains(t, string(c.Data), "only-outside")
			require.NoError(t, p.Close(t.Context()))
		}
	}
	close(stop)
	swapper.Wait()
	text, err := os.ReadFile(filepath.Join(outside, "sub", "f"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(text))
	entries, err := os.ReadDir(filepath.Join(outside, "sub"))
	require.NoError(t, err)
	require.Len(t, entries, 2)
	entries, err = os.ReadDir(filepath.Join(real, "sub"))
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, e.Name(), ".tmp", "left by a write")
	}
}

func TestFilesThatMayNotBeReadAreErrors(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	w, root := open(t, local.Config{})
	put(t, filepath.Join(root, "f"), "")
	require.NoError(t, os.Chmod(filepath.Join(root, "f"), 0))
	_, err := w.Read(t.Context(), "f", workspace.Range{})
	require.ErrorIs(t, err, os.ErrPermission)
}
