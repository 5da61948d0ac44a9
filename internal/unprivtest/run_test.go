// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unprivtest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var inner = flag.String("inner", "", "what a helper does")

// TestInner is what the next test runs in a process.
func TestInner(t *testing.T) {
	if *inner == "" {
		t.Skip("it is a helper of TestWhatIsToldOfAProcess")
	}
	if !Here(t) {
		return
	}
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, nil, 0o000))
	_, err := os.ReadFile(name)
	require.ErrorIs(t, err, os.ErrPermission)
	require.Equal(t, os.Getuid() == 0, os.Getenv(marker) == "1")
	t.Log("it is here")
	switch *inner {
	case "fails":
		t.Error("and fails")
	case "skips":
		t.Skip("for a reason")
	}
}

// A test of root runs in a process in which permissions hold, with the flags of the package. Its failure is told, and why it is skipped.
func TestWhatIsToldOfAProcess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it is about root")
	}
	for _, c := range []struct {
		inner, verbose string
		code           int
		says           string
	}{
		{"works", "true", 0, `(?s)^=== RUN   TestInner\n--- PASS: TestInner`},
		{"works", "false", 0, `^PASS\n$`},
		{"fails", "false", 1, `(?s)--- FAIL: TestInner .*run_linux.go|without the rights of root: exit status 1\n.*it is here\n.*and fails\n`},
		{"skips", "true", 0, `(?s)--- SKIP: TestInner|without the rights of root: .*for a reason`},
		{"skips", "false", 0, `^PASS\n$`},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestInner$", "-test.v="+c.verbose, "-inner="+c.inner)
		out, _ := cmd.CombinedOutput()
		require.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%s: %s", c.inner, out)
		text := regexp.MustCompile(`(?m)^coverage:.*\n`).ReplaceAllString(string(out), "")
		require.Regexp(t, c.says, text)
		if c.inner == "fails" {
			require.Contains(t, text, "without the rights of root: exit status 1")
			require.Contains(t, text, "it is here")
			require.Equal(t, 2, strings.Count(text, "--- FAIL: TestInner"))
		}
		if c.inner == "skips" && c.verbose == "true" {
			require.Contains(t, text, "without the rights of root: === RUN   TestInner")
			require.Contains(t, text, "for a reason")
		}
	}
	// Permissions do not hold here, which a process that is told that they do finds out.
	cmd := exec.Command(os.Args[0], "-test.run=^TestInner$", "-test.v", "-inner=works")
	cmd.Env = append(os.Environ(), marker+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "permissions of files do not hold here")
	require.False(t, hold(t))
	require.Equal(t, map[bool]string{true: "true", false: "false"}[testing.Verbose()], verbose())
}

// A process gets no rights to pass over permissions, and this one keeps its own.
func TestRightsAreTakenFromTheProcess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it is about root")
	}
	status := func(data []byte) string { return regexp.MustCompile(`CapBnd:\s+([0-9a-f]+)`).FindString(string(data)) }
	runtime.LockOSThread() // rights are a thread's
	defer runtime.UnlockOSThread()
	before, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	out, err := run(exec.Command("cat", "/proc/self/status"))
	require.NoError(t, err)
	bits := func(s string) (n uint64) {
		for _, c := range strings.TrimPrefix(strings.ReplaceAll(s, "\t", ""), "CapBnd:") {
			n = n<<4 | uint64(strings.IndexRune("0123456789abcdef", c))
		}
		return n
	}
	require.Equal(t, bits(status(before))&^(1<<1|1<<2), bits(status(out)))
	after, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	require.Equal(t, status(before), status(after))
	_, err = run(exec.Command("/nowhere/at/all"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
