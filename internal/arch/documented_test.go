// SPDX-License-Identifier: Apache-2.0

package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExportedSymbolsAreDocumented looks at everything that users can name: types, functions, methods, constants, variables,
// struct fields and interface methods. A comment on a group of constants or variables counts for all of them, and one on a
// field for those that follow without an empty line; a comment behind a name counts, too. The only member of a type is
// described with the type. Generated files describe somebody else's names.
func TestExportedSymbolsAreDocumented(t *testing.T) {
	root := filepath.Join("..", "..")
	var missing []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path == root {
				return nil
			}
			if strings.HasPrefix(name, ".") || name == "internal" || name == "testdata" || name == "examples" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(file) || file.Name.Name == "main" {
			return err
		}
		for _, n := range undocumented(fset, file) {
			missing = append(missing, fset.Position(n.Pos()).String()+": "+n.Name)
		}
		return nil
	}))
	require.Empty(t, missing, "say in a comment what each of these is for")
}

// undocumented returns the exported names of a file that have no comment.
func undocumented(fset *token.FileSet, file *ast.File) []*ast.Ident {
	var found []*ast.Ident
	note := func(documented bool, names ...*ast.Ident) {
		for _, n := range names {
			if n.IsExported() && !documented {
				found = append(found, n)
			}
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if receiverExported(d) {
				note(d.Doc != nil || wellKnown[d.Name.Name] && d.Recv != nil, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					note(d.Doc != nil || s.Doc != nil || s.Comment != nil, s.Names...)
				case *ast.TypeSpec:
					note(d.Doc != nil || s.Doc != nil, s.Name)
					if s.Name.IsExported() {
						members(fset, s.Type, note)
					}
				}
			}
		}
	}
	return found
}

// wellKnown are methods whose contract is that of a well-known interface.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true, "Is": true, "String": true}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// members looks at the fields of a struct and the methods of an interface.
func members(fset *token.FileSet, typ ast.Expr, note func(bool, ...*ast.Ident)) {
	var list *ast.FieldList
	switch x := typ.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	}
	if list == nil || len(list.List) == 1 && len(list.List[0].Names) == 1 {
		return
	}
	above, end := false, 0
	for _, f := range list.List {
		begin := fset.Position(f.Pos()).Line
		above = f.Doc != nil || f.Comment != nil || above && begin == end+1
		note(above, f.Names...)
		end = fset.Position(f.End()).Line
	}
}

func TestUndocumentedSymbolsAreFound(t *testing.T) {
	const source = `package p

type A struct { // no comment
	B int // of its own
	C int

	D int
}

// E is documented.
type E interface {
	// F is documented.
	F()
	G()

	H()
}

// I has one member.
type I interface{ J() }

func K() {}

func (l l) L() {}

func (a *A) M() {}

func (a A) Error() string { return "" }

// Constants.
const (
	N = 1
	O = 2
)

var P, q int
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.ParseComments)
	require.NoError(t, err)
	var names []string
	for _, n := range undocumented(fset, file) {
		names = append(names, n.Name)
	}
	require.Equal(t, []string{"A", "D", "H", "K", "M", "P"}, names)
}
