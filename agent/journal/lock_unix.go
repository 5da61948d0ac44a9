//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file for reading and writing and locks it until it is closed. The system gives the lock back when
// the process ends, however it does.
func openLocked(path string, create bool) (*lockedFile, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return &lockedFile{File: f}, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrInUse
	}
	return nil, os.NewSyscallError("flock", err)
}

// remove removes the file and gives it back.
func (f *lockedFile) remove() error { return errors.Join(os.Remove(f.Name()), f.Close()) }

// syncDir makes it last that a file was created.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
