// SPDX-License-Identifier: Apache-2.0

//go:build unix || windows

package acpbridge

import (
	"os"
	"syscall"
)

var (
	endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	brokenPipe = []os.Signal{syscall.SIGPIPE}

	brokenPipeErrors = []error{syscall.EPIPE, syscall.ECONNRESET}
)
