// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"errors"
	"os"
	"syscall"
)

const errorSharingViolation = syscall.Errno(32)

func openFile(path string, share, mode uint32) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(
		name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, share, nil, mode,
		syscall.FILE_ATTRIBUTE_NORMAL, 0,
	)
	if errors.Is(err, errorSharingViolation) {
		return nil, errInUse
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

// lockNew creates a file that only this handle can write to until it is closed. The system unlocks
// it when the process ends.
func lockNew(path string) (*lockedFile, error) {
	f, err := openFile(path, syscall.FILE_SHARE_READ, syscall.CREATE_NEW)
	if err != nil {
		return nil, err
	}
	return &lockedFile{File: f}, nil
}

// locked reports whether a file is locked. In doubt it is.
func locked(path string) bool {
	f, err := openFile(
		path, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE|syscall.FILE_SHARE_DELETE,
		syscall.OPEN_EXISTING,
	)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_ = f.Close()
	return false
}

// remove gives the file back and removes it: an open file cannot be removed.
func (f *lockedFile) remove() error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// syncDir does nothing: the system keeps its directories itself.
func syncDir(string) error { return nil }
