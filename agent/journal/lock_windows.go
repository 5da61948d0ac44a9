// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"
	"syscall"
)

const errorSharingViolation = syscall.Errno(32)

// openLocked opens a file for reading and writing, and lets others read it at most, until it is
// closed. The system releases it when the process ends.
func openLocked(path string, create bool) (*lockedFile, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	mode := uint32(syscall.OPEN_EXISTING)
	if create {
		mode = syscall.OPEN_ALWAYS
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil, mode, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, ErrInUse
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &lockedFile{File: os.NewFile(uintptr(handle), path)}, nil
}

// remove closes the file first, because an open file cannot be removed.
func (f *lockedFile) remove() error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// discard closes a file that has no records, and removes it unless another process could have
// written to it by then.
func (f *lockedFile) discard() error { return f.Close() }

// syncDir does nothing, because Windows needs no sync of directories.
func syncDir(string) error { return nil }
