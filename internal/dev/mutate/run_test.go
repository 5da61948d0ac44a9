// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
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
		"a/a.go":      "package a\n\nfunc Own(n int) int { return n * n }\n\nfunc Other(n int) bool { return n == 7 }\n\nfunc Never(n int) int { return n - n }\n",
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

func TestMutantsAreKilledByTheTestsThatCoverThem(t *testing.T) {
	runsGo(t)
	root, ctx := module(t), t.Context()
	chosen := []target{{module: ".", dir: "a", path: "example.com/m/a", tests: []string{"a", "b", "c"}}}
	c, err := load(ctx, root, chosen)
	require.NoError(t, err)
	all := c.mutants()
	r := &runner{root: root, scratch: t.TempDir(), chosen: chosen}
	covers := func(dir string, line int) bool {
		base, err := r.baseline(ctx, dir)
		require.NoError(t, err)
		return base.covered.covers("example.com/m/a", "a.go", line)
	}
	own, err := r.baseline(ctx, "a")
	require.NoError(t, err)
	require.Nil(t, own.covered, "a package's own tests are run for all of it")
	require.True(t, covers("b", 5))
	require.False(t, covers("c", 5))

	excused := equivalents{}
	for _, m := range all {
		if m.function == "Never" && m.operator == "return" {
			excused[m.id] = "for this test"
		}
	}
	var out bytes.Buffer
	o := options{n: 100, workers: 2, verbose: true}
	rep := newReport(&out, o)
	require.NoError(t, r.testAll(ctx, &sampler{code: c, excused: excused, rest: draw(all, 1, regexp.MustCompile(""))}, rep, o))
	require.Regexp(t, `killed a/a.go:Own:arithmetic:\w+ by TestOwn`, out.String())
	require.Regexp(t, `killed a/a.go:Own:return:\w+ by TestOwn`, out.String())
	require.Regexp(t, `killed a/a.go:Other:negate:\w+ by TestOther`, out.String())
	require.Regexp(t, `survived a/a.go:Never:arithmetic:\w+ \(line 7\)\n\t- func Never.*n - n }\n\t\+ func Never.*n \+ n }\n`, out.String())
	require.Equal(t, row{killed: 6, survived: 1, equivalent: 1}, rep.total())
	require.InDelta(t, 85.7, rep.score(), 0.1)
	rep.print()
	require.Contains(t, out.String(), "7 mutants of")

	data, err := os.ReadFile(filepath.Join(root, "a", "a.go"))
	require.NoError(t, err)
	require.Equal(t, string(c.packages[0].files[0].src), string(data), "the work tree has changed")
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

func TestBaselineMustPass(t *testing.T) {
	runsGo(t)
	root := module(t)
	require.NoError(t, os.WriteFile(filepath.Join(root, "c", "c_test.go"),
		[]byte("package c\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) { t.Fatal(\"broken\") }\n"), 0o600))
	r := &runner{root: root, scratch: t.TempDir(), chosen: []target{{module: ".", dir: "a", path: "example.com/m/a", tests: []string{"c"}}}}
	_, err := r.baseline(t.Context(), "c")
	require.ErrorContains(t, err, "fail without a mutant")
	require.ErrorContains(t, err, "broken")
}
