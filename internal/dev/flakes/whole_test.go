// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
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

func TestMistakesOfTheCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"-count 0": "-count and -workers are at least 1, -minutes is not negative", "-workers 0": "-count and -workers are at least 1, -minutes is not negative",
		"-minutes -1": "-count and -workers are at least 1, -minutes is not negative", "-run [": "error parsing regexp: missing closing ]: `[`",
		"-part 3/2 ./": "-part 3/2: give a part and how many there are, such as 2/4", "-run nothing-is-called-so ./": "no test is chosen",
	} {
		require.EqualError(t, command(t.Context(), strings.Fields(args)), want, args)
	}
	require.ErrorContains(t, command(t.Context(), []string{"./none"}), "go list: ")
}

func TestPartsAreRead(t *testing.T) {
	for s, want := range map[string]string{"1/1": "1 1 <nil>", "2/3": "2 3 <nil>", "3/3": "3 3 <nil>"} {
		part, parts, err := fraction(s)
		require.Equal(t, want, fmt.Sprint(part, parts, err))
	}
	part, parts, err := fraction("0/2")
	require.EqualError(t, err, "-part 0/2: give a part and how many there are, such as 2/4")
	require.Equal(t, [2]int{}, [2]int{part, parts})
}

// A module of two packages: those with a test that is wanted are chosen, with the tests that are.
func TestTestsOfAModuleAreChosen(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/p\n", "a/a.go": "package a\n", "b/b.go": "package b\n", "c/c.go": "package c\n",
		"a/a_test.go": "package a\nimport (\"testing\"; \"time\")\nfunc TestSlow(t *testing.T) { time.Sleep(1) }\nfunc TestLong(t *testing.T) {}\nfunc Test(t *testing.T) {}\nfunc Testzero(t *testing.T) {}\nfunc TestTwo(t *testing.T, b bool) {}\nfunc (x y) TestMethod(t *testing.T) {}\ntype y int\n",
		"a/x_test.go": "package a_test\nimport (\"testing\"; \"time\")\nfunc TestOther(t *testing.T) { <-time.After(1) }\n",
		"b/b_test.go": "package b\nimport \"testing\"\nfunc TestQuick(t *testing.T) {}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	chosen := func(all bool, part, match string) string {
		packages, err := choose(t.Context(), options{dir: dir, patterns: []string{"./..."}, part: part, all: all}, regexp.MustCompile(match))
		if err != nil {
			return err.Error()
		}
		var b strings.Builder
		for _, p := range packages {
			require.Equal(t, filepath.Base(p.Dir), p.ImportPath[len("example.com/p/"):])
			fmt.Fprintf(&b, "%s %v;", p.ImportPath, p.names)
		}
		return b.String()
	}
	require.Equal(t, "example.com/p/a [TestSlow TestLong Test TestOther];", chosen(false, "1/1", ""))
	require.Equal(t, "example.com/p/a [TestSlow TestLong Test TestOther];example.com/p/b [TestQuick];", chosen(true, "1/1", ""))
	require.Equal(t, "example.com/p/b [TestQuick];", chosen(true, "2/2", ""))
	require.Equal(t, "example.com/p/a [TestSlow];", chosen(true, "1/1", "Slow"))
	require.Equal(t, "no test is chosen", chosen(false, "2/2", ""))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b", "b_test.go"), []byte("package b\nfunc"), 0o600))
	require.Contains(t, chosen(true, "1/1", ""), filepath.Join("b", "b_test.go")+":2:")
}

