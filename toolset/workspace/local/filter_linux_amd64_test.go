// SPDX-License-Identifier: Apache-2.0

package local

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

// systemCall is what the kernel gives a filter.
type systemCall struct {
	number, arch uint32
	args         [6]uint64
}

// filterVM runs a filter of system calls as the kernel does. The kernel reads words of little
// endian, the machine of package bpf those of big endian.
func filterVM(t *testing.T, filter []byte) func(systemCall) string {
	t.Helper()
	require.NotEmpty(t, filter)
	require.Zero(t, len(filter)%8)
	var program []bpf.Instruction
	for ; len(filter) > 0; filter = filter[8:] {
		raw := bpf.RawInstruction{
			Op: binary.LittleEndian.Uint16(filter), Jt: filter[2], Jf: filter[3], K: binary.LittleEndian.Uint32(filter[4:]),
		}
		program = append(program, raw.Disassemble())
	}
	vm, err := bpf.NewVM(program)
	require.NoError(t, err)
	return func(c systemCall) string {
		data := binary.BigEndian.AppendUint32(nil, c.number)
		data = binary.BigEndian.AppendUint32(data, c.arch)
		data = append(data, make([]byte, 8)...) // where the call is made
		for _, a := range c.args {
			data = binary.BigEndian.AppendUint32(data, uint32(a))
			data = binary.BigEndian.AppendUint32(data, uint32(a>>32))
		}
		got, err := vm.Run(data)
		require.NoError(t, err)
		switch verdict := uint32(got); verdict & 0xffff0000 {
		case 0x7fff0000:
			require.Zero(t, verdict&0xffff)
			return "allowed"
		case 0x00050000:
			return unix.ErrnoName(unix.Errno(verdict & 0xffff))
		case 0x80000000:
			return "killed"
		default:
			return fmt.Sprintf("%#x", verdict)
		}
	}
}

// filterArgs are arguments that the filters must tell apart, for the calls that have such.
var filterArgs = map[uint32][]string{
	unix.SYS_IOCTL: {
		"TIOCSTI 5412", "5411", "5413", "TIOCLINUX 541c", "541b", "541d", "TCGETS 5401",
		"FS_IOC_SETFLAGS 40086602", "40086601", "40086603", "FS_IOC32_SETFLAGS 40046602", "40046601", "40046603",
		"FS_IOC_GETFLAGS 80086601", "FS_IOC_FSSETXATTR 401c5820", "401c581f", "401c5821", "FS_IOC_SETVERSION 40087602", "40087601", "40087603",
		"FS_IOC_ENABLE_VERITY 40806685", "40806684", "40806686", "FS_IOC_SET_ENCRYPTION_POLICY 800c6613", "800c6612", "800c6614",
		"FICLONE 40049409", "4004940a", "40049408", "FICLONERANGE 4020940d", "4020940c", "4020940e", "FIDEDUPERANGE c0189436", "c0189435", "c0189437",
		"BTRFS_IOC_SUBVOL_CREATE 5000940e", "9400", "94ff", "9300", "9500", "940000", "94", "93ff", "1949400",
	},
}

