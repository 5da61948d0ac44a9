// SPDX-License-Identifier: Apache-2.0

package editortest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"), "run with -update if it should be so")
}

// contents are files as they may be on disk.
var contents = []string{
	"", "one\n", "one", "one\ntwo\nthree\n", "one\r\ntwo\r\n", "one\r\ntwo\n", "one\rtwo\r", "one  \n\ttwo\t\r\nthree ",
	"\ufeffone\n", "\ufeffone\r\ntwo\r\n", "caf\xe9 au lait, d\xe9j\xe0 vu\n", "\xff\xfeo\x00n\x00e\x00\n\x00", "\x00\x01\xff\xfe", "ü\xe9\n",
}

// TestEditors has what each fake of an editor makes of each file: it is read, typed in, saved and
// written.
func TestEditors(t *testing.T) {
	const path = "/project/f"
	texts := []string{"", "new\ntext  \n", "new\r\n\ttext\t", "\ufeffü\n"}
	var b strings.Builder
	said := func(text string, err error) string {
		if err != nil {
			return "error: " + err.Error()
		}
		return fmt.Sprintf("%q", text)
	}
	for _, e := range editortest.Editors() {
		w, err := workspace.NewMemory(workspace.MemoryConfig{})
		require.NoError(t, err)
		disk := w.Disk()
		e.Disk = disk
		fmt.Fprintf(&b, "# %s\nmissing %s\n", e.Name, said(e.Read(path)))
		on := func() string {
			data, err := disk.ReadFile(path)
			return said(string(data), err)
		}
		for _, c := range contents {
			begin := func() {
				e.Type(path, "typed before")
				_ = disk.Remove(path)
				require.NoError(t, disk.WriteFile(path, []byte(c), 0o640))
				shown, err := e.Read(path)
				require.NoError(t, err)
				require.Equal(t, "typed before", shown)
				require.NoError(t, disk.WriteFile(path, []byte(c), 0o640))
				forget(e, path)
			}
			begin()
			fmt.Fprintf(&b, "%q is shown as %s\n", c, said(e.Read(path)))
			for _, lines := range [][2]int{{0, 0}, {1, 1}, {2, 1}, {2, 9}, {3, 0}, {4, 1}, {99, 1}} {
				fmt.Fprintf(&b, "  lines %v %s\n", lines, said(e.ReadLines(path, lines[0], lines[1])))
			}
			for _, text := range texts {
				begin()
				err := e.Write(path, text)
				mode, _ := disk.Mode(path)
				fmt.Fprintf(&b, "  written %q: %v, on disk %s %v, unsaved %v\n", text, err, on(), mode, e.Unsaved(path))
				begin()
				e.Type(path, text)
				unsaved := e.Unsaved(path)
				err = e.SaveAll()
				fmt.Fprintf(&b, "  typed %q: unsaved %v, saved %v, on disk %s, unsaved %v\n", text, unsaved, err, on(), e.Unsaved(path))
			}
		}
		forget(e, path)
		e.Disk = full{disk}
		err = e.Write(path, "new")
		fmt.Fprintf(&b, "the disk is full: %v, unsaved %v\n", err, e.Unsaved(path))
		e.Type(path, "typed")
		fmt.Fprintf(&b, "the disk is full: %v, lazy %v\n", e.SaveAll(), e.Lazy)
	}
	golden(t, "editors", b.String())
}

// forget has an editor forget what was typed: it has what is shown of the disk.
func forget(e *editortest.Editor, path string) {
	disk := e.Disk
	w, _ := workspace.NewMemory(workspace.MemoryConfig{})
	e.Disk = w.Disk()
	_ = w.Disk().WriteFile(path, nil, 0o644)
	_ = e.SaveAll()
	e.Disk = disk
}

// full is a disk that takes nothing.
type full struct{ workspacetest.Disk }

func (full) WriteFile(string, []byte, fs.FileMode) error { return errors.New("no space") }

// liar is a workspace in memory that does not do what it says.
type liar struct {
	workspace.Workspace
	disk   *workspace.MemoryDisk
	read   func(l *liar, f *workspace.File) error
	write  func(l *liar, path string, data []byte) ([]byte, error)
	remove func(l *liar, path string) error
	calls  []string
}

func (l *liar) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	f, err := l.Workspace.Read(ctx, path, r)
	l.calls = append(l.calls, fmt.Sprintf("read %s: %d bytes", path, len(f.Data)))
	if err == nil && l.read != nil {
		err = l.read(l, &f)
	}
	return f, err
}

func (l *liar) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	l.calls = append(l.calls, fmt.Sprintf("write %s: %q", path, data))
	if l.write == nil {
		return l.Workspace.Write(ctx, path, data, v)
	}
	other, err := l.write(l, path, data)
	if err != nil || other == nil {
		return "v", err
	}
	return l.Workspace.Write(ctx, path, other, v)
}

func (l *liar) Remove(ctx context.Context, path string, v workspace.Version) error {
	l.calls = append(l.calls, "remove "+path)
	if l.remove != nil {
		return l.remove(l, path)
	}
	return l.Workspace.Remove(ctx, path, v)
}

var errLie = errors.New("a lie")

