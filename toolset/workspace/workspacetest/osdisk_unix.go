// SPDX-License-Identifier: Apache-2.0

//go:build unix

package workspacetest

import "syscall"

var notDirectory error = syscall.ENOTDIR

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }
