// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !illumos && !aix

package acpbridge

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// hijackStdio works on the descriptors and thus for the whole process: 0 becomes the null device
// and 1 a copy of 2. os.Stdin and os.Stdout stay the same values and follow their descriptors.
func hijackStdio() (*stdio, error) {
	if err := openStderr(); err != nil {
		return nil, err
	}
	in, err := keep(0, "standard input")
	if err != nil {
		return nil, err
	}
	out, err := keep(1, "standard output")
	if err != nil {
		return nil, errors.Join(err, in.file.Close(), in.restore())
	}
	s := &stdio{in: in.file, out: out.file, restore: func() error {
		return errors.Join(in.restore(), out.restore())
	}}
	if err := divert(); err != nil {
		return nil, errors.Join(err, in.file.Close(), out.file.Close(), s.restore())
	}
	return s, nil
}

// openStderr opens the null device as standard error if the program has closed it. Otherwise
// another file might get its number, and what is printed would go there.
func openStderr() error {
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, 2, syscall.F_GETFD, 0); errno != syscall.EBADF {
		return nil
	}
	fd, err := syscall.Open(os.DevNull, syscall.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the null device: %w", err)
	}
	if fd == 2 {
		return nil
	}
	return errors.Join(dupOnto(fd, 2), syscall.Close(fd))
}

// divert points 0 at the null device and 1 at standard error.
func divert() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the null device: %w", err)
	}
	defer null.Close()
	if err := dupOnto(int(null.Fd()), 0); err != nil {
		return fmt.Errorf("divert standard input: %w", err)
	}
	if err := dupOnto(2, 1); err != nil {
		return fmt.Errorf("divert standard output: %w", err)
	}
	return nil
}

// kept is a standard descriptor whose number is used for something else meanwhile.
type kept struct {
	number   int // 0 or 1
	fd       int // a copy, for restore
	file     *os.File
	blocking bool // as it was; file may have changed it
}

// keep makes copies of a standard descriptor that no child process inherits.
func keep(number int, name string) (*kept, error) {
	k := &kept{number: number}
	fd, err := dupPrivate(number)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if k.fd, err = dupPrivate(number); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), syscall.Close(fd))
	}
	// A read or write on a pipe or socket can be ended by closing the file, but only if the runtime
	// polls the file, and it does that if the descriptor does not block when the file is made.
	// Terminals are left as they are: others use them too.
	if pollable(fd) {
		if k.blocking, err = setNonblock(fd); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), syscall.Close(fd), syscall.Close(k.fd))
		}
	}
	k.file = os.NewFile(uintptr(fd), name)
	return k, nil
}

// restore resets the descriptor. The caller owns the file.
func (k *kept) restore() error {
	err := dupOnto(k.fd, k.number)
	if k.blocking {
		err = errors.Join(err, syscall.SetNonblock(k.fd, false))
	}
	return errors.Join(err, syscall.Close(k.fd))
}

// dupPrivate copies a descriptor. No child process inherits the copy, and its number is never one
// of the standard three.
func dupPrivate(fd int) (int, error) {
	c, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 3)
	if errno != 0 {
		return -1, os.NewSyscallError("dup", errno)
	}
	return int(c), nil
}

func pollable(fd int) bool {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return false
	}
	kind := st.Mode & syscall.S_IFMT
	return kind == syscall.S_IFIFO || kind == syscall.S_IFSOCK
}

// setNonblock reports whether the descriptor blocked before.
func setNonblock(fd int) (blocked bool, err error) {
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if errno != 0 {
		return false, os.NewSyscallError("fcntl", errno)
	}
	if flags&syscall.O_NONBLOCK != 0 {
		return false, nil
	}
	return true, os.NewSyscallError("fcntl", syscall.SetNonblock(fd, true))
}
