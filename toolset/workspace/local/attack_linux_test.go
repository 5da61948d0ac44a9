// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"archive/tar"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The test binary is also the program that attacks: its arguments are an attack and its target. It
// writes ESCAPED if the attack has succeeded.
func init() {
	if os.Getenv(escapeMode) == "" || len(os.Args) < 2 {
		return
	}
	attack, ok := attacks[os.Args[1]]
	if !ok {
		return
	}
	runtime.LockOSThread()
	if err := attack(os.Args[2:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ESCAPED")
	os.Exit(0)
}

func number32(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// failed returns the error of a call.
func failed(_, _ uintptr, e syscall.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

func opens(flags int) func([]string) error {
	return func(args []string) error {
		fd, err := syscall.Open(args[0], flags, 0)
		if err == nil {
			err = syscall.Close(fd)
		}
		return err
	}
}

var zeros [256]byte

func at(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// accessList is an access control list in which another user may read and write.
var accessList = []byte{
	2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6, 0, 57, 48, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
	16, 0, 6, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255,
}

var attacks = map[string]func([]string) error{
	"attribute": func(args []string) error { return unix.Setxattr(args[0], "user.ponte", []byte("x"), 0) },
	"attribute-fd": func(args []string) error {
		fd, err := syscall.Open(args[0], syscall.O_RDONLY, 0)
		if err == nil {
			err = unix.Fsetxattr(fd, "user.ponte", []byte("x"), 0)
		}
		return err
	},
	"attribute-at": func(args []string) error {
		path, name, value := append([]byte(args[0]), 0), []byte("user.ponte\x00"), []byte("x")
		in := struct {
			value       uint64
			size, flags uint32
		}{uint64(at(value)), 1, 0}
		cwd := unix.AT_FDCWD
		return failed(syscall.Syscall6(463, uintptr(cwd), at(path), 0, at(name), uintptr(unsafe.Pointer(&in)), 16))
	},
	"access-list": func(args []string) error { return unix.Setxattr(args[0], "system.posix_acl_access", accessList, 0) },
	"flags": func(args []string) error {
		fd, err := syscall.Open(args[0], syscall.O_RDONLY, 0)
		if err == nil {
			err = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x40)
		}
		return err
	},
	"priorities": func([]string) error { // of all processes of the user, which have this one already
		own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		if err == nil {
			err = unix.Setpriority(unix.PRIO_USER, 0, 20-own)
		}
		return err
	},
	"io-priorities": func([]string) error { return failed(syscall.Syscall(unix.SYS_IOPRIO_SET, 3, 0, 0)) },
	"visible": func([]string) error { // whether the machine's /tmp has what was written
		_, err := os.Stat(os.Getenv("HOSTTMP") + ".sock")
		return err
	},
	"inherited": func([]string) error {
		for fd := 3; fd < 200; fd++ {
			if f, err := unix.Openat(fd, "victim", unix.O_WRONLY, 0); err == nil {
				_, err = unix.Write(f, []byte("x"))
				return err
			}
		}
		return os.ErrNotExist
	},
	"setuid-open": func([]string) error {
		return setuid(syscall.Open("s1", syscall.O_CREAT|syscall.O_WRONLY, 0o4755))
	},
	"setuid-fchmod": func([]string) error {
		fd, err := syscall.Open("s2", syscall.O_CREAT|syscall.O_WRONLY, 0o755)
		if err == nil {
			err = syscall.Fchmod(fd, 0o4755)
		}
		return err
	},
	"setuid-fchmodat2": func([]string) error {
		_ = os.WriteFile("s3", nil, 0o755)
		name, cwd := []byte("s3\x00"), unix.AT_FDCWD
		return failed(syscall.Syscall6(452, uintptr(cwd), at(name), 0o4755, 0, 0, 0))
	},
	"setuid-tar": func([]string) error {
		f, err := os.Create("s.tar")
		if err != nil {
			return err
		}
		w := tar.NewWriter(f)
		_ = w.WriteHeader(&tar.Header{Name: "s", Mode: 0o4755, Size: 0, Typeflag: tar.TypeReg})
		_ = w.Close()
		_ = f.Close()
		os.Exit(0)
		return nil
	},
	"privileged": func([]string) error {
		on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
		if err == nil && on != 0 {
			err = syscall.EPERM
		}
		return err
	},
	"handle": func(args []string) error {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, args[0], 0)
		if err != nil {
			return err
		}
		dir, err := syscall.Open("/", syscall.O_RDONLY, 0)
		if err != nil {
			return err
		}
		fd, err := unix.OpenByHandleAt(dir, h, unix.O_RDONLY)
		if err != nil {
			return err
		}
		buf := make([]byte, 100)
		n, err := unix.Read(fd, buf)
		fmt.Println(string(buf[:max(n, 0)]))
		return err
	},
	"memory": func(args []string) error {
		maps, err := os.ReadFile("/proc/" + args[0] + "/environ")
		fmt.Println(string(maps))
		return err
	},
	"pidfd": func(args []string) error {
		fd, err := unix.PidfdOpen(number32(args[0]), 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	},
	"ptrace": func(args []string) error {
		err := unix.PtraceSeize(number32(args[0]))
		if err == nil {
			err = unix.PtraceDetach(number32(args[0]))
			if err == syscall.ESRCH { // it was not stopped
				err = nil
			}
		}
		return err
	},
	"prlimit": func(args []string) error {
		var l unix.Rlimit
		return unix.Prlimit(number32(args[0]), unix.RLIMIT_CORE, nil, &l)
	},
	"getfd": func(args []string) error {
		fd, err := unix.PidfdOpen(number32(args[0]), 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, 1, 0)
		}
		return err
	},
	"shm": func(args []string) error {
		a, err := unix.SysvShmAttach(number32(args[0]), 0, unix.SHM_RDONLY)
		if err == nil {
			fmt.Println(string(a[:10]))
		}
		return err
	},
	"queue": func(args []string) error {
		buf := make([]byte, 8+64)
		const noWait, copied = 0o4000, 0o40000
		n, _, e := syscall.Syscall6(unix.SYS_MSGRCV, uintptr(number32(args[0])), at(buf), 64, 0, noWait|copied, 0)
		if e != 0 {
			return e
		}
		fmt.Println(string(buf[8 : 8+n]))
		return nil
	},
	"terminal": opens(syscall.O_RDWR | syscall.O_NOCTTY),
	"tiocsti": func(args []string) error {
		fd, err := syscall.Open(args[0], syscall.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		return failed(syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, at([]byte("x"))))
	},
	"keyring": func([]string) error {
		id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", keyName, 0)
		if err != nil {
			return err
		}
		buf := make([]byte, 100)
		n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, buf, 0)
		fmt.Println(string(buf[:max(n, 0)]))
		return err
	},
	"dial": func(args []string) error {
		c, err := net.DialTimeout(args[0], args[1], time.Second)
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("x"))
		if err == nil && args[0] == "udp" { // nobody need be there
			os.Exit(0)
		}
		return err
	},
	"io_uring": func([]string) error {
		return failed(syscall.Syscall(unix.SYS_IO_URING_SETUP, 1, at(zeros[:]), 0))
	},
	"socket": func(args []string) error {
		kind := syscall.SOCK_STREAM
		if args[0] == "38" {
			kind = syscall.SOCK_SEQPACKET
		} else if args[0] == "17" {
			kind = syscall.SOCK_RAW
		}
		_, err := syscall.Socket(number32(args[0]), kind, 0)
		return err
	},
	"x32": func([]string) error { return failed(syscall.Syscall(0x40000000|41, 1, 1, 0)) },
	"clone": func([]string) error {
		return child(syscall.Syscall6(syscall.SYS_CLONE, unix.CLONE_NEWUSER|17, 0, 0, 0, 0, 0))
	},
	"clone3": func([]string) error {
		var a [11]uint64
		a[0], a[4] = unix.CLONE_NEWUSER, 17
		return child(syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&a)), 88, 0))
	},
	"open_tree": func([]string) error {
		_, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
		return err
	},
	"override": func([]string) error {
		if err := os.Chown("q", 12345, 12345); err != nil {
			return err
		}
		return os.Chmod("q", 0)
	},
	"writable": opens(syscall.O_WRONLY),
	"readable": opens(syscall.O_RDONLY | syscall.O_NONBLOCK),
	"syslog": func([]string) error {
		_, err := unix.Klogctl(3, make([]byte, 100))
		return err
	},
	"hostname": func([]string) error {
		name, err := os.Hostname()
		if err == nil {
			err = unix.Sethostname([]byte(name))
		}
		return err
	},
	"bpf": func([]string) error { return failed(syscall.Syscall(unix.SYS_BPF, 0, mapAttributes(), 72)) },
	"perf": func([]string) error {
		return failed(syscall.Syscall6(unix.SYS_PERF_EVENT_OPEN, perfAttributes(), 0, ^uintptr(0), ^uintptr(0), 0, 0))
	},
	"userfaultfd": func([]string) error { return failed(syscall.Syscall(unix.SYS_USERFAULTFD, 0, 0, 0)) },
	"iopl":        func([]string) error { return failed(syscall.Syscall(172, 3, 0, 0)) },
}

