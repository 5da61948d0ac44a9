// SPDX-License-Identifier: Apache-2.0

package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// failed is the exit code of a process that could not confine itself.
const failed = 126

// become makes this process the command of the policy, or ends it.
func become() {
	runtime.LockOSThread() // the rights are those of a thread
	err := run()
	fmt.Fprintln(os.Stderr, "the command cannot be confined:", err)
	os.Exit(failed)
}

func run() error {
	data, err := io.ReadAll(os.NewFile(FD, "policy"))
	if err != nil {
		return err
	}
	p, err := decode(data)
	if err != nil {
		return err
	}
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	if err := os.Chdir(p.Dir); err != nil {
		return err
	}
	if err := unbound(); err != nil {
		return err
	}
	if err := restrict(p); err != nil {
		return err
	}
	if err := powerless(); err != nil {
		return err
	}
	if err := filtered(p.Filter); err != nil {
		return err
	}
	return unix.Exec(p.Program, append([]string{p.Program}, p.Args...), p.Env)
}

// restrict has Landlock deny all that the policy does not allow, and signals to processes outside.
// Kernels that cannot do all of that are an error.
func restrict(p *Policy) error {
	rules := []landlock.Rule{landlock.RWDirs(p.Write...).WithRefer()}
	var files, dirs []string
	for _, path := range p.Read {
		info, err := os.Stat(path)
		switch {
		case err != nil: // it is gone, or hidden from this user
		case info.IsDir():
			dirs = append(dirs, path)
		default:
			files = append(files, path)
		}
	}
	rules = append(rules,
		landlock.RODirs(dirs...), landlock.ROFiles(files...), landlock.RWFiles(p.Devices...))
	if err := landlock.V6.RestrictPaths(rules...); err != nil {
		return err
	}
	return landlock.V6.RestrictScoped()
}

// unbound drops the capabilities that programs could get.
func unbound() error {
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break // there are no more; or it has no right to, and needs none
		}
		if err != nil {
			return err
		}
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// powerless drops all capabilities. Without new privileges, which Landlock has forbidden, no
// program gets any.
func powerless() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// filtered installs a filter of system calls.
func filtered(filter []byte) error {
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	if len(filter) == 0 || len(filter)%size != 0 {
		return errors.New("the filter of system calls is malformed")
	}
	program := make([]unix.SockFilter, len(filter)/size)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&program[0])), len(filter)), filter)
	f := &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	var pinned runtime.Pinner
	pinned.Pin(f)
	pinned.Pin(f.Filter)
	defer pinned.Unpin()
	at := uintptr(unsafe.Pointer(f))
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, at, 0, 0)
}
