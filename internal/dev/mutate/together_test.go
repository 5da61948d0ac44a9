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
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSwitchableFunctionsMeanTheSameInABlock(t *testing.T) {
	for src, want := range map[string]bool{
		"func f(n int) int { m := n; return m }":                                               true,
		"func f(n int) int { m, k := n, n; k, l := m, k; return k + l }":                       true,
		"func f() (n int, err error) { n, ok := 1, true; _ = ok; return }":                     false,
		"func f(n int) int { n, m := n+1, 2; return n + m }":                                   false,
		"func (t T) f() T { t, ok := t, 1; _ = ok; return t }\ntype T int":                     false,
		"func f() (n int) { if true { n, m := 1, 2; return n + m }; return }":                  true,
		"func f() { loop: for { break loop } }":                                                false,
		"func f() { func() { loop: for { break loop } }() }":                                   false,
		"func f() (n int) { func() { n, m := 1, 2; _, _ = n, m }(); return n }":                true,
		"func f[T any](a T) (b T) { c := a; b = c; defer func() { _ = recover() }(); return }": true,
	} {
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, "p.go", "package p\n"+src, parser.SkipObjectResolution)
		require.NoError(t, err, src)
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		_, err = new(types.Config).Check("p", fset, []*ast.File{syntax}, info)
		require.NoError(t, err, src)
		require.Equal(t, want, switchable(syntax.Decls[0].(*ast.FuncDecl), info), src)
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

func main() {
	var s stack
	s.push(3)
	s.push(4)
	fmt.Println(sum(s.list...))
	fmt.Println(sum(1, -1))
	fmt.Println(first(s.list))
	fmt.Println(first([]string(nil)))
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
		require.NotNil(t, m.around, m.id)
		if c.compiles(m) {
			mutants = append(mutants, m)
		}
	}
	require.Greater(t, len(mutants), 25)
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
	require.Equal(t, "14 <nil>\n2 negative\n3 true\n false", run(all, "0"))
	require.Equal(t, run(all, "0"), run(all, ""))
	for i, m := range mutants {
		if i%4 != 0 { // each program takes a while to build
			continue
		}
		put("one/a.go", string(m.source()))
		require.Equal(t, run(build("one"), ""), run(all, string(rune('0'+(i+1)/10))+string(rune('0'+(i+1)%10))), m.id)
	}
}

func TestQuickTestsAreASixthOfTheTime(t *testing.T) {
	text := "=== RUN   TestA\n--- PASS: TestA (0.10s)\n    --- PASS: TestA/x (5.00s)\n--- PASS: TestB (2.00s)\n--- PASS: TestC (0.00s)\n" +
		"--- SKIP: TestD (0.00s)\n--- PASS: TestE (0.20s)\n--- PASS: TestF (0.10s)\nPASS\n"
	require.Equal(t, "^(?:TestC|TestA|TestF|TestE)$", quickTests(text))
	require.Empty(t, quickTests("PASS\n"))
	require.Empty(t, quickTests("--- PASS: TestA (3.00s)\n"))
}