// Each test is run with one, two and eight processors, as often as is left over for each, and the quickest runs begin first.
func TestRoundsOfAPlan(t *testing.T) {
	took := func(names ...string) *testPackage {
		p := &testPackage{ImportPath: names[0], counts: map[string]int{}, took: map[string]time.Duration{}}
		for i, n := range names[1:] {
			p.names = append(p.names, n)
			p.took[n] = time.Duration(i) * time.Second
		}
		return p
	}
	describes := func(rounds []round) (all []string) {
		for _, r := range rounds {
			all = append(all, fmt.Sprintf("%s %v x%d p%d s%d %v", r.pkg.ImportPath, r.names, r.count, r.processors, r.seed, r.takes()))
		}
		return all
	}
	a, b := took("a", "Zero", "One"), took("b", "Quick")
	b.names = append(b.names, "Skipped")
	require.Equal(t, []string{"b [Quick] x3 p2 s8 6ms", "b [Quick] x3 p8 s9 6ms", "b [Quick] x4 p1 s7 8ms", "a [One Zero] x3 p2 s8 4.806s", "a [One Zero] x3 p8 s9 4.806s", "a [One Zero] x4 p1 s7 6.408s"},
		describes(plan([]*testPackage{a, b}, options{count: 10, workers: 1, seed: 7})))
	a, b = took("a", "Zero"), took("b", "Quick")
	require.Equal(t, []string{"a [Zero] x1 p1 s0 2ms", "a [Zero] x1 p2 s1 2ms", "b [Quick] x1 p1 s0 2ms", "b [Quick] x1 p2 s1 2ms"}, describes(plan([]*testPackage{b, a}, options{count: 2, workers: 1})))
	for count, want := range map[int][3]int{0: {}, 1: {1, 0, 0}, 2: {1, 1, 0}, 3: {1, 1, 1}, 5: {2, 2, 1}, 100: {34, 33, 33}} {
		require.Equal(t, want, [3]int{share(count, 0), share(count, 1), share(count, 2)})
	}
	for in, want := range map[[2]int]int{{100, 100}: 100, {99, 100}: 50, {50, 100}: 50, {49, 100}: 25, {12, 100}: 12, {11, 100}: 6, {6, 100}: 6, {5, 100}: 3, {1, 100}: 3, {3, 3}: 3, {2, 2}: 2, {4, 4}: 4, {1, 1}: 1, {200, 100}: 100} {
		require.Equal(t, want, classed(in[0], in[1]), in)
	}
}

// Time that quick tests leave over is for the slow ones, and every test is run with each number of processors.
func TestTimeThatIsLeftOver(t *testing.T) {
	p := &testPackage{ImportPath: "x/p", names: []string{"A", "B", "C"}, counts: map[string]int{}, took: map[string]time.Duration{"A": 0, "B": time.Second, "C": time.Hour}}
	fit([]*testPackage{p}, options{count: 100, minutes: 1, workers: 2})
	require.Equal(t, map[string]int{"A": 100, "B": 25, "C": 3}, p.counts)
	var b bytes.Buffer
	describe(&b, []*testPackage{p}, options{count: 100})
	require.Equal(t, "3 tests, 100 times each\nonly 25 times, because they take long: p.B\nonly 3 times, because they take long: p.C\n", b.String())
	p.counts["B"] = 3
	b.Reset()
	describe(&b, []*testPackage{p}, options{count: 100})
	require.Equal(t, "3 tests, 100 times each\nonly 3 times, because they take long: p.B p.C\n", b.String())
}

