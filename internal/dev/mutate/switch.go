// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Linking takes longer than most tests, so all mutants of a sample are in the same binaries. A
// function begins with a copy of itself for each of its mutants:
//
//	func f(n int) int {
//		if ponteMutant(1) { return n - 1 }
//		return n + 1
//	}
//
// The environment says which one is switched on. It can also name a file, to which the tests then
// add the numbers of the mutants whose functions they call: only tests that reach a mutant are run
// for it. Functions with copies are not inlined, and allocate more, so a test counts only if it
// passes in the same binary without a mutant.

// switchName is the variable of the environment that has a mutant's number, or the name of a file
// after reachPrefix.
const switchName, reachPrefix = "PONTE_MUTANT", "reach:"

// switchFile is the file that reads it, in each package with mutants.
const switchFile = "mutants_of_ponte.go"

const switchSource = `package %s

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

var (
	ponteNumber, _          = strconv.Atoi(os.Getenv("` + switchName + `"))
	ponteFile, ponteReaches = strings.CutPrefix(os.Getenv("` + switchName + `"), "` + reachPrefix + `")
	ponteReached            sync.Map
)

func ponteMutant(n int) bool {
	if ponteReaches {
		ponteReach(n)
	}
	return n == ponteNumber
}

func ponteReach(n int) {
	line := os.Getenv("` + testsName + `") + " " + strconv.Itoa(n) + "\n"
	if _, again := ponteReached.LoadOrStore(line, true); again {
		return
	}
	if f, err := os.OpenFile(ponteFile, os.O_WRONLY|os.O_APPEND, 0); err == nil {
		f.WriteString(line)
		f.Close()
	}
}
`

// testsName is the variable that has the names of the tests that run, which package testing keeps
// in it, with a comma behind each. Examples are not among them.
const testsName = "PONTE_TESTS"

const testingSource = `package testing

import (
	"os"
	"strings"
	"sync"
)

type ponteRunning struct{ sync.Map }

func (r *ponteRunning) Store(name, at any) { r.Map.Store(name, at); r.tell() }

func (r *ponteRunning) Delete(name any) { r.Map.Delete(name); r.tell() }

func (r *ponteRunning) tell() {
	if !strings.HasPrefix(os.Getenv("` + switchName + `"), "` + reachPrefix + `") {
		return
	}
	var names string
	r.Range(func(name, _ any) bool {
		top, _, _ := strings.Cut(name.(string), "/")
		if !strings.Contains(","+names, ","+top+",") {
			names += top + ","
		}
		return true
	})
	os.Setenv("` + testsName + `", names)
}
`

// tellingTests returns files of package testing that tell which tests run.
func tellingTests(ctx context.Context) (map[string][]byte, error) {
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(strings.TrimSpace(string(goroot)), "src", "testing")
	src, err := os.ReadFile(filepath.Join(dir, "testing.go"))
	if err != nil {
		return nil, err
	}
	changed := bytes.Replace(src, []byte("\trunning sync.Map "), []byte("\trunning ponteRunning "), 1)
	// A bubble has the name of its test, which goes on running after it.
	ends := []byte("\trunning.Delete(t.name)\n")
	unless := slices.Concat([]byte("\tif !t.isSynctest {\n"), ends, []byte("}\n"))
	changed = bytes.ReplaceAll(changed, ends, unless)
	if bytes.Equal(changed, src) {
		return nil, fmt.Errorf("the package in %s has no variable running", dir)
	}
	return map[string][]byte{
		filepath.Join(dir, "testing.go"): changed,
		filepath.Join(dir, switchFile):   []byte(testingSource),
	}, nil
}

// A form is how a copy of a function's body is written into the function.
type form int

const (
	unswitchable form = iota
	asBlock           // in a block
	asClosure         // in a function literal that is called with the same arguments
)

// formOf returns the form for a function. A block is not enough if the body has labels, which must
// be unique in a function, or if it sets a parameter or a result with :=, which would be another
// variable in a block. A closure needs names for all parameters. No test is seen to reach init.
func formOf(d *ast.FuncDecl, info *types.Info) form {
	f := asBlock
	if d.Name.Name == "init" { // which is over when the first test begins
		return unswitchable
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if _, label := n.(*ast.LabeledStmt); label {
			f = asClosure
		}
		return f == asBlock
	})
	for _, s := range d.Body.List {
		define, is := s.(*ast.AssignStmt)
		if !is || define.Tok != token.DEFINE {
			continue
		}
		for _, left := range define.Lhs {
			used := info.Uses[left.(*ast.Ident)]
			switch {
			case used == nil || used.Pos() >= d.Body.Pos():
			case used.Pos() < d.Type.Pos() || used.Pos() < d.Type.Params.Pos(): // the receiver
				return unswitchable
			default:
				f = asClosure
			}
		}
	}
	if f == asClosure && !repeatable(d) {
		return unswitchable
	}
	return f
}

// repeatable reports whether a function's signature can be written in its body, for a call with its
// parameters.
func repeatable(d *ast.FuncDecl) bool {
	names := map[string]bool{}
	fields := d.Type.Params.List
	if d.Type.Results != nil {
		fields = slices.Concat(fields, d.Type.Results.List)
	}
	if d.Recv != nil {
		fields = slices.Concat(fields, d.Recv.List)
	}
	for _, f := range fields {
		for _, id := range f.Names {
			names[id.Name] = true
		}
	}
	ok := !names["_"]
	for _, f := range fields {
		ast.Inspect(f.Type, func(n ast.Node) bool {
			id, is := n.(*ast.Ident)
			ok = ok && !(is && names[id.Name]) // a parameter with the name of a type
			return ok
		})
	}
	for _, p := range d.Type.Params.List {
		ok = ok && len(p.Names) > 0
	}
	return ok
}

// copyOf returns the text that is put at the beginning of a mutant's function.
func copyOf(fset *token.FileSet, m *mutant, number int) []byte {
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	d := m.around
	var b bytes.Buffer
	fmt.Fprintf(&b, "\nif ponteMutant(%d) {", number)
	signature, arguments := "", ""
	if m.form == asClosure {
		signature = "func" + string(m.file.src[at(d.Type.Params.Pos()):at(d.Body.Lbrace)]) + "{"
		var names []string
		for _, p := range d.Type.Params.List {
			_, variadic := p.Type.(*ast.Ellipsis)
			for _, id := range p.Names {
				name := id.Name
				if variadic {
					name += "..."
				}
				names = append(names, name)
			}
		}
		arguments = "\n}(" + strings.Join(names, ", ") + ")"
		if d.Type.Results.NumFields() > 0 {
			signature = "return " + signature
		}
	}
	b.WriteString(signature)
	b.Write(m.file.src[at(d.Body.Lbrace)+1 : m.start])
	b.WriteString(m.text)
	b.Write(m.file.src[m.end:at(d.Body.Rbrace)])
	b.WriteString(arguments)
	if d.Type.Results.NumFields() == 0 {
		b.WriteString("\nreturn")
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}

// together returns the files in which mutants can be switched on, by their paths. The first has the
// number 1. Those that cannot be switched are left out.
func together(fset *token.FileSet, mutants []*mutant) map[string][]byte {
	files := map[string][]byte{}
	type copied struct {
		at   int
		text []byte
	}
	copies := map[*file][]copied{}
	for i, m := range mutants {
		if m.form == unswitchable {
			continue
		}
		at := fset.Position(m.around.Body.Lbrace).Offset + 1
		copies[m.file] = append(copies[m.file], copied{at, copyOf(fset, m, i+1)})
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
