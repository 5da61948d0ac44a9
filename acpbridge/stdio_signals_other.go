// SPDX-License-Identifier: Apache-2.0

//go:build !unix && !windows

package acpbridge

import "os"

// signal.Notify takes an empty list for all signals; these systems have no others that matter.
var endSignals, brokenPipe = []os.Signal{os.Interrupt}, []os.Signal{os.Interrupt}

var brokenPipeErrors []error
