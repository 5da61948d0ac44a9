// SPDX-License-Identifier: Apache-2.0

package local

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in the data of a system call, on processors of little endian: those that have a filter.
const (
	numberAt = 0
	archAt   = 4
	argsAt   = 16
)

// callCheck refuses calls. bits are tested in the low half of an argument. Without bits each call
// is refused.
type callCheck struct {
	call  uint32
	arg   uint32
	bits  uint32
	error unix.Errno
}

const (
	creating  = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	setID     = unix.S_ISUID | unix.S_ISGID
	newUsers  = unix.CLONE_NEWUSER
	secret    = unix.EPERM
	unknown   = unix.ENOSYS // programs have another way then
	allowed   = 0x7fff0000
	refused   = 0x00050000 // with an error
	killed    = 0x80000000 // the process
	x32       = 0x40000000
	sockArg   = argsAt
	requestAt = argsAt + 8
)

// checks are the calls that are refused on all processors.
//
//   - User namespaces have capabilities, and the parts of the kernel that those open to attacks.
//   - io_uring does what is asked for without the calls that are checked here.
//   - The keys of the kernel belong to the user's session.
//   - A program with another user's rights would stay when the command has ended.
var checks = []callCheck{
	{call: unix.SYS_UNSHARE, bits: newUsers, error: secret},
	{call: unix.SYS_CLONE, bits: newUsers, error: secret},
	{call: unix.SYS_CLONE3, error: unknown},
	{call: unix.SYS_SETNS, error: secret},
	{call: unix.SYS_IO_URING_SETUP, error: unknown},
	{call: unix.SYS_IO_URING_ENTER, error: unknown},
	{call: unix.SYS_IO_URING_REGISTER, error: unknown},
	{call: unix.SYS_ADD_KEY, error: secret},
	{call: unix.SYS_REQUEST_KEY, error: secret},
	{call: unix.SYS_KEYCTL, error: secret},
	{call: unix.SYS_BPF, error: secret},
	{call: unix.SYS_PERF_EVENT_OPEN, error: secret},
	{call: unix.SYS_USERFAULTFD, error: secret},
	{call: unix.SYS_OPEN_BY_HANDLE_AT, error: secret},
	{call: unix.SYS_MOUNT, error: secret},
	{call: unix.SYS_UMOUNT2, error: secret},
	{call: unix.SYS_PIVOT_ROOT, error: secret},
	{call: unix.SYS_MOVE_MOUNT, error: secret},
	{call: unix.SYS_OPEN_TREE, error: secret},
	{call: unix.SYS_FSOPEN, error: secret},
	{call: unix.SYS_MOUNT_SETATTR, error: secret},
	{call: unix.SYS_FCHMOD, arg: 1, bits: setID, error: secret},
	{call: unix.SYS_FCHMODAT, arg: 2, bits: setID, error: secret},
	{call: fchmodat2, arg: 2, bits: setID, error: secret},
	{call: unix.SYS_OPENAT2, error: unknown},
	{call: unix.SYS_MKNODAT, arg: 2, bits: setID, error: secret},
}

const fchmodat2 = 452

// filter returns the filter of system calls, as the kernel reads it, or nil if there is none for
// this processor. It refuses calls of other processors' programs, whose numbers differ.
func filter(sockets bool) []byte { return assemble(checks, familiesOf(sockets, true), nil) }

func assemble(checks []callCheck, families []uint32, more []bpf.Instruction) []byte {
	if arch == 0 {
		return nil
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: killed},
		bpf.LoadAbsolute{Off: numberAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: refused | uint32(unknown)},
	}
	for _, list := range [][]callCheck{checks, ownChecks} {
		for _, c := range list {
			program = append(program, c.program()...)
		}
	}
	program = append(program, creates()...)
	program = append(program, types()...)
	program = append(program, more...)
	program = append(program, sockets(families)...)
	program = append(program, bpf.RetConstant{Val: allowed})
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil
	}
	var out []byte
	for _, r := range raw {
		out = binary.LittleEndian.AppendUint16(out, r.Op)
		out = append(out, r.Jt, r.Jf)
		out = binary.LittleEndian.AppendUint32(out, r.K)
	}
	return out
}

// program is the check, after which the number is loaded again.
func (c callCheck) program() []bpf.Instruction {
	deny := bpf.RetConstant{Val: refused | uint32(c.error)}
	if c.bits == 0 {
		return []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.call, SkipFalse: 1}, deny}
	}
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.call, SkipFalse: 4},
		bpf.LoadAbsolute{Off: argsAt + 8*c.arg, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: c.bits, SkipFalse: 1},
		deny,
		bpf.LoadAbsolute{Off: numberAt, Size: 4},
	}
}

// creates refuses to create a file that has another user's rights. The mode counts only with
// O_CREAT or O_TMPFILE: otherwise the argument may be anything.
func creates() (program []bpf.Instruction) {
	for _, c := range openCalls {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.call, SkipFalse: 6},
			bpf.LoadAbsolute{Off: argsAt + 8*c.arg, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: creating, SkipFalse: 3},
			bpf.LoadAbsolute{Off: argsAt + 8*(c.arg+1), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: setID, SkipFalse: 1},
			bpf.RetConstant{Val: refused | uint32(secret)},
			bpf.LoadAbsolute{Off: numberAt, Size: 4},
		)
	}
	return program
}

// types refuses to type into a terminal.
func types() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_IOCTL, SkipFalse: 5},
		bpf.LoadAbsolute{Off: requestAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCLINUX, SkipFalse: 1},
		bpf.RetConstant{Val: refused | uint32(secret)},
		bpf.LoadAbsolute{Off: numberAt, Size: 4},
	}
}

// familiesOf are the sockets that are allowed. Those of the internet use the sandbox's own network,
// unless the machine's is allowed. Others lead out: Unix sockets by a file, and sockets of virtual
// machines to the host.
func familiesOf(sockets, internet bool) (all []uint32) {
	if internet {
		all = []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	if sockets {
		all = append(all, unix.AF_UNIX)
	}
	return all
}

// sockets refuses sockets of other families.
func sockets(all []uint32) []bpf.Instruction {
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: sockArg, Size: 4}}
	for i, family := range all {
		rest := uint8(len(all) - i)
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipTrue: rest})
	}
	program = append(program, bpf.RetConstant{Val: refused | uint32(unix.EAFNOSUPPORT)})
	skip := uint8(len(program))
	first := bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SOCKET, SkipFalse: skip}
	return append([]bpf.Instruction{first}, program...)
}