// lies are what workspaces do wrong.
var lies = map[string]func(l *liar, env *workspacetest.Env){
	"it writes nothing": func(l *liar, _ *workspacetest.Env) {
		l.write = func(*liar, string, []byte) ([]byte, error) { return nil, nil }
	},
	"it writes a byte more": func(l *liar, _ *workspacetest.Env) {
		l.write = func(_ *liar, _ string, data []byte) ([]byte, error) { return append(slices.Clone(data), '!'), nil }
	},
	"it writes capitals": func(l *liar, _ *workspacetest.Env) {
		l.write = func(_ *liar, _ string, data []byte) ([]byte, error) { return bytes.ToUpper(data), nil }
	},
	"it writes and fails": func(l *liar, _ *workspacetest.Env) {
		l.write = func(l *liar, path string, data []byte) ([]byte, error) {
			_ = l.disk.WriteFile(l.path(path), data, 0o644)
			return nil, errLie
		}
	},
	"it refuses to write": func(l *liar, _ *workspacetest.Env) {
		l.write = func(*liar, string, []byte) ([]byte, error) { return nil, fs.ErrPermission }
	},
	"it reads a byte more": func(l *liar, _ *workspacetest.Env) {
		l.read = func(_ *liar, f *workspace.File) error { f.Data = append([]byte{'!'}, f.Data...); return nil }
	},
	"it reads nothing": func(l *liar, _ *workspacetest.Env) {
		l.read = func(_ *liar, f *workspace.File) error { f.Data = nil; return nil }
	},
	"it refuses to read": func(l *liar, _ *workspacetest.Env) {
		l.read = func(*liar, *workspace.File) error { return fs.ErrPermission }
	},
	"it changes what it reads": func(l *liar, _ *workspacetest.Env) {
		l.read = func(l *liar, f *workspace.File) error {
			return l.disk.WriteFile(l.path(f.Path), append(slices.Clone(f.Data), '!'), 0o644)
		}
	},
	"it does not remove": func(l *liar, _ *workspacetest.Env) {
		l.remove = func(*liar, string) error { return nil }
	},
	"it refuses to remove": func(l *liar, _ *workspacetest.Env) {
		l.remove = func(*liar, string) error { return errLie }
	},
	"the person denies": func(_ *liar, env *workspacetest.Env) {
		env.Asker = answers{toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "not today"}, nil}
	},
	"the person is gone": func(_ *liar, env *workspacetest.Env) { env.Asker = answers{toolset.Decision{}, errLie} },
	"the person allows": func(_ *liar, env *workspacetest.Env) {
		env.Asker = answers{toolset.Decision{Verdict: toolset.VerdictAllow}, nil}
	},
}

func (l *liar) path(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "/project/" + name
}

// answers is a person with one answer.
type answers struct {
	decision toolset.Decision
	err      error
}

func (a answers) Approve(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
	return a.decision, a.err
}

func (a answers) Answer(context.Context, toolset.Question) (toolset.Reply, error) {
	return toolset.Reply{}, errLie
}

// lying returns the environment of a workspace that lies, and the workspace.
func lying(t *testing.T, lie func(*liar, *workspacetest.Env)) (*liar, func(*editortest.Editor) (*workspacetest.Env, error)) {
	w, err := workspace.NewMemory(workspace.MemoryConfig{})
	require.NoError(t, err)
	l := &liar{Workspace: w, disk: w.Disk()}
	env := &workspacetest.Env{Workspace: l, Disk: w.Disk()}
	if lie != nil {
		lie(l, env)
	}
	return l, func(*editortest.Editor) (*workspacetest.Env, error) { return env, nil }
}

// TestLiesAreFound has what the law of files says of each lie, with each kind of file.
func TestLiesAreFound(t *testing.T) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lies)) {
		fmt.Fprintf(&b, "# %s\n", name)
		for _, kind := range editortest.Kinds() {
			for _, what := range []string{"read", "write", "edit", "undo"} {
				_, newEnv := lying(t, lies[name])
				if err := editortest.Truth(t.Context(), kind, what, newEnv); err != nil {
					fmt.Fprintf(&b, "%s/%s: %s\n", kind, what, strings.ReplaceAll(err.Error(), "\n", "\n    "))
				}
			}
		}
	}
	golden(t, "lies", b.String())
}

// TestSessionsDo has what random sessions do, and what is said when the workspace lies.
func TestSessionsDo(t *testing.T) {
	var b strings.Builder
	for seed := range uint64(12) {
		l, newEnv := lying(t, nil)
		require.NoError(t, editortest.RunSession(t.Context(), seed, nil, newEnv))
		fmt.Fprintf(&b, "# seed %d\n%s\n", seed, strings.Join(l.calls, "\n"))
		for _, name := range []string{"a", "b", "c"} {
			data, err := l.disk.ReadFile("/project/" + name)
			fmt.Fprintf(&b, "%s holds %q, %v\n", name, data, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lies)) {
		fmt.Fprintf(&b, "# %s\n", name)
		for seed := range uint64(8) {
			_, newEnv := lying(t, lies[name])
			if err := editortest.RunSession(t.Context(), seed, nil, newEnv); err != nil {
				fmt.Fprintf(&b, "%s\n", strings.ReplaceAll(err.Error(), "\n", "\n    "))
			}
		}
	}
	golden(t, "sessions", b.String())
}
