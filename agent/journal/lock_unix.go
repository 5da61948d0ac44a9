// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file for reading and writing and locks it until it is closed. The system
// releases the lock when the process ends.
func openLocked(path string, create bool) (*lockedFile, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	for {
		err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		// A process that is being forked off holds the file, and so the lock, until it becomes
		// another program.
		return &lockedFile{File: f, unlock: func() { _ = syscall.Flock(fd, syscall.LOCK_UN) }}, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrInUse
	}
	return nil, os.NewSyscallError("flock", err)
}

// remove removes the file and unlocks it.
func (f *lockedFile) remove() error { return errors.Join(os.Remove(f.Name()), f.Close()) }

// discard closes a file that has no records, and removes it unless another process could have
// written to it by then.
func (f *lockedFile) discard() error {
	_ = os.Remove(f.Name()) // an empty file does no harm
	return f.Close()
}

// syncDir makes the creation of a file durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
