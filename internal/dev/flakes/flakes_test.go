// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFilesThatMentionTimeOrGoroutinesAreChosen(t *testing.T) {
	const tests = "func TestMain(m *testing.M) {}\nfunc TestA(t *testing.T) {}\nfunc Testing(t *testing.T) {}\nfunc Test_b(t *testing.T) {}\nfunc helper() {}\n"
	for mention, chosen := range map[string]bool{
		"var _ = synctest.Test": true, "func f() { time.Sleep(1) }": true, "func f() { context.WithTimeout(nil, 1) }": true, "func f() { go func() {}() }": true,
		"var c = exec.Command(`x`)": true, "var s = httptest.NewServer(nil)": true, "var l, _ = net.Listen(`tcp`, ``)": true,
		"var d = time.Second": false, "var x = 1": false,
	} {
		names, err := testsIn([]file{{text: []byte("package p\n" + mention + "\n" + tests)}}, false)
		require.NoError(t, err)
		if chosen {
			require.Equal(t, []string{"TestA", "Test_b"}, names, mention)
		} else {
			require.Empty(t, names, mention)
		}
		names, err = testsIn([]file{{text: []byte("package p\n" + mention + "\n" + tests)}}, true)
		require.NoError(t, err)
		require.Equal(t, []string{"TestA", "Test_b"}, names, mention)
	}
}

// A test that uses a helper of another file is chosen if that mentions something, directly or through others.
func TestTestsThatUseHelpersAreChosen(t *testing.T) {
	names, err := testsIn([]file{
		{text: []byte("package p\nfunc TestServed(t *testing.T) { x := serve(); _ = x }\nfunc TestThrough(t *testing.T) { t.Run(`x`, func(t *testing.T) { open(t) }) }\nfunc TestPure(t *testing.T) { pure() }\n")},
		{text: []byte("package p\nfunc open(t *testing.T) { serve() }\nfunc pure() {}\nfunc round() { again() }\nfunc again() { round() }\nfunc TestRound(t *testing.T) { round() }\n")},
		{text: []byte("package p_test\nfunc serve() any { return httptest.NewServer(nil) }\nfunc TestBeside(t *testing.T) {}\n")},
	}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"TestServed", "TestThrough", "TestBeside"}, names)
}

func TestFilesThatAreNotBuiltWithTheRaceDetectorAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example.com/p\n",
		"a_test.go":    "package p\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n",
		"race_test.go": "//go:build !race\n\npackage p\nimport \"testing\"\nfunc TestWithout(t *testing.T) {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	packages, err := choose(t.Context(), options{dir: dir, patterns: []string{"./..."}, part: "1/1", all: true}, regexp.MustCompile(""))
	require.NoError(t, err)
	require.Len(t, packages, 1)
	require.Equal(t, []string{"TestA"}, packages[0].names)
}

func TestPartsCoverAllPackagesOnce(t *testing.T) {
	seen := map[string]int{}
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		packages, err := choose(t.Context(), options{all: true, part: part, patterns: []string{"../../schema", "../../loop", "../flakes", "../../clean"}, dir: "."}, regexp.MustCompile(""))
		require.NoError(t, err)
		for _, p := range packages {
			seen[p.ImportPath]++
		}
	}
	require.Len(t, seen, 4)
	for name, n := range seen {
		require.Equal(t, 1, n, name)
	}
	for _, wrong := range []string{"", "0/2", "3/2", "1", "a/b"} {
		_, _, err := fraction(wrong)
		require.Error(t, err, wrong)
	}
}

// Quick tests are run as often as was asked for; those that take long share what is left.
func TestTimeIsSharedBetweenTests(t *testing.T) {
	p := &testPackage{ImportPath: "p", names: []string{"Quick", "Slow", "Slower", "Skipped"}, counts: map[string]int{}, took: map[string]time.Duration{
		"Quick": 0, "Slow": 2 * time.Second, "Slower": 10 * time.Second,
	}}
	o := options{count: 100, minutes: 3.2, workers: 1, seed: 7}
	rounds := plan([]*testPackage{p}, o)
	require.Equal(t, map[string]int{"Quick": 100, "Slow": 25, "Slower": 6}, p.counts)
	runs := map[string]int{}
	for _, r := range rounds {
		for _, name := range r.names {
			runs[name] += r.count
		}
	}
	require.Equal(t, p.counts, runs)
	require.Equal(t, []string{"Quick"}, rounds[0].names)
	require.Equal(t, []string{"Slower"}, rounds[len(rounds)-1].names, "what takes longest comes last, and is left out if time runs out")
	var said bytes.Buffer
	describe(&said, []*testPackage{p}, o)
	require.Equal(t, "3 tests, 100 times each\nonly 25 times, because they take long: p.Slow\nonly 6 times, because they take long: p.Slower\n", said.String())

	p.counts = map[string]int{}
	o.minutes = 0
	plan([]*testPackage{p}, o)
	require.Equal(t, map[string]int{"Quick": 100, "Slow": 100, "Slower": 100}, p.counts, "without a bound")
}