const keyName = "ponte-escape-test"

func setuid(_ int, err error) error {
	if err != nil {
		return err
	}
	info, err := os.Stat("s1")
	if err == nil && info.Mode()&os.ModeSetuid == 0 {
		err = syscall.EPERM
	}
	return err
}

// child ends the new process, if there is one.
func child(pid, _ uintptr, e syscall.Errno) error {
	switch {
	case e != 0:
		return e
	case pid == 0:
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return nil
}

// mapAttributes describe an array of one element.
func mapAttributes() uintptr {
	a := make([]uint32, 18)
	a[0], a[1], a[2], a[3] = 2, 4, 4, 1
	return uintptr(unsafe.Pointer(&a[0]))
}

// perfAttributes describe a software counter.
func perfAttributes() uintptr {
	a := make([]uint32, 28)
	a[0], a[1] = 1, 112
	return uintptr(unsafe.Pointer(&a[0]))
}

// ipc makes what processes share.
func (s *scene) ipc() {
	if id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600); err == nil {
		if a, err := unix.SysvShmAttach(id, 0, 0); err == nil {
			copy(a, word)
			_ = unix.SysvShmDetach(a)
		}
		s.shm = strconv.Itoa(id)
		s.close = append(s.close, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	}
	id, _, e := syscall.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, 0o600, 0)
	if e == 0 {
		message := append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, word...)
		_, _, _ = syscall.Syscall6(unix.SYS_MSGSND, id, at(message), uintptr(len(word)), 0, 0, 0)
		s.queue = strconv.Itoa(int(id))
		s.close = append(s.close, func() { _, _, _ = syscall.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) })
	}
	if fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
		_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
		n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err == nil {
			s.terminal = "/dev/pts/" + strconv.Itoa(n)
		}
		s.close = append(s.close, func() { _ = unix.Close(fd) })
	}
	if key, err := unix.AddKey("user", keyName, []byte(word), unix.KEY_SPEC_USER_KEYRING); err == nil {
		s.close = append(s.close, func() {
			_, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, key, unix.KEY_SPEC_USER_KEYRING, 0, 0)
		})
	}
}
