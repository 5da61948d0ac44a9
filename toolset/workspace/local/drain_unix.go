// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"os"
	"syscall"
	"time"
)

// drain reads what is in a pipe, without waiting for more.
func drain(pipe *os.File, buf []byte, add func([]byte)) {
	_ = pipe.SetReadDeadline(time.Time{})
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	// No pipe holds more than this. A process that never ceases to write must not keep us here.
	const most = 1 << 20
	_ = raw.Read(func(fd uintptr) bool {
		for total := 0; total < most; {
			n, err := syscall.Read(int(fd), buf)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				break
			}
			add(buf[:n])
			total += n
		}
		return true
	})
}
