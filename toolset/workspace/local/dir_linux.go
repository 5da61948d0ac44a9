// SPDX-License-Identifier: Apache-2.0

package local

import (
	"os"
	"strconv"
)

// dirOf returns a path at which a new process finds a directory that is open here. It leads to the
// directory itself, whatever is at real now.
func dirOf(dir *os.File, real string) string {
	path := real
	if raw, err := dir.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { path = "/proc/self/fd/" + strconv.FormatUint(uint64(fd), 10) })
	}
	if _, err := os.Stat(path); err != nil {
		return real // there is no /proc
	}
	return path
}