func TestReports(t *testing.T) {
	var out bytes.Buffer
	r := &runner{options: options{seed: 5}, out: &out, failures: map[string]int{}}
	require.NoError(t, r.verdict())
	p := &testPackage{ImportPath: "x/p"}
	r.report(round{pkg: p, names: []string{"TestA", "TestB"}, count: 4, processors: 2, seed: 9}, []byte("noise\n--- FAIL: TestB (0.1s)\n--- FAIL: TestA (0.1s)\n--- FAIL: TestB (0.2s)\n"), errors.New("exit status 1"))
	require.Equal(t, "FAILED x/p: TestA TestB\n  repeat it with: GOMAXPROCS=2 go test -race -count=4 -shuffle=9 -run '^(TestA|TestB)$' x/p\n--- FAIL: TestB (0.1s)\n--- FAIL: TestA (0.1s)\n--- FAIL: TestB (0.2s)\n\n", out.String())
	out.Reset()
	r.short = true
	r.report(round{pkg: p, names: []string{"TestC"}, count: 1, processors: 1, seed: 1}, []byte("panic"), errors.New("exit status 2"))
	require.Equal(t, "FAILED x/p: (the whole binary: exit status 2)\n  repeat it with: GOMAXPROCS=1 go test -race -short -count=1 -shuffle=1 -run '^(TestC)$' x/p\npanic\n", out.String())
	out.Reset()
	require.EqualError(t, r.verdict(), "3 tests fail now and then (seed 5)")
	require.Equal(t, "x/p (the whole binary: exit status 2) failed 1 times\nx/p TestA failed 1 times\nx/p TestB failed 2 times\n", out.String())

	require.Equal(t, "--- FAIL", string(tail([]byte("--- FAIL"))))
	require.Equal(t, strings.Repeat("x", 6000), string(tail([]byte(strings.Repeat("x", 6000)))))
	require.Equal(t, strings.Repeat("x", 6000)+"\n…", string(tail([]byte(strings.Repeat("x", 6001)))))
}

func TestTestsThatAreSkippedAreNotRepeated(t *testing.T) {
	binary, err := os.Executable()
	require.NoError(t, err)
	p := &testPackage{ImportPath: "x/p", Dir: t.TempDir(), names: []string{"TestFlaky", "TestPartsAreRead"}, binary: binary, took: map[string]time.Duration{}, counts: map[string]int{}}
	r := &runner{options: options{workers: 1, seed: 5}, out: new(bytes.Buffer), failures: map[string]int{}}
	require.NoError(t, r.measure(t.Context(), []*testPackage{p}))
	require.Contains(t, p.took, "TestPartsAreRead")
	require.NotContains(t, p.took, "TestFlaky")
	require.EqualValues(t, 2, r.runs.Load())
	p.binary = filepath.Join(p.Dir, "none")
	require.ErrorIs(t, r.measure(t.Context(), []*testPackage{p}), os.ErrNotExist)
}

func TestEachIsCalledOnce(t *testing.T) {
	for _, workers := range []int{1, 3} {
		done := make(chan int, 10)
		require.NoError(t, each(workers, []int{1, 2, 3, 4, 5}, func(n int) error { done <- n; return nil }))
		require.Len(t, done, 5)
	}
	var called []int
	stop := errors.New("stop")
	require.ErrorIs(t, each(1, []int{1, 2, 3}, func(n int) error {
		called = append(called, n)
		if n == 2 {
			return stop
		}
		return nil
	}), stop)
	require.Equal(t, []int{1, 2}, called)
}

// When time runs out, what is left is left out, and named.
func TestRunsForWhichThereIsNoTimeAreNamed(t *testing.T) {
	binary, err := os.Executable()
	require.NoError(t, err)
	p := &testPackage{ImportPath: "x/p", Dir: t.TempDir(), binary: binary, took: map[string]time.Duration{"TestPartsAreRead": 0}}
	r := &runner{options: options{workers: 1, minutes: 1}, out: new(bytes.Buffer), failures: map[string]int{}, leftOut: map[string]int{}}
	rounds := []round{{pkg: p, names: []string{"TestPartsAreRead"}, count: 5, processors: 1}, {pkg: p, names: []string{"TestPartsAreRead"}, count: 6, processors: 2}}
	require.NoError(t, r.repeat(t.Context(), rounds))
	require.EqualValues(t, 11, r.runs.Load())
	require.Empty(t, r.leftOut)
	r.minutes = 1e-12 // no nanosecond
	require.NoError(t, r.repeat(t.Context(), rounds))
	require.EqualValues(t, 11, r.runs.Load())
	require.Equal(t, map[string]int{"p.TestPartsAreRead": 11}, r.leftOut)
	r.minutes = 0
	require.NoError(t, r.repeat(t.Context(), rounds))
	require.EqualValues(t, 22, r.runs.Load())
}
