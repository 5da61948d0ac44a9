// SPDX-License-Identifier: Apache-2.0

//go:build linux || dragonfly || openbsd || solaris || illumos

package local

import (
	"io/fs"
	"syscall"
	"time"
)

// identity returns a file's inode and the time of its last change.
func identity(info fs.FileInfo) (inode uint64, changed time.Time, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, time.Time{}, false
	}
	return uint64(s.Ino), time.Unix(s.Ctim.Unix()), true
}
