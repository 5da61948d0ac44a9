// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"os"
	"syscall"
)

// dupOnto makes descriptor to a copy of from, which children inherit. Not every architecture of
// Linux has dup2.
func dupOnto(from, to int) error {
	return os.NewSyscallError("dup3", syscall.Dup3(from, to, 0))
}
