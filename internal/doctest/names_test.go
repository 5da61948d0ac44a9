// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	slash "path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesInDocumentsExist looks at what documents show as code and has the form of a name: package.Name, Type.Member, Field.Member, or
// all of them. Names of packages of others are not looked at.
func TestNamesInDocumentsExist(t *testing.T) {
	all, seen := readLibrary(), 0
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, file := range append(files, filepath.Join(root, "README.md")) {
		for _, m := range regexp.MustCompile("`\\*?((?:\\w+\\.)+[A-Z]\\w*)(?:\\([^`]*\\))?`").FindAllSubmatch(prose(t, file), -1) {
			if name := string(m[1]); name != "NuGet.Config" { // a file
				seen++
				require.True(t, all.has(name), "%s names %s", file, name)
			}
		}
	}
	require.Greater(t, seen, 500)
}

// TestLinksOfCommentsLeadSomewhere looks at the names in brackets, as godoc has them.
func TestLinksOfCommentsLeadSomewhere(t *testing.T) {
	all, seen := readLibrary(), 0
	for _, p := range all {
		for _, l := range p.links {
			seen++
			require.True(t, all.leads(p, l), "%s links to %s", l.file, l.name)
		}
	}
	require.Greater(t, seen, 2000)
}

// library is the packages of the repository.
type library []*declarations

// declarations are the names of a package.
type declarations struct {
	path, name string
	members    map[string]map[string]bool // of types, fields and methods; other names have none
	embeds     map[string]bool            // types that have members of others
	fields     map[string][]string        // the names of the types of fields, by their names
	imports    map[string][]string        // the paths of packages, by their names in files
	links      []commentLink
}

type commentLink struct{ file, name string }

// has reports whether a name exists, or is of a package of others.
func (all library) has(name string) bool {
	parts := strings.Split(name, ".")
	if !ast.IsExported(parts[0]) {
		of := func(p *declarations) bool { return p.name == parts[0] && !strings.Contains(p.path, "/internal/bench/") }
		return !slices.ContainsFunc(all, of) ||
			slices.ContainsFunc(all, func(p *declarations) bool { return of(p) && p.has(parts[1:]) })
	}
	if slices.ContainsFunc(all, func(p *declarations) bool { return p.has(parts) }) {
		return true
	}
	for _, p := range all {
		for _, typ := range p.fields[parts[0]] {
			if slices.ContainsFunc(all, func(q *declarations) bool { return q.members[typ][parts[1]] }) {
				return true
			}
		}
	}
	return false
}

// has reports whether a package has a name, with members.
func (p *declarations) has(parts []string) bool {
	members, ok := p.members[parts[0]]
	if !ok || len(parts) == 1 || p.embeds[parts[0]] {
		return ok
	}
	typed := func(typ string) bool { return len(parts) < 3 || p.members[typ] == nil || p.members[typ][parts[2]] }
	return members[parts[1]] && (len(parts) < 3 || slices.ContainsFunc(append(p.fields[parts[1]], ""), typed))
}

// leads reports whether a link in a comment of a package leads to something.
func (all library) leads(p *declarations, l commentLink) bool {
	parts := strings.Split(l.name, ".")
	if ast.IsExported(parts[0]) {
		return p.has(parts)
	}
	paths := p.imports[parts[0]]
	return len(paths) == 0 && all.has(l.name) || slices.ContainsFunc(paths, func(at string) bool {
		i := slices.IndexFunc(all, func(q *declarations) bool { return q.path == at })
		return i < 0 || all[i].has(parts[1:])
	})
}

// readLibrary parses the packages of the repository without their tests.
var readLibrary = sync.OnceValue(func() (all library) {
	byDir := map[string]*declarations{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.Dir(name)
		p := byDir[dir]
		if p == nil {
			at, err := filepath.Rel(root, dir)
			if err != nil {
				return err
			}
			p = &declarations{
				path: slash.Join("github.com/ponte-go/ponte", filepath.ToSlash(at)), name: file.Name.Name,
				members: map[string]map[string]bool{}, embeds: map[string]bool{}, fields: map[string][]string{}, imports: map[string][]string{},
			}
			byDir[dir], all = p, append(all, p)
		}
		p.add(file)
		p.addLinks(name, file)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return all
})

// add adds what a file declares.
func (p *declarations) add(file *ast.File) {
	of := func(name string) map[string]bool {
		if p.members[name] == nil {
			p.members[name] = map[string]bool{}
		}
		return p.members[name]
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			if f.Recv == nil {
				of(f.Name.Name)
			} else {
				of(typeName(f.Recv.List[0].Type))[f.Name.Name] = true
			}
			continue
		}
		for _, spec := range decl.(*ast.GenDecl).Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					of(n.Name)
				}
			case *ast.TypeSpec:
				members := of(s.Name.Name)
				var list *ast.FieldList
				switch typ := s.Type.(type) {
				case *ast.StructType:
					list = typ.Fields
				case *ast.InterfaceType:
					list = typ.Methods
				default:
					p.embeds[s.Name.Name] = typeName(typ) != "" // it may have what that has
					continue
				}
				for _, f := range list.List {
					typ := typeName(f.Type)
					for _, n := range f.Names {
						members[n.Name] = true
						p.fields[n.Name] = append(p.fields[n.Name], typ)
					}
					if len(f.Names) == 0 {
						members[typ], p.embeds[s.Name.Name] = true, true
					}
				}
			}
		}
	}
}

// docLink is a name in brackets that is no index, no type argument and no link of Markdown.
var docLink = regexp.MustCompile(`(?:^|[\s("])\[\*?((?:[a-z]\w*\.)?[A-Z]\w*(?:\.[A-Z]\w*)?)\](?:[^(:\w]|$)`)

// addLinks adds the links in the comments of a file.
func (p *declarations) addLinks(name string, file *ast.File) {
	for _, i := range file.Imports {
		at, _ := strconv.Unquote(i.Path.Value)
		as := slash.Base(at)
		if i.Name != nil {
			as = i.Name.Name
		}
		p.imports[as] = append(p.imports[as], at)
	}
	for _, c := range file.Comments {
		for line := range strings.Lines(c.Text()) {
			if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") {
				continue // code
			}
			for _, m := range docLink.FindAllStringSubmatch(line, -1) {
				p.links = append(p.links, commentLink{name, m[1]})
			}
		}
	}
}

// typeName returns the name of a type without its package and parameters, empty if it has none.
func typeName(typ ast.Expr) string {
	switch x := typ.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	return ""
}
