// SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package sqlitestore

import (
	"errors"
	"os"
	"sync"
)

// lockedFiles are the files that this process has locked. The system offers nothing that would tell
// other processes and end with this one.
var lockedFiles sync.Map

// lockNew makes a file and locks it, to this process alone, until it is closed.
func lockNew(path string) (*lockedFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	lockedFiles.Store(path, true)
	return &lockedFile{File: f, unlock: func() { lockedFiles.Delete(path) }}, nil
}

// locked reports whether this process has locked a file.
func locked(path string) bool {
	_, ok := lockedFiles.Load(path)
	return ok
}

// remove removes the file and gives it back.
func (f *lockedFile) remove() error { return errors.Join(os.Remove(f.Name()), f.Close()) }

// syncDir does nothing where nothing is known of the system.
func syncDir(string) error { return nil }
