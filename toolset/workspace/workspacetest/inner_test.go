// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// told runs a test inside another one, and returns what it says.
func told(t *testing.T, f func(*testing.T)) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	stdout, verbose := os.Stdout, flag.Lookup("test.v").Value.String()
	os.Stdout = file
	require.NoError(t, flag.Set("test.v", "true"))
	defer func() {
		os.Stdout = stdout
		_ = flag.Set("test.v", verbose)
	}()
	all := func(string, string) (bool, error) { return true, nil }
	ran := false
	testing.RunTests(all, []testing.InternalTest{{Name: "inner", F: func(t *testing.T) {
		if ran {
			return // with -count
		}
		ran = true
		f(t)
	}}})
	require.NoError(t, file.Close())
	data, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.Contains(line, "=== ") && !strings.HasPrefix(line, "--- PASS: inner") {
			b.WriteString(where.ReplaceAllString(line, " "))
		}
	}
	return b.String()
}

var where = regexp.MustCompile(`\s+\w+\.go:\d+: | \(\d+\.\d+s\)`)

// listing is a workspace whose walk has many files.
type listing struct {
	workspace.Workspace
	n    int
	last error
}

func (l listing) Walk(context.Context, string, workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	return func(yield func(workspace.Info, error) bool) {
		for i := range l.n {
			if !yield(workspace.Info{Path: fmt.Sprint("/project/", i)}, nil) {
				return
			}
		}
		if l.last != nil {
			yield(workspace.Info{Path: "/project/bad"}, l.last)
		}
	}
}

func memory(t *testing.T) *workspace.Memory {
	w, err := workspace.NewMemory(workspace.MemoryConfig{})
	require.NoError(t, err)
	return w
}

// A walk of ten thousand files ends, and one of more does not.
func TestWalksThatDoNotEnd(t *testing.T) {
	for _, n := range []int{10_000, 10_001} {
		p := &probe{ctx: t.Context(), ws: listing{Workspace: memory(t), n: n}}
		if n > 10_000 {
			require.PanicsWithValue(t, errStop, func() { p.walk(".", workspace.WalkOptions{}) })
			require.EqualError(t, p.result(), "the walk does not end")
			continue
		}
		require.Len(t, p.walk(".", workspace.WalkOptions{}), n)
		require.NoError(t, p.result())
	}
	p := &probe{ctx: t.Context(), ws: listing{Workspace: memory(t), n: 1, last: errors.New("bad")}}
	require.Equal(t, []string{"0", "bad error"}, p.walk(".", workspace.WalkOptions{}))
	require.EqualError(t, p.lastError(t.Context(), "."), "bad")
}

// A probe tells the first twenty errors, each of them short.
func TestWhatAProbeTells(t *testing.T) {
	p := &probe{ctx: t.Context(), ws: memory(t), Env: &Env{Outside: "/outside"}}
	for i := range 25 {
		p.errorf("error %d", i)
	}
	require.Len(t, p.errs, 20)
	require.True(t, strings.HasSuffix(p.result().Error(), "error 18\nerror 19"))
	require.Equal(t, strings.Repeat("a", 300), short(strings.Repeat("a", 300)))
	require.Equal(t, strings.Repeat("a", 150)+"…"+strings.Repeat("b", 150), short(strings.Repeat("a", 151)+strings.Repeat("b", 150)))
	p.errs = nil
	require.True(t, p.ok(nil, "x"))
	require.False(t, p.ok(fs.ErrExist, "x %d", 1))
	p.equal(1, 1, "same")
	p.equal(1, "1", "different %d", 2)
	p.is(fs.ErrExist, "is %s", "a", fs.ErrNotExist, fs.ErrExist)
	p.is(nil, "is %s", "b", fs.ErrNotExist, fs.ErrExist)
	require.EqualError(t, p.result(), "x 1: unexpected error: file already exists\ndifferent 2: got 1, want \"1\"\nis b: got the error <nil>, want [file does not exist file already exists]")
	require.ErrorIs(t, p.result(), fs.ErrExist)
	p.errs = nil
	require.NotPanics(t, func() { p.must(nil, "x") })
	require.PanicsWithValue(t, errStop, func() { p.must(fmt.Errorf("x: %w", errors.ErrUnsupported), "y") })
	require.Empty(t, p.errs)
	require.PanicsWithValue(t, errStop, func() { p.must(fs.ErrExist, "y %d", 1) })
	require.EqualError(t, p.result(), "y 1: unexpected error: file already exists")
	require.Equal(t, []string{"/project/a", "/outside/b"}, []string{p.root(0, "a"), p.out("b")})
	require.Equal(t, "/project/a/b", p.root(0, "a/b"))
	n := 0
	for k, v := range sorted(map[string]int{"b": 2, "a": 1, "c": 3}) {
		n++
		require.Equal(t, map[int]string{1: "a", 2: "b"}[v], k)
		if n == 2 {
			break
		}
	}
	require.Equal(t, 2, n)
}

