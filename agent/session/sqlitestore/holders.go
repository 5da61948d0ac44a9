// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// holders is a directory with a file for each open store. The file is locked until its process
// ends, for whatever reason, and so shows whether the holder of a session still exists.
type holders struct {
	dir  string
	name string // of the own file
	file *lockedFile
}

// lockedFile is a file that is locked until it is closed.
type lockedFile struct {
	*os.File
	// unlock is called before the file is closed, if that is not sure to unlock it.
	unlock func()
}

func (f *lockedFile) Close() error {
	if f.unlock != nil {
		f.unlock()
	}
	return f.File.Close()
}

// errInUse means that another process has locked the file.
var errInUse = errors.New("the file is locked")

// newHolders creates the file of this store, and removes the files of ended processes.
func newHolders(dir string) (*holders, error) {
	h := &holders{dir: dir}
	for range 100 {
		h.name = rand.Text() + ".lock"
		f, err := lockNew(h.path(h.name))
		if errors.Is(err, errInUse) {
			continue // somebody looks whether its process has ended
		}
		if err != nil {
			return nil, err
		}
		mine, err := f.Stat()
		if err == nil {
			var there fs.FileInfo
			if there, err = os.Stat(f.Name()); err == nil && os.SameFile(mine, there) {
				h.file = f
				return h, h.sweep()
			}
		}
		if closeErr := f.Close(); err != nil && !errors.Is(err, fs.ErrNotExist) { // somebody has taken it for one that was left behind
			return nil, errors.Join(err, closeErr)
		}
	}
	return nil, errors.New("cannot lock a file in " + dir)
}

func (h *holders) path(name string) string { return filepath.Join(h.dir, name) }

// alive reports whether the process of a file still has it locked.
func (h *holders) alive(name string) bool {
	switch {
	case name == "":
		return false
	case name == h.name:
		return true
	}
	return locked(h.path(name))
}

// names returns the names of the other files.
func (h *holders) names() (names []string, err error) {
	files, err := os.ReadDir(h.dir)
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".lock") && f.Name() != h.name {
			names = append(names, f.Name())
		}
	}
	return names, err
}

// sweep removes the files of processes that have ended.
func (h *holders) sweep() error {
	names, err := h.names()
	for _, name := range names {
		if !h.alive(name) {
			if removeErr := os.Remove(h.path(name)); !errors.Is(removeErr, fs.ErrNotExist) {
				err = errors.Join(err, removeErr)
			}
		}
	}
	return err
}

// others returns how many other processes, or other parts of this one, have the store open.
func (h *holders) others() (n int, err error) {
	names, err := h.names()
	for _, name := range names {
		if h.alive(name) {
			n++
		}
	}
	return n, err
}

func (h *holders) close() error {
	if h == nil || h.file == nil {
		return nil
	}
	return h.file.remove()
}
