// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// code is the type-checked source of all targets.
type code struct {
	fset     *token.FileSet
	packages []*pkg
	mu       sync.Mutex // the importer is not safe for concurrent use
	importer types.Importer
}

// pkg is one target's source.
type pkg struct {
	target
	path  string // import path
	files []*file
	info  *types.Info
}

// file is a source file that is neither generated nor a test, or a generated one, which is only type-checked.
type file struct {
	name      string // relative to the module's root, with slashes
	path      string
	src       []byte
	syntax    *ast.File
	generated bool
}

// load parses and type-checks the packages of the targets. It needs export data of what they import, which go list
// builds.
func load(ctx context.Context, root string, targets []target) (*code, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for _, t := range targets {
		args = append(args, "./"+t.dir)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	byDir, exports := map[string]listed{}, map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		byDir[l.Dir], exports[l.ImportPath] = l, l.Export
	}
	c := &code{fset: token.NewFileSet()}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, t := range targets {
		l, ok := byDir[filepath.Join(root, filepath.FromSlash(t.dir))]
		if !ok {
			return nil, fmt.Errorf("go list found no package in %s", t.dir)
		}
		p := &pkg{target: t, path: l.ImportPath}
		for _, name := range l.GoFiles {
			f := &file{name: t.dir + "/" + name, path: filepath.Join(l.Dir, name)}
			if f.src, err = os.ReadFile(f.path); err != nil {
				return nil, err
			}
			if f.syntax, err = parser.ParseFile(c.fset, f.path, f.src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
				return nil, err
			}
			f.generated = ast.IsGenerated(f.syntax)
			p.files = append(p.files, f)
		}
		p.info = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{},
			Defs:  map[*ast.Ident]types.Object{},
			Uses:  map[*ast.Ident]types.Object{},
		}
		if err := c.check(p, nil, nil, p.info); err != nil {
			return nil, err
		}
		c.packages = append(c.packages, p)
	}
	return c, nil
}

// check type-checks a package, with a file replaced by another syntax tree if one is given.
func (c *code) check(p *pkg, replaced *file, by *ast.File, info *types.Info) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var files []*ast.File
	for _, f := range p.files {
		if f == replaced {
			files = append(files, by)
		} else {
			files = append(files, f.syntax)
		}
	}
	config := types.Config{Importer: c.importer, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	_, err := config.Check(p.path, c.fset, files, info)
	return err
}

// compiles reports whether a mutant passes the type checker.
func (c *code) compiles(m *mutant) bool {
	syntax, err := parser.ParseFile(c.fset, m.file.path, m.source(), parser.SkipObjectResolution)
	return err == nil && c.check(m.pkg, m.file, syntax, nil) == nil
}

// mutants returns all mutants of all packages, in the order of the source.
func (c *code) mutants() []*mutant {
	var all []*mutant
	for _, p := range c.packages {
		for _, f := range p.files {
			if !f.generated {
				all = append(all, mutate(c.fset, p, f)...)
			}
		}
	}
	return all
}