// What the filters of system calls let through and what they refuse: each call, with each bit of
// each argument.
func TestFiltersOfSystemCalls(t *testing.T) {
	var all, first strings.Builder
	for _, c := range []struct {
		name   string
		filter []byte
	}{
		{"in a bubble", filter(false)},
		{"in a bubble, with Unix sockets", filter(true)},
		{"alone", filterAlone(false, false)},
		{"alone, with the network", filterAlone(false, true)},
		{"alone, with Unix sockets", filterAlone(true, false)},
		{"alone, with both", filterAlone(true, true)},
	} {
		run := filterVM(t, c.filter)
		var out strings.Builder
		for _, number := range []uint32{0, 0x3fffffff, 0x40000000, 0x40000001, 0x40000029, 0xffffffff} {
			fmt.Fprintf(&out, "  call %#x: %s\n", number, run(systemCall{number: number, arch: unix.AUDIT_ARCH_X86_64}))
		}
		for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_AARCH64, unix.AUDIT_ARCH_X86_64 + 1, unix.AUDIT_ARCH_X86_64 - 1, 0} {
			fmt.Fprintf(&out, "  processor %#x: %s\n", arch, run(systemCall{arch: arch}))
		}
		for number := range uint32(600) {
			call := func(args ...uint64) string {
				s := systemCall{number: number, arch: unix.AUDIT_ARCH_X86_64}
				copy(s.args[:], args)
				return run(s)
			}
			switch number {
			case unix.SYS_SOCKET:
				for family := range uint64(50) {
					if got := call(family); got != "EAFNOSUPPORT" {
						fmt.Fprintf(&out, "  socket(%d): %s\n", family, got)
					}
				}
				require.Equal(t, "EAFNOSUPPORT", call(1<<31), "the rest is refused")
				continue
			case unix.SYS_IOCTL:
				for _, arg := range filterArgs[number] {
					var request uint64
					_, err := fmt.Sscanf(arg[strings.LastIndex(arg, " ")+1:], "%x", &request)
					require.NoError(t, err)
					fmt.Fprintf(&out, "  ioctl(%s): %s\n", arg, call(1, request))
				}
				require.Equal(t, "allowed", call(0x5412, 0, 0x5412))
				continue
			case unix.SYS_OPEN, unix.SYS_OPENAT:
				name, first := "open", 1
				if number == unix.SYS_OPENAT {
					name, first = "openat", 2
				}
				args := make([]uint64, 4)
				for _, flags := range []uint64{0, unix.O_CREAT, unix.O_TMPFILE, unix.O_TMPFILE &^ unix.O_DIRECTORY, unix.O_DIRECTORY, unix.O_TRUNC, unix.O_EXCL, unix.O_WRONLY | unix.O_CREAT, 1<<32 - 1, 0x3fffff &^ (unix.O_CREAT | unix.O_TMPFILE)} {
					for _, mode := range []uint64{0, 0o644, 0o1777, 0o2000, 0o4000, 0o6755, 0o777777 &^ 0o6000} {
						args[first], args[first+1] = flags, mode
						if got := call(args...); got != "allowed" {
							fmt.Fprintf(&out, "  %s(%#o, %#o): %s\n", name, flags, mode, got)
						}
					}
				}
				args[first], args[first+1] = 0, 0
				for i := range args {
					args[i] = 1<<32 - 1
					require.Equal(t, "allowed", call(args...), "one alone is harmless")
					args[i] = 0
				}
				continue
			}
			ones := uint64(1<<32 - 1)
			if none, all := call(), call(ones, ones, ones, ones, ones, ones); none != "allowed" || all != "allowed" {
				fmt.Fprintf(&out, "  %s: %s", callName(number), none)
				for arg := range 6 {
					var bits []int
					for bit := range 32 {
						var args [6]uint64
						args[arg] = 1 << bit
						if got := call(args[:]...); got != none {
							require.Equal(t, "EPERM", got)
							bits = append(bits, bit)
						}
					}
					if len(bits) == 32 {
						fmt.Fprintf(&out, ", EPERM unless argument %d is 0", arg)
					} else if len(bits) > 0 {
						fmt.Fprintf(&out, ", EPERM with one of the bits %d of argument %d", bits, arg)
					}
				}
				out.WriteByte('\n')
			}
		}
		fmt.Fprintf(&all, "%s:\n", c.name)
		if first.Len() == 0 {
			all.WriteString(out.String())
			first.WriteString(out.String())
			continue
		}
		// Of the others, what differs from the first.
		for line := range strings.Lines(first.String()) {
			if !strings.Contains(out.String(), line) {
				all.WriteString("not" + line)
			}
		}
		for line := range strings.Lines(out.String()) {
			if !strings.Contains(first.String(), line) {
				all.WriteString(line)
			}
		}
	}
	golden(t, "filters.txt", all.String())
}

// Without bits of the high half an argument is what it seems: the kernel ignores them here.
func TestFiltersLookAtTheLowHalves(t *testing.T) {
	run := filterVM(t, filter(false))
	s := systemCall{number: unix.SYS_CHMOD, arch: unix.AUDIT_ARCH_X86_64}
	s.args[1] = 0o4000 << 32
	require.Equal(t, "allowed", run(s))
	s.args[1] |= 0o4000
	require.Equal(t, "EPERM", run(s))
}

// callName returns the name of a call that filters refuse.
func callName(number uint32) string {
	if name := callNames[number]; name != "" {
		return name
	}
	return fmt.Sprint("call ", number)
}

var callNames = map[uint32]string{
	29: "shmget", 30: "shmat", 31: "shmctl", 56: "clone", 64: "semget", 65: "semop", 66: "semctl", 68: "msgget", 69: "msgsnd", 70: "msgrcv", 71: "msgctl",
	85: "creat", 90: "chmod", 91: "fchmod", 133: "mknod", 141: "setpriority", 142: "sched_setparam", 144: "sched_setscheduler", 155: "pivot_root",
	165: "mount", 166: "umount2", 188: "setxattr", 189: "lsetxattr", 190: "fsetxattr", 197: "removexattr", 198: "lremovexattr", 199: "fremovexattr",
	203: "sched_setaffinity", 220: "semtimedop", 240: "mq_open", 241: "mq_unlink", 248: "add_key", 249: "request_key", 250: "keyctl", 251: "ioprio_set",
	259: "mknodat", 268: "fchmodat", 272: "unshare", 298: "perf_event_open", 302: "prlimit64", 304: "open_by_handle_at", 308: "setns", 314: "sched_setattr",
	321: "bpf", 323: "userfaultfd", 425: "io_uring_setup", 426: "io_uring_enter", 427: "io_uring_register", 428: "open_tree", 429: "move_mount", 430: "fsopen",
	435: "clone3", 437: "openat2", 442: "mount_setattr", 452: "fchmodat2", 463: "setxattrat", 466: "removexattrat", 467: "open_tree_attr", 469: "file_setattr",
}
