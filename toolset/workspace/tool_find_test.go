// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

var project = map[string]string{
	"main.go": "package main\n\nfunc main() { Greet() }\n", "lib/greet.go": "package lib\n\n// Greet greets.\nfunc Greet() {}\r\n", "lib/deep/x.txt": "greet\n", "lib/deep/y.go": "", ".git/config": "Greet",
	"node_modules/a/b.js": "Greet", "data.bin": "Greet\x00", "lib/node_modules/c.js": "Greet", ".gitignore": "*.log\n/build/\n!keep.log\n", "a.log": "Greet", "keep.log": "Greet\n", "build/out": "Greet",
	"lib/build/in": "", "lib/.gitignore": "in\n!*.log\n", "lib/b.log": "", ".github/ci.yml": "",
}

func TestListFiles(t *testing.T) {
	r, ws := inMemory(t, workspace.MemoryConfig{Roots: []string{"/project", "/more"}, Files: project})
	require.NoError(t, ws.Disk().Symlink("main.go", "/project/link"))
	require.NoError(t, ws.Disk().WriteFile("/more/z", nil, 0o644))
	for _, c := range []struct {
		args args
		want string
	}{
		{args{}, ".github/\n.gitignore\ndata.bin\nkeep.log\nlib/\nlink [link]\nmain.go\n"},
		{args{"path": "lib"}, "lib/.gitignore\nlib/b.log\nlib/build/\nlib/deep/\nlib/greet.go\n"},
		{args{"path": "/project/lib", "depth": 2}, "lib/.gitignore\nlib/b.log\nlib/build/\nlib/deep/\nlib/deep/x.txt\nlib/deep/y.go\nlib/greet.go\n"},
		{args{"pattern": "*.go"}, "lib/deep/y.go\nlib/greet.go\nmain.go\n"},
		{args{"pattern": "*.go", "depth": 1}, "main.go\n"},
		{args{"pattern": "lib/**/*.{go,txt}"}, "lib/deep/x.txt\nlib/deep/y.go\nlib/greet.go\n"},
		{args{"pattern": "deep/*", "path": "lib"}, "lib/deep/x.txt\nlib/deep/y.go\n"},
		{args{"pattern": "*.log"}, "keep.log\nlib/b.log\n"},
		{args{"pattern": "*.log", "include_ignored": true}, "a.log\nkeep.log\nlib/b.log\n"},
		{args{"path": "build"}, "build/out\n"},
		{args{"pattern": "*.rs"}, "[no files]\n"},
		{args{"path": "main.go"}, "main.go\n"},
		{args{"path": "/more"}, "/more/z\n"},
		{args{"path": "missing"}, "Could not list missing: not found."},
		{args{"path": ".."}, "Could not list ..: the path lies outside of the working directory, or leads out through a link. Use a path inside /project or /more."},
		{args{"pattern": "a["}, `pattern "a[" is not a valid glob.`},
	} {
		require.Equal(t, c.want, r.call("list_files", c.args), c.args)
	}
	require.Empty(t, r.asked)
}

// The ignore files of all directories above the one that is listed count, up to the top of the workspace.
func TestIgnoreFilesAboveCount(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{
		".gitignore": "*.log\n/a/b/top\n", "a/.gitignore": "middle\n", "a/b/.ignore": "*.tmp\n", "a/b/x.log": "x", "a/b/top": "x",
		"a/b/c/middle": "x", "a/b/c/y.tmp": "x", "a/b/c/z.log": "x", "a/b/c/kept": "x",
	}})
	require.Equal(t, "a/b/.ignore\na/b/c/\n", r.call("list_files", args{"path": "a/b"}))
	require.Equal(t, "a/b/c/kept\n", r.call("list_files", args{"path": "a/b/c"}))
	require.Equal(t, "a/b/c/kept:1: x\n", r.call("search_files", args{"path": "a/b/c", "pattern": "x"}))
}

func TestListFilesIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 1200 {
		files[fmt.Sprintf("f%04d", i)] = ""
	}
	r, _ := inMemory(t, workspace.MemoryConfig{Files: files})
	got := r.call("list_files", args{})
	require.Equal(t, 1001, strings.Count(got, "\n"))
	require.True(t, strings.HasSuffix(got, "f0999\n[Stopped after 1000 entries. Give a path, a pattern or a smaller depth to see others.]\n"))
}