func TestTimeOfParallelSubtestsCounts(t *testing.T) {
	p := &testPackage{took: map[string]time.Duration{}}
	require.NoError(t, p.note([]byte("--- PASS: TestA (0.10s)\n    --- PASS: TestA/x (2.00s)\n        --- PASS: TestA/x/y (1.50s)\n    --- PASS: TestA/z (3.00s)\n"+
		"--- PASS: TestB (4.00s)\n    --- PASS: TestB/x (1.00s)\n--- PASS: TestC (0.00s)\n")))
	require.Equal(t, map[string]time.Duration{"TestA": 5 * time.Second, "TestB": 4 * time.Second, "TestC": 0}, p.took)
}

// TestFlaky is what the next test runs: it fails every other time.
func TestFlaky(t *testing.T) {
	file := os.Getenv("FLAKES_FILE")
	if file == "" {
		t.Skip("it is a helper of TestFailuresAreCountedAndCanBeRepeated")
	}
	if _, err := os.Stat(file); err == nil {
		require.NoError(t, os.Remove(file))
		return
	}
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Error("not this time")
}

func TestTorn(t *testing.T) {
	if os.Getenv("FLAKES_FILE") == "" {
		t.Skip("it is a helper of TestFailuresAreCountedAndCanBeRepeated")
	}
	fmt.Print("a line without an end, behind which go test says that this has passed")
}

func TestFailuresAreCountedAndCanBeRepeated(t *testing.T) {
	binary, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("FLAKES_FILE", filepath.Join(t.TempDir(), "odd"))
	p := &testPackage{ImportPath: "example.com/p", Dir: t.TempDir(), names: []string{"TestFlaky"}, binary: binary, took: map[string]time.Duration{}, counts: map[string]int{}}
	var out bytes.Buffer
	r := &runner{options: options{workers: 2, short: true, seed: 5}, out: &out, failures: map[string]int{}}
	require.NoError(t, r.measure(t.Context(), []*testPackage{p}))
	require.Contains(t, p.took, "TestFlaky", "what fails is run again")
	require.NoError(t, r.repeat(t.Context(), []round{{pkg: p, names: p.names, count: 10, processors: 8, seed: 5}}))
	require.EqualValues(t, 11, r.runs.Load())
	require.ErrorContains(t, r.verdict(), "1 tests fail now and then (seed 5)")
	require.Contains(t, out.String(), "GOMAXPROCS=8 go test -race -short -count=10 -shuffle=5 -run '^(TestFlaky)$' example.com/p")
	require.Contains(t, out.String(), "not this time")
	require.True(t, strings.HasSuffix(out.String(), "example.com/p TestFlaky failed 6 times\n"), out.String())

	p.names = []string{"TestFlaky", "TestTorn"}
	require.NoError(t, os.Setenv("FLAKES_FILE", filepath.Join(t.TempDir(), "even")))
	require.NoError(t, r.measure(t.Context(), []*testPackage{p}))
	require.Contains(t, p.took, "TestTorn", "it has run, although its line is torn")

	p.names, p.took = []string{"TestNobody"}, map[string]time.Duration{}
	require.ErrorContains(t, r.measure(t.Context(), []*testPackage{p}), "the binary has ended early")
}

func TestEndOfTheTimeIsTold(t *testing.T) {
	binary, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("out of time")
	cancel(late)
	p := &testPackage{ImportPath: "example.com/p", Dir: t.TempDir(), names: []string{"TestFlaky"}, binary: binary, took: map[string]time.Duration{}, counts: map[string]int{}}
	r := &runner{options: options{workers: 1, seed: 5}, out: new(bytes.Buffer), failures: map[string]int{}}
	require.ErrorIs(t, r.repeat(ctx, []round{{pkg: p, names: p.names, count: 1, processors: 1, seed: 5}}), late)
	require.Empty(t, r.failures)
}
