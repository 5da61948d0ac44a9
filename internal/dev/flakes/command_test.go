// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain makes three programs of this one: the command, the go command as far as it needs one, and the tests.
func TestMain(m *testing.M) {
	switch {
	case strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "go":
		os.Exit(fakeGo(os.Args[1:]))
	case os.Getenv("FLAKES_MAIN") != "":
		_ = os.Unsetenv("FLAKES_MAIN")
		main()
		return
	}
	os.Exit(m.Run())
}

// fakeGo lists a package, or builds its tests, which are those of this program. It notes its arguments.
func fakeGo(args []string) int {
	f, err := os.OpenFile(os.Getenv("FAKE_GO_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 3
	}
	dir, _ := os.Getwd()
	fmt.Fprintln(f, filepath.Base(dir), strings.Join(args, " "))
	_ = f.Close()
	switch os.Getenv("FAKE_GO") + " " + args[0] {
	case " list", "no build list", "no list list":
		if os.Getenv("FAKE_GO") == "no list" {
			fmt.Fprintln(os.Stderr, "no module")
			return 1
		}
		data, _ := json.Marshal(map[string]any{"ImportPath": "example.com/p", "Dir": dir, "TestGoFiles": []string{"a_test.go"}})
		_, _ = os.Stdout.Write(data)
	case " test":
		exe, _ := os.Executable()
		if err := os.Symlink(exe, args[slices.Index(args, "-o")+1]); err != nil {
			return 4
		}
	default:
		fmt.Println("no compiler")
		return 1
	}
	return 0
}

// run runs the command with the go command above. It returns its output, what the go command was asked, and the exit code.
func run(t *testing.T, env []string, args ...string) (out, asked string, code int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the go command of the test is a symbolic link")
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.Symlink(exe, filepath.Join(bin, "go")))
	cmd := exec.Command(exe, args...)
	cmd.Env = append(append(os.Environ(), "FLAKES_MAIN=1", "PATH="+bin, "FAKE_GO_LOG="+log, "TMPDIR="+bin), env...)
	data, err := cmd.CombinedOutput()
	if err != nil {
		code = cmd.ProcessState.ExitCode()
	}
	left, err := os.ReadDir(bin)
	require.NoError(t, err)
	require.Len(t, left, 1, "what was built is removed")
	said, _ := os.ReadFile(log)
	clean := func(b []byte) string {
		return times.ReplaceAllString(strings.ReplaceAll(string(b), bin, "BIN"), "${1}TIME")
	}
	return clean(data), scratch.ReplaceAllString(clean(said), "SCRATCH"), code
}

var (
	times   = regexp.MustCompile(`(\(| in )\d[\dm.]*s`)
	scratch = regexp.MustCompile(`BIN/flakes\d+`)
)

// module is a directory with tests that are in this program.
func module(t *testing.T, tests ...string) string {
	dir := filepath.Join(t.TempDir(), "p")
	require.NoError(t, os.Mkdir(dir, 0o700))
	text := "package p\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n"
	for _, name := range tests {
		text += "\nfunc " + name + "(t *testing.T) {}\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(text), 0o600))
	return dir
}

// The command lists, builds, measures and repeats, says what it does, and exits with 1 if a test has failed.
func TestTheCommand(t *testing.T) {
	dir := module(t, "TestPartsAreRead", "TestReports")
	const build = "p test -race -c -vet=off -ldflags=-s -w -o SCRATCH/example.com_p.test .\n"
	out, asked, code := run(t, nil, "-dir", dir, "-count", "5", "-seed", "7", "./x", "./y")
	require.Equal(t, "seed 7\n1 packages are built (TIME)\n2 tests, 5 times each\n12 runs of tests in TIME, with building\n", out)
	require.Equal(t, "p list -race -json=ImportPath,Dir,TestGoFiles,XTestGoFiles ./x ./y\n"+build, asked)
	require.Zero(t, code)

	out, asked, code = run(t, []string{"FLAKES_FILE=" + filepath.Join(t.TempDir(), "odd")}, "-dir", module(t, "TestFlaky"), "-count", "2", "-workers", "1", "-short=false", "-seed", "3")
	require.Contains(t, out, "FAILED example.com/p: TestFlaky\n  repeat it with: GOMAXPROCS=2 go test -race -count=1 -shuffle=3 -run '^(TestFlaky)$' example.com/p\n")
	require.True(t, strings.HasSuffix(out, "3 runs of tests in TIME, with building\nexample.com/p TestFlaky failed 2 times\nflakes: 1 tests fail now and then (seed 3)\n"), out)
	require.Contains(t, asked, "p list -race -json=ImportPath,Dir,TestGoFiles,XTestGoFiles ./...\n")
	require.Equal(t, 1, code)

	for _, c := range []struct {
		env, out string
		args     []string
	}{
		{"FAKE_GO=no list", "seed 3\nflakes: go list: exit status 1\nno module\n\n", nil},
		{"FAKE_GO=no build", "seed 3\nflakes: example.com/p: exit status 1\nno compiler\n\n", nil},
		{"", "seed 3\nflakes: no test is chosen\n", []string{"-run", "Nobody"}},
		{"", "seed 3\nflakes: -part 0/1: give a part and how many there are, such as 2/4\n", []string{"-part", "0/1"}},
	} {
		out, _, code = run(t, []string{c.env}, append([]string{"-dir", dir, "-seed", "3"}, c.args...)...)
		require.Equal(t, c.out, out)
		require.Equal(t, 1, code)
	}
	out, _, code = run(t, nil, "-dir", module(t, "TestNobody"), "-seed", "3")
	require.Contains(t, out, "flakes: example.com/p: of 1 tests 0 have run: the binary has ended early\n")
	require.Equal(t, 1, code)
	out, _, code = run(t, nil, "-nothing")
	require.Contains(t, out, "flag provided but not defined: -nothing\n")
	require.Contains(t, out, "how long the repetitions may take, without building; 0 means as long as it takes (default 20)")
	require.Contains(t, out, "how often to run each test (default 100)")
	require.Equal(t, 1, code)
	out, _, _ = run(t, nil, "-dir", dir, "-minutes", "0", "-count", "1", "-run", "Parts")
	require.Regexp(t, `^seed [1-9]\d{0,9}\n1 packages are built \(TIME\)\n1 tests, 1 times each\n2 runs`, out)
}

// A test that takes no time counts as one that takes two milliseconds.
func TestStartingATestTakesTime(t *testing.T) {
	p := &testPackage{ImportPath: "p", names: []string{"A"}, counts: map[string]int{}, took: map[string]time.Duration{"A": 0}}
	fit([]*testPackage{p}, options{count: 1 << 20, minutes: 1.0 / 60 * 10.24, workers: 1})
	require.Equal(t, 1<<12, p.counts["A"])
	p.took["A"] = 11 * time.Millisecond
	fit([]*testPackage{p}, options{count: 1 << 20, minutes: 1.0 / 60 * 10.24, workers: 1})
	require.Equal(t, 1<<9, p.counts["A"])
}
