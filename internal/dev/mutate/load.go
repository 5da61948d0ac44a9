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
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// code is the type-checked source of all targets.
type code struct {
	fset     *token.FileSet
	packages []*pkg
	mu       sync.Mutex // importers are not safe for concurrent use
}

// pkg is one target's source.
type pkg struct {
	target
	files    []*file
	info     *types.Info
	importer types.Importer // of its module
}

// file is a source file that is neither generated nor a test, or a generated one, which is only
// type-checked.
type file struct {
	name      string // relative to the root of the repository, with slashes
	path      string
	src       []byte
	syntax    *ast.File
	generated bool
}

// load parses and type-checks the packages of the targets. It needs export data of what they
// import, which go list builds.
func load(ctx context.Context, root string, targets []target) (*code, error) {
	byModule := map[string][]target{}
	for _, t := range targets {
		byModule[t.module] = append(byModule[t.module], t)
	}
	c := &code{fset: token.NewFileSet()}
	for _, m := range slices.Sorted(maps.Keys(byModule)) {
		if err := c.load(ctx, root, m, byModule[m]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// load loads the packages of one module.
func (c *code) load(ctx context.Context, root, module string, targets []target) error {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for _, t := range targets {
		args = append(args, t.path)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(module))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list in %s: %w\n%s", module, err, stderr.Bytes())
	}
	type exported struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	byPath := map[string]exported{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var e exported
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		byPath[e.ImportPath] = e
	}
	imports := importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(byPath[path].Export) })
	for _, t := range targets {
		e := byPath[t.path]
		p := &pkg{target: t, importer: imports}
		for _, name := range e.GoFiles {
			f := &file{name: t.dir + "/" + name, path: filepath.Join(e.Dir, name)}
			if f.src, err = os.ReadFile(f.path); err != nil {
				return err
			}
			if f.syntax, err = parser.ParseFile(c.fset, f.path, f.src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
				return err
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
			return err
		}
		c.packages = append(c.packages, p)
	}
	return nil
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
	config := types.Config{Importer: p.importer, Sizes: types.SizesFor("gc", runtime.GOARCH)}
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
