// SPDX-License-Identifier: Apache-2.0

//go:build unix

package webbridge_test

import "syscall"

// used returns the processor time of this process in nanoseconds. What else the machine does is not in it.
func used() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
