// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	columns  = 100
	tabWidth = 4
)

// house is the code of the repository.
type house struct {
	lines, generated, long int
	packages               map[string]*pkg  // by their directories
	rooms                  map[string]*room // directories of at most two levels
	longLines              []longLine       // by their files, without generated ones
}

// longLine is a line with more than the usual number of columns.
type longLine struct {
	file            string
	number, columns int
}

// room is a part of the house.
type room struct {
	name        string
	lines, long int
	largest     file // the file with the most lines that is not generated
}

// file is a file with its number of lines.
type file struct {
	name  string
	lines int
}

// pkg is a package.
type pkg struct {
	dir, name string
	symbols   map[string]bool // what is exported; methods as Type.Method
	structs   []*structType
}

// read parses all Go files below a directory except tests.
func read(root string) (*house, error) {
	h := &house{packages: map[string]*pkg{}, rooms: map[string]*room{}}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != root && ignored(d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return h.add(file, filepath.ToSlash(rel))
	})
	return h, err
}

// ignored reports whether a directory of that name has no code of ours.
func ignored(name string) bool {
	return name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// add counts a file with that name within the repository.
func (h *house) add(from, name string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), from, text,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	h.count(name, text, ast.IsGenerated(parsed))
	dir := path.Dir(name)
	p := h.packages[dir]
	if p == nil {
		p = &pkg{dir: dir, name: parsed.Name.Name, symbols: map[string]bool{}}
		h.packages[dir] = p
	}
	for _, d := range parsed.Decls {
		p.declare(d)
	}
	return nil
}

// count counts the lines of a file.
func (h *house) count(name string, text []byte, generated bool) {
	lines, long := 0, 0
	for line := range bytes.Lines(text) {
		lines++
		line = bytes.TrimRight(line, "\r\n")
		n := utf8.RuneCount(line) + (tabWidth-1)*bytes.Count(line, []byte("\t"))
		if n > columns && !generated {
			long++
			h.longLines = append(h.longLines, longLine{name, lines, n})
		}
	}
	r := h.room(name)
	r.lines, r.long = r.lines+lines, r.long+long
	h.lines, h.long = h.lines+lines, h.long+long
	switch {
	case generated:
		h.generated += lines
	case lines > r.largest.lines:
		r.largest = file{name, lines}
	}
}

// room returns the room of a file.
func (h *house) room(file string) *room {
	parts := strings.Split(file, "/")
	name := strings.Join(parts[:min(2, len(parts)-1)], "/")
	if h.rooms[name] == nil {
		h.rooms[name] = &room{name: name}
	}
	return h.rooms[name]
}

// sorted returns the rooms by their names.
func (h *house) sorted() []*room {
	return slices.SortedFunc(maps.Values(h.rooms), func(a, b *room) int {
		return strings.Compare(a.name, b.name)
	})
}

// public returns the packages that other modules can import, sorted.
func (h *house) public() []*pkg {
	var all []*pkg
	for _, p := range h.packages {
		parts := strings.Split(p.dir, "/")
		if p.name != "main" && parts[0] != "examples" && !slices.Contains(parts, "internal") {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return all
}

// declare adds what a declaration exports, and its structs.
func (p *pkg) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if name := funcName(d); name != "" {
			p.symbols[name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					p.export(n.Name)
				}
			case *ast.TypeSpec:
				p.export(s.Name.Name)
				if t, ok := s.Type.(*ast.StructType); ok {
					p.structs = append(p.structs, newStruct(p.dir+"."+s.Name.Name, t))
				}
			}
		}
	}
}

func (p *pkg) export(name string) {
	if ast.IsExported(name) {
		p.symbols[name] = true
	}
}

// funcName returns the name of an exported function, or of an exported method of an exported type,
// and nothing otherwise.
func funcName(d *ast.FuncDecl) string {
	if !d.Name.IsExported() {
		return ""
	}
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			if !of.IsExported() {
				return ""
			}
			return of.Name + "." + d.Name.Name
		default:
			return ""
		}
	}
}
