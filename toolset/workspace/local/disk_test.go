// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// disk is the file system of this machine, for the conformance suite.
type disk struct{}

func (disk) WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

func (disk) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }
func (disk) Mkdir(path string) error              { return os.MkdirAll(path, 0o755) }
func (disk) Remove(path string) error             { return os.RemoveAll(path) }

func (disk) Symlink(target, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

func (disk) Pipe(path string) error { return makePipe(path) }

func (disk) Mode(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		if errors.Is(err, notDirectory) {
			err = workspace.ErrNotDirectory
		}
		return 0, err
	}
	return info.Mode(), nil
}

// open opens a workspace on a new directory, and closes it in the end.
func open(t testing.TB, c local.Config) (*local.Workspace, string) {
	t.Helper()
	if len(c.Roots) == 0 {
		c.Roots = []string{t.TempDir()}
	}
	w, err := local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w, w.Roots()[0]
}

func put(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, disk{}.WriteFile(name, []byte(text), 0o644))
}
