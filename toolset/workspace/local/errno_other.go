// SPDX-License-Identifier: Apache-2.0

//go:build windows || plan9

package local

import "syscall"

// What the system says, by what it means to a workspace.
var (
	notDirectory = []error{syscall.ENOTDIR}
	isDirectory  = []error{syscall.EISDIR}
	tooLong      []error
	tooManyLinks []error
	tooManyArgs  []error
)
