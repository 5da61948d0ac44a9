// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package acpbridge

import (
	"os"
	"syscall"
)

// dupOnto makes descriptor to a copy of from, which children inherit.
func dupOnto(from, to int) error {
	return os.NewSyscallError("dup2", syscall.Dup2(from, to))
}
