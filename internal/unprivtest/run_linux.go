// SPDX-License-Identifier: Apache-2.0

package unprivtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

const marker = "PONTE_TEST_UNPRIVILEGED"

// Linux capabilities, see capabilities(7) and prctl(2).
const (
	capDACOverride   = 1
	capDACReadSearch = 2
	prCapBSetDrop    = 24
)

// Here reports whether the permissions of files hold for this process, and the test can continue.
// They do not hold for root: then Here runs the test, a top-level one, again in a process without
// these rights, reports its failure, and returns false.
func Here(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 || os.Getenv(marker) != "" {
		if hold(t) {
			return true
		}
		t.Skip("permissions of files do not hold here")
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v=" + verbose()}
	for _, arg := range os.Args[1:] { // the flags of the package
		if !strings.HasPrefix(arg, "-test.") {
			args = append(args, arg)
		}
	}
	out, err := run(exec.Command(os.Args[0], args...))
	switch {
	case err != nil:
		t.Errorf("without the rights of root: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()+" ("):
		t.Skipf("without the rights of root: %s", out)
	}
	return false
}

func verbose() string {
	if testing.Verbose() {
		return "true"
	}
	return "false"
}

// hold reports whether a file without permissions cannot be read.
func hold(t *testing.T) bool {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
	_, err := os.ReadFile(name)
	return err != nil
}

// run runs a command that gets no rights to pass over permissions. They are taken from a thread
// that ends with the goroutine.
func run(c *exec.Cmd) (out []byte, err error) {
	c.Env = append(os.Environ(), marker+"=1")
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		for _, right := range []uintptr{capDACOverride, capDACReadSearch} {
			_, _, wrong := syscall.RawSyscall(syscall.SYS_PRCTL, prCapBSetDrop, right, 0)
			if wrong != 0 {
				err = os.NewSyscallError("prctl", wrong)
				return
			}
		}
		out, err = c.CombinedOutput()
	}()
	<-done
	return out, err
}
