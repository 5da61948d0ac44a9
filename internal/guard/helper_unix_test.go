// SPDX-License-Identifier: Apache-2.0

//go:build unix

package guard_test

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/guard"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "owner" {
		owner()
	}
	os.Exit(m.Run())
}

// newShell starts a script, and returns what it writes to standard output.
func newShell(t *testing.T, script string, change func(*guard.Command)) (*guard.Process, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	c := guard.Command{Path: "sh", Args: []string{"-c", script}, Stdout: w}
	if change != nil {
		change(&c)
	}
	p, err := guard.Start(c)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	t.Cleanup(func() { p.Close(); r.Close() })
	return p, bufio.NewReader(r)
}

// number reads a line with a number, such as a process id.
func number(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	return n
}

// alive reports whether a process runs. One that has ended and that nobody has waited for is dead.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(status), ") Z ")
}

func requireGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		require.Eventually(t, func() bool { return !alive(pid) }, time.Minute, time.Millisecond, "process %d is left", pid)
	}
}

// marked returns the living processes whose environment has the variable, as NAME=value.
func marked(t *testing.T, variable string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte(variable+"\x00")) {
			continue
		}
		dir := filepath.Dir(f)
		if pid, _ := strconv.Atoi(filepath.Base(dir)); !alive(pid) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		line = line[max(0, len(line)-80):]
		found = append(found, filepath.Base(dir)+": "+strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

func needProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("needs Linux's /proc")
	}
}
