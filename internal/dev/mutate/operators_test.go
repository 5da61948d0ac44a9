// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutantsOf returns the mutants of a file without imports, and a function that tells whether one compiles.
func mutantsOf(t *testing.T, src string) (all []*mutant, compiles func(*mutant) bool) {
	t.Helper()
	c := &code{fset: token.NewFileSet()}
	f := &file{name: "p/p.go", path: "p.go", src: []byte("package p\n\n" + src)}
	var err error
	f.syntax, err = parser.ParseFile(c.fset, f.path, f.src, parser.SkipObjectResolution)
	require.NoError(t, err)
	p := &pkg{target: target{path: "p"}, files: []*file{f}, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}}
	require.NoError(t, c.check(p, nil, nil, p.info))
	return mutate(c.fset, p, f), c.compiles
}

func TestOperators(t *testing.T) {
	for _, test := range []struct {
		name, src string
		want      []string // operator and changed line, in the order of the source
	}{
		{"comparison", "func f(a, b int) bool { return a < b }", []string{
			"return: func f(a, b int) bool { _, _ = a, b; return false }",
			"boundary: func f(a, b int) bool { return a <= b }",
			"negate: func f(a, b int) bool { return a >= b }",
		}},
		{"logic", "var x, y bool\n\nvar v = !x && y", []string{
			"logical: var v = !x || y",
			"not: var v = x && y",
		}},
		{"numbers, not strings", "var s, n = \"a\" + \"b\", 1.5 + 2.5", []string{
			"arithmetic: var s, n = \"a\" + \"b\", 1.5 - 2.5",
		}},
		{"constants", "var n = 7", []string{
			"constant: var n = 8",
			"constant: var n = 6",
		}},
		{"bools", "var b = true", []string{
			"bool: var b = false",
		}},
		{"a condition that is not a comparison", "func f(ok bool) {\nif ok {\nprintln()\n}\n}", []string{
			"negate: if !(ok) {",
			"statement: ",
		}},
		{"early return", "func f(n *int) {\nif n == nil {\nreturn\n}\n*n = *n + *n\n}", []string{
			"statement: _ = n",
			"negate: if n != nil {",
			"statement: ",
			"arithmetic: *n = *n - *n",
		}},
		{"case", "func f(s string) {\nswitch s {\ncase \"a\":\nprintln(s)\nprintln()\n}\n}", []string{
			"statement: _ = s",
			"statement: ",
			"case: _ = s",
		}},
		{"defer", "func f() {\ndefer println()\n}", []string{
			"defer: ",
		}},
		{"results one by one", "type e struct{ n int }\n\nfunc f(x *e) (*e, e, string) {\nreturn x, *x, \"s\"\n}", []string{
			"return: _ = x; return nil, *x, \"s\"",
			"return: _ = x; return x, e{}, \"s\"",
			"return: return x, *x, \"\"",
		}},
		{"results of a closure", "var f = func(s []int) []int { return s }", []string{
			"return: var f = func(s []int) []int { _ = s; return nil }",
		}},
		{"zero results", "type e struct{}\n\nfunc f() (*e, e, int, error) { return nil, e{}, 0, nil }", []string{
			"constant: func f() (*e, e, int, error) { return nil, e{}, 1, nil }",
		}},
		{"capacities and size hints", "var n int\n\nvar s, m = make([]int, n-n, n+n), make(map[int]int, n*n)", []string{
			"arithmetic: var s, m = make([]int, n+n, n+n), make(map[int]int, n*n)",
		}},
		{"assignments", "func f(n int) int {\nn += n\nn++\nvar m = n\nreturn m\n}", []string{
			"statement: _ = n",
			"statement: _ = n",
			"arithmetic: n -= n",
			"arithmetic: n--",
			"return: _ = m; return 0",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, compiles := mutantsOf(t, test.src)
			var got []string
			for _, m := range all {
				_, after := m.lines()
				got = append(got, m.operator+": "+after)
				require.True(t, compiles(m), m.diff())
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestMutantThatDoesNotCompileIsFound(t *testing.T) {
	all, compiles := mutantsOf(t, "func f(n int) int {\nfor {\nif n > 1 {\nbreak\n}\n}\nreturn n\n}")
	i := len(all)
	for j, m := range all {
		if m.operator == "statement" {
			i = j
		}
	}
	require.Less(t, i, len(all))
	require.True(t, compiles(all[i]))
	all[i].text = "nonsense"
	require.False(t, compiles(all[i]))
}

// An id outlives changes of other lines, and not a change of its own.
func TestIDsDependOnTheChangedLinesOnly(t *testing.T) {
	ids := func(src string) (ids []string) {
		all, _ := mutantsOf(t, src)
		for _, m := range all {
			if m.operator == "negate" {
				ids = append(ids, m.id)
			}
		}
		return ids
	}
	before := ids("func f(a int) bool {\nx := a == 1\nx = a == 1\nreturn x\n}")
	require.Len(t, before, 2)
	require.True(t, strings.HasPrefix(before[0], "p/p.go:f:negate:"), before[0])
	after := ids("var unrelated = 1 != 2\n\nfunc f(a int) bool {\n\t_ = a == 2\n\tx := a == 1\nx = a == 3\nreturn x\n}")
	require.Len(t, after, 4)
	require.Equal(t, before[0], after[2])
	require.NotContains(t, after, before[1])

	twice := ids("func f(a int) {\n_ = a == 1\n_ = a == 1\n}")
	require.Equal(t, twice[0]+"#2", twice[1])
}

func TestMethodsAreNamedByTheirReceiver(t *testing.T) {
	all, _ := mutantsOf(t, "type a[T any] struct{}\n\nfunc (x *a[T]) f() bool { return 1 == 2 }\n\nfunc (a[T]) g() bool { return 1 == 2 }")
	var functions []string
	for _, m := range all {
		if m.operator == "negate" {
			functions = append(functions, m.function)
		}
	}
	require.Equal(t, []string{"(*a).f", "(a).g"}, functions)
}
