// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCopiesOfFunctionsMeanTheSame(t *testing.T) {
	for src, want := range map[string]form{
		"func f(n int) int { m := n; return m }":                                               asBlock,
		"func f(n int) int { m, k := n, n; k, l := m, k; return k + l }":                       asBlock,
		"func f() (n int, err error) { n, ok := 1, true; _ = ok; return }":                     asClosure,
		"func f(n int) int { n, m := n+1, 2; return n + m }":                                   asClosure,
		"func f(n, _ int) int { n, m := n+1, 2; return n + m }":                                unswitchable,
		"func (t T) f() T { t, ok := t, 1; _ = ok; return t }\ntype T int":                     unswitchable,
		"func f() (n int) { if true { n, m := 1, 2; return n + m }; return }":                  asBlock,
		"func f() { loop: for { break loop } }":                                                asClosure,
		"func f(n *n) *n { loop: for { break loop }; return n }\ntype n int":                   unswitchable,
		"func f(int) { loop: for { break loop } }":                                             unswitchable,
		"func f() { func() { loop: for { break loop } }() }":                                   asClosure,
		"func f() (n int) { func() { n, m := 1, 2; _, _ = n, m }(); return n }":                asBlock,
		"func f[T any](a T) (b T) { c := a; b = c; defer func() { _ = recover() }(); return }": asBlock,
	} {
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, "p.go", "package p\n"+src, parser.SkipObjectResolution)
		require.NoError(t, err, src)
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		_, err = new(types.Config).Check("p", fset, []*ast.File{syntax}, info)
		require.NoError(t, err, src)
		require.Equal(t, want, formOf(syntax.Decls[0].(*ast.FuncDecl), info), src)
	}
}

// Each mutant does what its own file would do, and without one the program does what it did.
func TestMutantsOfOneProgramAreThoseOfSeveral(t *testing.T) {
	runsGo(t)
	root := t.TempDir()
	const source = `package main

import "fmt"

type stack struct{ list []int }

func (s *stack) push(n int) { s.list = append(s.list, n) } // and a comment

func sum(list ...int) (total int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	for i, n := range list {
		if n < 0 && i > 0 {
			panic("negative")
		}
		total += n * 2
	}
	return total, nil
}

func first[T any](list []T) (none T, ok bool) {
	if len(list) == 0 {
		return none, false
	}
	return list[0], true
}

func count(limit int, list ...int) (n int, err error) {
	limit, zero := limit+1, 0
outer:
	for _, i := range list {
		for range i {
			if n++; n > limit {
				break outer
			}
		}
	}
	return n + zero, nil
}

func show(words ...string) {
	words, n := append(words, "end"), 0
	fmt.Println(words, n)
}

func main() {
	var s stack
	s.push(3)
	s.push(4)
	fmt.Println(sum(s.list...))
	fmt.Println(sum(1, -1))
	fmt.Println(first(s.list))
	fmt.Println(first([]string(nil)))
	fmt.Println(count(2, 1, 1, 5, 7))
	show("a", "b")
	// the end
}
`
	put := func(name, text string) string {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	put("go.mod", "module example.com/m\n\ngo 1.26\n")
	put("a/a.go", source)
	c, err := load(t.Context(), root, []target{{module: ".", dir: "a", path: "example.com/m/a"}})
	require.NoError(t, err)
	var mutants []*mutant
	for _, m := range c.mutants() {
		require.NotEqual(t, unswitchable, m.form, m.id)
		if c.compiles(m) {
			mutants = append(mutants, m)
		}
	}
	require.Greater(t, len(mutants), 35)
	build := func(dir string) string {
		bin := filepath.Join(root, dir, "bin")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./"+dir)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return bin
	}
	run := func(bin string, number string) string {
		cmd := exec.CommandContext(t.Context(), bin)
		cmd.Env = append(os.Environ(), switchName+"="+number)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "panic: " + err.Error()
		}
		return strings.TrimSpace(string(out))
	}
	for path, text := range together(c.fset, mutants) {
		put("all/"+filepath.Base(path), string(text))
	}
	all := build("all")
	require.Equal(t, "14 <nil>\n2 negative\n3 true\n false\n4 <nil>\n[a b end] 0", run(all, "0"))
	require.Equal(t, run(all, "0"), run(all, ""))
	for i, m := range mutants {
		if i%4 != 0 { // each program takes a while to build
			continue
		}
		put("one/a.go", string(m.source()))
		require.Equal(t, run(build("one"), ""), run(all, strconv.Itoa(i+1)), m.id)
	}
}
