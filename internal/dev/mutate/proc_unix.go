// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// runGroup runs a command in a separate process group, and kills the rest of the group at the end:
// processes that the tests of a mutant did not end.
func runGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return err
}

// limitMemory returns the beginning of a command line that bounds the address space of a test at 8
// GB, because mutants may allocate without end.
func limitMemory() []string { return []string{"sh", "-c", `ulimit -v 8000000; exec "$0" "$@"`} }
