// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// lockEdits waits until no other process edits a file. The system gives the lock back when the
// process ends. The locked file stays: a process may wait for it.
func lockEdits(file string) (unlock func(), err error) {
	name := lockName(file)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	var at windows.Overlapped
	h := windows.Handle(f.Fd())
	err = windows.LockFileEx(h, windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &at)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
