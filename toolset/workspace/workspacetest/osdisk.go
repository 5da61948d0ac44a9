// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// OSDisk is the [Disk] of this machine. Pipe needs a Unix.
type OSDisk struct{}

// WriteFile implements [Disk].
func (OSDisk) WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// ReadFile implements [Disk].
func (OSDisk) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// Mkdir implements [Disk].
func (OSDisk) Mkdir(path string) error { return os.MkdirAll(path, 0o755) }

// Symlink implements [Disk].
func (OSDisk) Symlink(target, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

// Pipe implements [Disk].
func (OSDisk) Pipe(path string) error { return makePipe(path) }

// Remove implements [Disk].
func (OSDisk) Remove(path string) error { return os.RemoveAll(path) }

// Mode implements [Disk].
func (OSDisk) Mode(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		if errors.Is(err, notDirectory) {
			err = workspace.ErrNotDirectory
		}
		return 0, err
	}
	return info.Mode(), nil
}
