// SPDX-License-Identifier: Apache-2.0

package local

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// ownChecks are calls that newer processors do not have.
var ownChecks = []callCheck{
	{call: unix.SYS_CHMOD, arg: 1, bits: setID, error: secret},
	{call: unix.SYS_CREAT, arg: 1, bits: setID, error: secret},
	{call: unix.SYS_MKNOD, arg: 1, bits: setID, error: secret},
}

// openCalls are the calls that create files, with the argument that has the flags.
var openCalls = []callCheck{{call: unix.SYS_OPEN, arg: 1}, {call: unix.SYS_OPENAT, arg: 2}}
