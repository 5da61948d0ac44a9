// SPDX-License-Identifier: Apache-2.0

package local

import (
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// filterAlone is the filter for a sandbox without namespaces. It refuses what those would keep
// apart, and all sockets of the internet without the network.
func filterAlone(sockets, network bool) []byte {
	return assemble(slices.Concat(checks, aloneChecks), familiesOf(sockets, network), attributes())
}

const nonzero = ^uint32(0)

// Calls that are new on all processors.
const (
	setxattrat    = 463
	removexattrat = 466
	openTreeAttr  = 467
	fileSetattr   = 469
)

// aloneChecks are calls that reach other processes, or memory that they share, or change what is
// known about a file, such as access control lists, for which Landlock has no rule. Landlock
// refuses signals, and all that a debugger may do.
var aloneChecks = []callCheck{
	{call: unix.SYS_SETPRIORITY, arg: 1, bits: nonzero, error: secret},
	{call: unix.SYS_SETPRIORITY, arg: 0, bits: unix.PRIO_USER, error: secret},
	{call: unix.SYS_PRLIMIT64, arg: 0, bits: nonzero, error: secret},
	{call: unix.SYS_IOPRIO_SET, arg: 1, bits: nonzero, error: secret},
	{call: unix.SYS_IOPRIO_SET, arg: 0, bits: 2, error: secret}, // of groups and users
	{call: unix.SYS_SETXATTR, error: unix.EOPNOTSUPP},
	{call: unix.SYS_LSETXATTR, error: unix.EOPNOTSUPP},
	{call: unix.SYS_FSETXATTR, error: unix.EOPNOTSUPP},
	{call: unix.SYS_REMOVEXATTR, error: unix.EOPNOTSUPP},
	{call: unix.SYS_LREMOVEXATTR, error: unix.EOPNOTSUPP},
	{call: unix.SYS_FREMOVEXATTR, error: unix.EOPNOTSUPP},
	{call: setxattrat, error: unknown},
	{call: removexattrat, error: unknown},
	{call: fileSetattr, error: unknown},
	{call: openTreeAttr, error: unknown},
	{call: unix.SYS_SCHED_SETAFFINITY, arg: 0, bits: nonzero, error: secret},
	{call: unix.SYS_SCHED_SETSCHEDULER, arg: 0, bits: nonzero, error: secret},
	{call: unix.SYS_SCHED_SETPARAM, arg: 0, bits: nonzero, error: secret},
	{call: unix.SYS_SCHED_SETATTR, arg: 0, bits: nonzero, error: secret},
	{call: unix.SYS_SHMGET, error: unknown},
	{call: unix.SYS_SHMAT, error: unknown},
	{call: unix.SYS_SHMCTL, error: unknown},
	{call: unix.SYS_MSGGET, error: unknown},
	{call: unix.SYS_MSGRCV, error: unknown},
	{call: unix.SYS_MSGSND, error: unknown},
	{call: unix.SYS_MSGCTL, error: unknown},
	{call: unix.SYS_SEMGET, error: unknown},
	{call: unix.SYS_SEMOP, error: unknown},
	{call: unix.SYS_SEMTIMEDOP, error: unknown},
	{call: unix.SYS_SEMCTL, error: unknown},
	{call: unix.SYS_MQ_OPEN, error: unknown},
	{call: unix.SYS_MQ_UNLINK, error: unknown},
}

// Requests to file systems that change a file which is open for reading only, or make one beside
// it.
var (
	attributeRequests = []uint32{
		0x40086602, 0x40046602, // FS_IOC_SETFLAGS, of 64 and 32 bits
		0x401c5820, // FS_IOC_FSSETXATTR
		0x40087602, // FS_IOC_SETVERSION
		0x40806685, // FS_IOC_ENABLE_VERITY
		0x800c6613, // FS_IOC_SET_ENCRYPTION_POLICY
	}
	// btrfs makes subvolumes. Its requests to clone a file are those of all file systems.
	btrfs      = uint32(0x94)
	btrfsClone = []uint32{unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE}
)

// attributes refuses these requests.
func attributes() []bpf.Instruction {
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: requestAt, Size: 4}}
	rest := len(attributeRequests) + len(btrfsClone) + 3 // instructions after the first comparison
	for _, r := range attributeRequests {
		rest--
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: r, SkipTrue: uint8(rest)})
	}
	for _, r := range btrfsClone {
		rest--
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: r, SkipTrue: uint8(rest + 1)})
	}
	program = append(program,
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 8},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: btrfs, SkipFalse: 1},
		bpf.RetConstant{Val: refused | uint32(unix.EOPNOTSUPP)},
		bpf.LoadAbsolute{Off: numberAt, Size: 4},
	)
	skip := uint8(len(program))
	return append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_IOCTL, SkipFalse: skip},
	}, program...)
}