func TestSearchFiles(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Files: project})
	left := "[1 binary files were not searched.]\n"
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": "Greet()", "literal": true}, "lib/greet.go:4: func Greet() {}\nmain.go:3: func main() { Greet() }\n" + left},
		{args{"pattern": `func \w+\(\)`, "path": "lib"}, "lib/greet.go:4: func Greet() {}\n"},
		{args{"pattern": `\{\}$`}, "lib/greet.go:4: func Greet() {}\n" + left},
		{args{"pattern": "GREET", "ignore_case": true, "path": "lib"}, "lib/deep/x.txt:1: greet\nlib/greet.go:3: // Greet greets.\nlib/greet.go:4: func Greet() {}\n"},
		{args{"pattern": "Greet", "glob": "main*"}, "main.go:3: func main() { Greet() }\n"},
		{args{"pattern": "Greet", "path": "main.go"}, "main.go:3: func main() { Greet() }\n"},
		{args{"pattern": "^package", "context": 1}, "lib/greet.go:1: package lib\nlib/greet.go-2- \n--\nmain.go:1: package main\nmain.go-2- \n" + left},
		{args{"pattern": "Greet", "include_ignored": true, "glob": "*.log"}, "a.log:1: Greet\nkeep.log:1: Greet\n"},
		{args{"pattern": "nowhere"}, "[No matches in 9 files.]\n" + left},
		{args{"pattern": "a(b"}, "pattern is not a valid regular expression: missing closing ): `a(b`. Set literal to search for the text as it is."},
		{args{"pattern": "a\nb", "literal": true}, "pattern must not contain line breaks: lines are searched one by one."},
		{args{"pattern": "a", "glob": "["}, `glob "[" is not valid.`},
		{args{"pattern": "a", "path": "missing"}, "Could not search missing: not found."},
	} {
		require.Equal(t, c.want, r.call("search_files", c.args), c.args)
	}
	require.Empty(t, r.asked)
}

func TestSearchShowsContextOnce(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"f": b.String()}})
	require.Equal(t, "f-3- line 3\nf-4- line 4\nf:5: line 5\nf-6- line 6\nf:7: line 7\nf-8- line 8\nf-9- line 9\n--\nf-28- line 28\nf-29- line 29\nf:30: line 30\n",
		r.call("search_files", args{"pattern": "line (5|7|30)$", "context": 2}))
}

func TestSearchIsBounded(t *testing.T) {
	long := strings.Repeat("x", 5000) + "needle" + strings.Repeat("y", 5000)
	r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": strings.Repeat("hit\n", 90), "b": strings.Repeat("hit\n", 90), "c": long}})
	got := r.call("search_files", args{"pattern": "hit"})
	require.Equal(t, 101, strings.Count(got, "\n"))
	require.True(t, strings.HasSuffix(got, "b:10: hit\n[Stopped after 100 matches. Use a more specific pattern, a path or a glob to see others.]\n"))
	got = r.call("search_files", args{"pattern": "needle"})
	require.Less(t, len(got), 500)
	require.Contains(t, got, "xneedley")
}

// Lines that reach over the blocks in which a file is read are found like others, with their
// numbers and their context.
func TestSearchReadsLargeFilesInBlocks(t *testing.T) {
	var b strings.Builder
	var want []string
	for i := 1; b.Len() < 5<<20; i++ {
		if i%9973 == 0 {
			want = append(want, fmt.Sprintf("f-%d- %s\nf:%d: needle %d\nf-%d- %s\n", i-1, filler(i-1), i, i, i+1, filler(i+1)))
			fmt.Fprintf(&b, "needle %d\n", i)
			continue
		}
		b.WriteString(filler(i) + "\n")
	}
	require.Greater(t, len(want), 5)
	r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"f": b.String()}})
	for _, a := range []args{{"pattern": "needle", "context": 1}, {"pattern": "^needle [0-9]+$", "context": 1}, {"pattern": "n[e]edle", "context": 1}} {
		require.Equal(t, strings.Join(want, "--\n"), r.call("search_files", a))
	}
	huge := strings.Repeat("x", 3<<20) + "\nneedle\n"
	r, _ = inMemory(t, workspace.MemoryConfig{Files: map[string]string{"f": huge}})
	require.Equal(t, "f:2: needle\n", r.call("search_files", args{"pattern": "needle"}))
}

func filler(i int) string { return fmt.Sprintf("line %d%s", i, strings.Repeat(".", i%50)) }

var _ workspace.Workspace = (*countingWorkspace)(nil)

// hanging is a workspace whose files cannot be read before a context ends.
type hanging struct {
	workspace.Workspace
	reads chan struct{}
}

func (h *hanging) Read(ctx context.Context, path string, _ workspace.Range) (workspace.File, error) {
	h.reads <- struct{}{}
	<-ctx.Done()
	return workspace.File{}, &workspace.PathError{Op: "read", Path: path, Err: ctx.Err()}
}

func TestCancelledSearchIsNoResult(t *testing.T) {
	for _, files := range []int{1, 2, 1000} {
		all := map[string]string{}
		for i := range files {
			all[fmt.Sprintf("f%04d", i)] = "hit"
		}
		ws, err := workspace.NewMemory(workspace.MemoryConfig{Files: all})
		require.NoError(t, err)
		session := workspace.NewSession(&hanging{ws, make(chan struct{}, 2*files)})
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		go func() {
			<-session.Workspace().(*hanging).reads
			cancel(stop)
		}()
		_, err = toolsettest.Call(ctx, workspace.Tools(deps.Session), &toolset.RunContext[deps]{Deps: deps{session}}, "search_files", `{"pattern":"hit"}`)
		require.ErrorIs(t, err, stop, "%d files", files)
		require.NoError(t, session.Close(t.Context()))
	}
}
