// SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package journal

import (
	"errors"
	"os"
	"sync"
)

// openFiles are the files that this process has locked. These systems have no lock that other
// processes see and that ends with this one.
var openFiles sync.Map

// openLocked opens a file for reading and writing and locks it, to this process alone, until it is
// closed.
func openLocked(path string, create bool) (*lockedFile, error) {
	if _, taken := openFiles.LoadOrStore(path, true); taken {
		return nil, ErrInUse
	}
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		openFiles.Delete(path)
		return nil, err
	}
	return &lockedFile{File: f, unlock: func() { openFiles.Delete(path) }}, nil
}

// remove removes the file and unlocks it.
func (f *lockedFile) remove() error { return errors.Join(os.Remove(f.Name()), f.Close()) }

// discard closes a file that has no records, and removes it unless another process could have
// written to it by then.
func (f *lockedFile) discard() error {
	_ = os.Remove(f.Name()) // an empty file does no harm
	return f.Close()
}

// syncDir does nothing on unknown systems.
func syncDir(string) error { return nil }