// The way from a directory to a path goes up as far as it must.
func TestRelativePaths(t *testing.T) {
	for _, c := range [][3]string{
		{"/a/b", "/a/c", "../c"}, {"/a", "/a/b", "b"}, {"/a/b", "/a", "../"}, {"/a", "/a", ""}, {"/a/b", "/c/d", "../../c/d"}, {"/a/b/", "/a/b/c/d/", "c/d"}, {"/a/x/c", "/a/y/c", "../../y/c"},
	} {
		require.Equal(t, c[2], relativeTo(c[0], c[1]), "from %s to %s", c[0], c[1])
	}
}

// hiding is a workspace that loses what is written, and lists nothing.
type hiding struct{ *workspace.Memory }

func (hiding) Write(context.Context, string, []byte, workspace.Version) (workspace.Version, error) {
	return "v", nil
}

func (hiding) Walk(context.Context, string, workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	return func(func(workspace.Info, error) bool) {}
}

// A suite has a part for each rule, and tells what is wrong with a workspace.
func TestWhatSuitesTell(t *testing.T) {
	made := 0
	env := func(w func() workspace.Workspace) func() (*Env, error) {
		return func() (*Env, error) {
			made++
			ws := w()
			memory, _ := ws.(*workspace.Memory)
			if h, ok := ws.(hiding); ok {
				memory = h.Memory
			}
			return &Env{Workspace: ws, Disk: memory.Disk(), Outside: "/outside"}, nil
		}
	}
	count := func(out, what string) int { return strings.Count(out, what) }
	for _, c := range []struct {
		name  string
		run   func(t *testing.T, newEnv func() (*Env, error))
		rules int
	}{
		{"files", Run, len(rules())}, {"tools", func(t *testing.T, newEnv func() (*Env, error)) { RunTools(t, newEnv) }, 2},
	} {
		made = 0
		out := told(t, func(t *testing.T) { c.run(t, env(func() workspace.Workspace { return memory(t) })) })
		require.Equal(t, c.rules, made)
		require.Zero(t, count(out, "FAIL"), out)
		require.Equal(t, c.rules, count(out, "--- PASS: inner/"))
		out = told(t, func(t *testing.T) { c.run(t, env(func() workspace.Workspace { return hiding{memory(t)} })) })
		require.Positive(t, count(out, "--- FAIL: inner/"))
		require.Equal(t, c.rules, count(out, "--- FAIL: inner/")+count(out, "--- PASS: inner/"))
		if c.name == "files" {
			require.Contains(t, out, "--- FAIL: inner/bytes_are_written_as_they_are \n")
			require.Contains(t, out, "--- PASS: inner/a_file_is_read_as_it_is \n")
			require.Contains(t, out, "on disk: unexpected error: ")
		} else {
			require.Contains(t, out, "--- FAIL: inner/the_same_work_gets_the_same_answers \n")
			require.Contains(t, out, "the model was told\n")
		}
		out = told(t, func(t *testing.T) { c.run(t, func() (*Env, error) { return nil, errors.New("no room") }) })
		require.Equal(t, c.rules, count(out, "new environment: no room"))
	}
}
