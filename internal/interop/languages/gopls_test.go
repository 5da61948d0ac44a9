// SPDX-License-Identifier: Apache-2.0

//go:build unix

package languages_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// gopls returns the directory of the program.
func gopls(t *testing.T) string {
	return cached(t, goplsModule, func(dir string) error {
		_, err := run(dir, []string{"GOBIN=" + dir}, "go", "install", goplsModule)
		return err
	})
}

// goModule returns a copy of a module of 200,000 lines.
func goModule(t *testing.T) string {
	out, err := run(t.TempDir(), nil, "go", "mod", "download", "-json", goProject)
	if err != nil {
		missing(t, err)
	}
	var found struct{ Dir string }
	require.NoError(t, json.Unmarshal([]byte(out), &found))
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(found.Dir)))
	_, err = run(dir, nil, "chmod", "-R", "u+w", ".")
	require.NoError(t, err)
	return dir
}

// goSymbol is a symbol that go/parser has found.
type goSymbol struct {
	name   string // Type.Method, or the function's name
	file   string // relative
	line   int
	column int
}

func (s *goSymbol) args(more string) string {
	return fmt.Sprintf(`{"symbol":%q,"path":%q%s}`, s.name, s.file, more)
}

// goSymbols returns exported functions and methods of several packages.
func goSymbols(t *testing.T, dir string, most int) []goSymbol {
	var all []goSymbol
	for _, pkg := range []string{"go/ast/astutil", "go/packages", "go/ssa", "go/analysis/analysistest", "go/callgraph", "imports", "cover", "txtar"} {
		fset := token.NewFileSet()
		files, err := filepath.Glob(filepath.Join(dir, pkg, "*.go"))
		require.NoError(t, err)
		n := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(fset, file, nil, 0)
			require.NoError(t, err)
			rel, _ := filepath.Rel(dir, file)
			for _, decl := range parsed.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || !f.Name.IsExported() || n == (most+5)/6 {
					continue
				}
				name := f.Name.Name
				if f.Recv != nil {
					typ := f.Recv.List[0].Type
					if star, ok := typ.(*ast.StarExpr); ok {
						typ = star.X
					}
					receiver, ok := typ.(*ast.Ident)
					if !ok || slices.Contains([]string{"String", "Error", "Pos", "End", "Name", "Type", "Parent", "Operands", "Referrers"}, name) {
						continue // which belong to interfaces of other packages
					}
					name = receiver.Name + "." + name
				}
				n++
				at := fset.Position(f.Name.Pos())
				all = append(all, goSymbol{name, filepath.ToSlash(rel), at.Line, at.Column})
			}
		}
	}
	require.GreaterOrEqual(t, len(all), most)
	return all[:most]
}

// Definitions are where go/parser finds them, and references are those of gopls' command line.
func TestGoplsAnswers(t *testing.T) {
	languages(t)
	tools := gopls(t)
	b := newBench(t, goModule(t), tools)
	asked := 0
	for _, s := range goSymbols(t, b.dir, *symbolCount) {
		where := fmt.Sprintf("%s:%d: ", s.file, s.line)
		require.True(t, strings.HasPrefix(b.call("find_definition", s.args("")), where), "%+v", s)
		outline := b.call("find_symbols", fmt.Sprintf(`{"path":%q,"query":%q}`, s.file, s.name))
		require.Contains(t, outline, fmt.Sprintf("%d", s.line), "%+v", s)
		require.Contains(t, outline, s.name, "%+v", s)
		out, err := run(b.dir, nil, filepath.Join(tools, "gopls"), "references", fmt.Sprintf("%s:%d:%d", s.file, s.line, s.column))
		require.NoError(t, err)
		want := map[string]bool{}
		for line := range strings.Lines(out) {
			parts := strings.Split(strings.TrimSpace(line), ":") // file:line:column-column
			rel, err := filepath.Rel(b.dir, parts[0])
			require.NoError(t, err)
			want[filepath.ToSlash(rel)+":"+parts[1]] = true
		}
		got := map[string]bool{}
		for offset := 0; ; offset += 100 {
			page := b.call("find_references", s.args(fmt.Sprintf(`,"offset":%d`, offset)))
			for line := range strings.Lines(page) {
				if parts := strings.SplitN(line, ":", 3); len(parts) == 3 && strings.HasSuffix(parts[0], ".go") {
					got[parts[0]+":"+parts[1]] = true
				}
			}
			if !strings.Contains(page, "call again with offset") {
				break
			}
		}
		require.Equal(t, want, got, "%+v", s)
		asked += 3
	}
	t.Logf("%d questions about %s agree", asked, goProject)
	require.Equal(t, "No problems.", b.call("get_diagnostics", `{"path":"txtar"}`))
}

// Renames make byte for byte what gopls' command line makes, on disk and through an editor; the
// module still builds; and undo restores every byte.
func TestGoplsRenames(t *testing.T) {
	languages(t)
	tools := gopls(t)
	dir := goModule(t)
	b := newBench(t, dir, tools)
	before := snapshot(t, dir)
	disk := b.recorder.Unwrap()
	renamed := 0
	for i, s := range goSymbols(t, dir, *symbolCount*3/2) {
		if renamed == *symbolCount {
			break
		}
		_, method, _ := strings.Cut(s.name, ".")
		if method == "" {
			method = s.name
		}
		to := method + "Renamed"
		_, err := run(dir, nil, filepath.Join(tools, "gopls"), "rename", "-w", fmt.Sprintf("%s:%d:%d", s.file, s.line, s.column), to)
		if err != nil { // gopls refuses some, such as methods that an interface needs
			require.ErrorContains(t, err, "renaming", "%+v", s)
			continue
		}
		renamed++
		want := snapshot(t, dir)
		changed := difference(before, want)
		require.NotEmpty(t, changed)
		for _, name := range changed {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(before[name]), 0o644))
		}
		if i%2 == 1 {
			editor := acptest.New(acptest.Options{OnDisk: true})
			t.Cleanup(editor.Close)
			w, err := acpbridge.NewWorkspace(editor.Deps(dir), acpbridge.LocalFallback{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, w.Close()) })
			b.use(w)
		} else {
			b.use(disk)
		}
		b.call("rename_symbol", s.args(fmt.Sprintf(`,"new_name":%q`, to)))
		require.Empty(t, difference(want, snapshot(t, dir)), "%+v", s)
		_, err = run(dir, nil, "go", "build", "./...")
		require.NoError(t, err, "%+v", s)
		_, err = b.recorder.Undo(t.Context(), checkpoint.Span{})
		require.NoError(t, err)
		require.Empty(t, difference(before, snapshot(t, dir)), "%+v", s)
	}
	require.Equal(t, *symbolCount, renamed)
	t.Logf("%d renames, half of them in an editor", renamed)
}
