// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
)

// Linking takes longer than most tests, so several mutants of a package share one test binary. A
// function begins with a copy of itself for each of its mutants:
//
//	func f(n int) int {
//		if ponteMutant == 1 { return n - 1 }
//		return n + 1
//	}
//
// The environment says which one is switched on. A mutant that survives is tested once more, alone:
// tests may start programs without the environment. A test that fails with a mutant must pass in
// the same binary with none: functions with copies are not inlined, and allocate more.

// switchName is the variable of the environment that has a mutant's number.
const switchName = "PONTE_MUTANT"

// switchFile is the file that reads it, in each package with mutants.
const switchFile = "mutants_of_ponte.go"

const switchSource = `package %s

import (
	"os"
	"strconv"
)

var ponteMutant = func() int {
	n, _ := strconv.Atoi(os.Getenv("` + switchName + `"))
	return n
}()
`

// switchable reports whether a function's body means the same in a block of its own. It does not if
// it has labels, or if it sets a parameter or a result with :=, which would be another variable
// there.
func switchable(d *ast.FuncDecl, info *types.Info) bool {
	ok := true
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if _, label := n.(*ast.LabeledStmt); label {
			ok = false
		}
		return ok
	})
	for _, s := range d.Body.List {
		define, is := s.(*ast.AssignStmt)
		if !is || define.Tok != token.DEFINE {
			continue
		}
		for _, left := range define.Lhs {
			id := left.(*ast.Ident)
			if used := info.Uses[id]; used != nil && used.Pos() < d.Body.Pos() {
				ok = false
			}
		}
	}
	return ok
}

// together returns the files of a package in which mutants can be switched on, by their paths. The
// first has the number 1. All must be switchable.
func together(fset *token.FileSet, mutants []*mutant) map[string][]byte {
	files := map[string][]byte{}
	type copied struct {
		at   int
		text []byte
	}
	copies := map[*file][]copied{}
	for i, m := range mutants {
		from, to := fset.Position(m.around.Body.Lbrace).Offset+1, fset.Position(m.around.Body.Rbrace).Offset
		var b bytes.Buffer
		fmt.Fprintf(&b, "\nif ponteMutant == %d {", i+1)
		b.Write(m.file.src[from:m.start])
		b.WriteString(m.text)
		b.Write(m.file.src[m.end:to])
		if m.around.Type.Results.NumFields() == 0 {
			b.WriteString("\nreturn")
		}
		b.WriteString("\n}\n")
		copies[m.file] = append(copies[m.file], copied{from, b.Bytes()})
		files[filepath.Join(filepath.Dir(m.file.path), switchFile)] = fmt.Appendf(
			nil, switchSource, m.file.syntax.Name.Name,
		)
	}
	for f, list := range copies {
		slices.SortStableFunc(list, func(a, b copied) int { return cmp.Compare(a.at, b.at) })
		var b bytes.Buffer
		done := 0
		for _, c := range list {
			b.Write(f.src[done:c.at])
			b.Write(c.text)
			done = c.at
		}
		b.Write(f.src[done:])
		files[f.path] = b.Bytes()
	}
	return files
}
