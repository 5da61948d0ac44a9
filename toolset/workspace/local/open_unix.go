// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"io/fs"
	"os"
	"syscall"
)

// openNoWait keeps an open from waiting for the other end of a pipe, and from taking a terminal.
const openNoWait = syscall.O_NONBLOCK | syscall.O_NOCTTY

// openDirectory keeps an open from succeeding for anything but a directory, and from waiting.
const openDirectory = syscall.O_DIRECTORY | openNoWait

// keepOwner gives a file the owner of another, if that is allowed.
func keepOwner(f *os.File, old fs.FileInfo) {
	want, ok := old.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if !ok || err != nil {
		return
	}
	if have, ok := info.Sys().(*syscall.Stat_t); ok && (have.Uid != want.Uid || have.Gid != want.Gid) {
		_ = f.Chown(int(want.Uid), int(want.Gid))
	}
}
