// SPDX-License-Identifier: Apache-2.0

package local

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// ownChecks are calls that this processor alone has.
var ownChecks []callCheck

// openCalls are the calls that create files, with the argument that has the flags.
var openCalls = []callCheck{{call: unix.SYS_OPENAT, arg: 2}}
