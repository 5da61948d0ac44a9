// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlitestore

import (
	"errors"
	"os"
	"syscall"
)

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errInUse
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}

// lockNew makes a file and locks it until it is closed. The system gives the lock back when the
// process ends.
func lockNew(path string) (*lockedFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// A process that is being forked off holds the file, and so the lock, until it becomes another
	// program.
	return &lockedFile{File: f, unlock: func() { _ = flock(f, syscall.LOCK_UN) }}, nil
}

// locked reports whether a file is locked. In doubt it is.
func locked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	// Those who look do not lock each other out.
	if err := flock(f, syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return true
	}
	_ = flock(f, syscall.LOCK_UN)
	return false
}

// remove removes the file and gives it back.
func (f *lockedFile) remove() error {
	err := os.Remove(f.Name())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// syncDir makes it last that a file was made.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
