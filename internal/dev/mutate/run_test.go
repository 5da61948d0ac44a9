// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var whole = flag.Bool("whole", false, "run the tests that run go test, which build several programs")

func runsGo(t *testing.T) {
	t.Helper()
	if !*whole {
		t.Skip("runs go test: use -whole, as the stage mutants does")
	}
}

// module writes a module with two packages: one has code and a test, the other tests more of the code.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"a/a.go":      "package a\n\nfunc Own(n int) int { return n * n }\n\nconst limit = 7\n\nfunc Other(n int) bool { return n == limit+0 }\n\nfunc Never(n int) int { return n - n }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestOwn(t *testing.T) {\n\tif Own(3) != 9 {\n\t\tt.Fatal()\n\t}\n}\n",
		"b/b.go":      "package b\n",
		"b/b_test.go": "package b\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/a\"\n)\n\nfunc TestOther(t *testing.T) {\n" +
			"\tif !a.Other(7) || a.Other(8) || a.Other(6) {\n\t\tt.Fatal()\n\t}\n}\n",
		"c/c.go":      "package c\n",
		"c/c_test.go": "package c\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {}\n",
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func TestMutantsAreKilledByTheTestsThatReachThem(t *testing.T) {
	runsGo(t)
	root, ctx := module(t), t.Context()
	c, err := load(ctx, root, []target{{module: ".", dir: "a", path: "example.com/m/a", tests: []string{"a", "b", "c"}}})
	require.NoError(t, err)
	all := c.mutants()
	excused := equivalents{}
	for _, m := range all {
		if m.function == "Never" && m.operator == "return" {
			excused[m.id] = "for this test"
		}
	}
	r := &runner{root: root, scratch: t.TempDir()}
	var out bytes.Buffer
	o := options{n: 100, workers: 2, verbose: true}
	rep := newReport(&out, o)
	require.NoError(t, r.testAll(ctx, &sampler{code: c, excused: excused, rest: draw(all, 1, regexp.MustCompile(""))}, rep, o))
	require.Contains(t, out.String(), "the tests of 3 packages are built and run")
	require.Regexp(t, `killed a/a.go:Own:arithmetic:\w+ by TestOwn`, out.String())
	require.Regexp(t, `killed a/a.go:Own:return:\w+ by TestOwn`, out.String())
	require.Regexp(t, `killed a/a.go:Other:negate:\w+ by TestOther`, out.String())
	require.Regexp(t, `survived a/a.go:Other:arithmetic:\w+ \(line 7, 1 tests reach it\)`, out.String())
	require.Regexp(t, `survived a/a.go:Never:arithmetic:\w+ \(line 9, no test reaches it\)\n\t- func Never.*n - n }\n\t\+ func Never.*n \+ n }\n`, out.String())
	require.Regexp(t, `killed a/a.go:limit:constant:\w+ by TestOther`, out.String(), "a constant is in a binary of its own")
	require.Equal(t, row{killed: 7, survived: 2, equivalent: 1}, rep.total())
	require.InDelta(t, 77.8, rep.score(), 0.1)
	rep.print()
	require.Contains(t, out.String(), "9 mutants of")

	data, err := os.ReadFile(filepath.Join(root, "a", "a.go"))
	require.NoError(t, err)
	require.Equal(t, string(c.packages[0].files[0].src), string(data), "the work tree has changed")
}

func TestTestsAreKnownByWhatTheyReach(t *testing.T) {
	runsGo(t)
	root, ctx := module(t), t.Context()
	require.NoError(t, os.WriteFile(filepath.Join(root, "b", "more_test.go"), []byte("package b\n\nimport (\n\t\"testing\"\n\t\"testing/synctest\"\n\t\"time\"\n\n\t\"example.com/m/a\"\n)\n\n"+
		"func TestBubbles(t *testing.T) {\n\tsynctest.Test(t, func(*testing.T) {})\n\ta.Other(1)\n}\n\n"+
		"func TestSlow(t *testing.T) { time.Sleep(2100 * time.Millisecond) }\n\n"+
		"func TestAllocates(t *testing.T) {\n\tn := 0\n\tif testing.AllocsPerRun(10, func() { n = len(make([]byte, a.Own(n+100))) }) > 0 {\n\t\tt.Fatal()\n\t}\n}\n"), 0o600))
	c, err := load(ctx, root, []target{{module: ".", dir: "a", path: "example.com/m/a"}})
	require.NoError(t, err)
	all := c.mutants()
	r := &runner{root: root, scratch: t.TempDir()}
	files, err := tellingTests(ctx)
	require.NoError(t, err)
	maps.Copy(files, together(c.fset, all))
	overlay, err := r.overlay(files)
	require.NoError(t, err)
	s, err := r.suite(ctx, "b", overlay)
	require.NoError(t, err)
	require.Equal(t, []string{"TestAllocates"}, s.without, "fails without a mutant: no mutant is killed by it")
	for i, m := range all {
		names, _ := s.reaching(i + 1)
		if m.function == "Other" {
			require.ElementsMatch(t, []string{"TestOther", "TestBubbles"}, names, m.id)
		} else {
			require.Empty(t, names, m.id)
		}
	}

	require.NoError(t, os.WriteFile(filepath.Join(root, "b", "panic_test.go"), []byte(
		"package b\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) { panic(t) }\n\nfunc TestLast(*testing.T) {}\n",
	), 0o600))
	s, err = r.suite(ctx, "b", overlay)
	require.NoError(t, err)
	require.Equal(t, []string{"TestAllocates", "TestPanics"}, s.without)
	var passed []string
	for _, quick := range s.tests {
		passed = append(passed, quick.name)
	}
	require.ElementsMatch(t, []string{"TestOther", "TestBubbles", "TestSlow", "TestLast"}, passed, "a panic does not hide the tests behind it")
}

func TestMutantThatNeverEndsIsKilledByItsTimeout(t *testing.T) {
	runsGo(t)
	root := module(t)
	r := &runner{root: root, scratch: t.TempDir()}
	overlay, err := r.overlay(map[string][]byte{filepath.Join(root, "a", "a.go"): []byte("package a\n\nfunc Own(n int) int { select {} }\n")})
	require.NoError(t, err)
	v, err := r.goTest(t.Context(), "a", overlay, time.Second, "-run=TestOwn")
	require.NoError(t, err)
	require.Contains(t, []outcome{killed, timedOut}, v.outcome)

	overlay, err = r.overlay(map[string][]byte{filepath.Join(root, "a", "a.go"): []byte("package a\n\nfunc Own(n int) int { return \"\" }\n")})
	require.NoError(t, err)
	v, err = r.goTest(t.Context(), "a", overlay, time.Minute)
	require.NoError(t, err)
	require.Equal(t, invalid, v.outcome)
}

func TestTestsMustPassWithoutAMutant(t *testing.T) {
	runsGo(t)
	root := module(t)
	require.NoError(t, os.WriteFile(filepath.Join(root, "c", "c_test.go"),
		[]byte("package c\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) { panic(\"broken\") }\n"), 0o600))
	_, err := (&runner{root: root, scratch: t.TempDir()}).suite(t.Context(), "c", "")
	require.ErrorContains(t, err, "fail without a mutant")
	require.ErrorContains(t, err, "broken")
}
