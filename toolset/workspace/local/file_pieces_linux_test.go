// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// filesOnly opens a workspace with a root, and a second one.
func filesOnly(t *testing.T, names ...string) (*Workspace, string) {
	t.Helper()
	root := fileTree(t, append([]string{"r/", "s/"}, names...)...)
	w, err := Open(Config{Roots: []string{filepath.Join(root, "r"), filepath.Join(root, "s")}, NoCommands: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w, root
}

// Paths lead through links to places in the roots, and nowhere else. What is missing is where it
// would be made.
func TestPlacesOfPaths(t *testing.T) {
	names := []string{
		"r/f", "r/d/g", "r/l -> d", "r/lf -> f", "r/abs -> ROOT/r/d", "r/second -> ROOT/s", "r/out -> ../o", "r/outabs -> ROOT/o", "r/gone -> none", "r/up -> d/..", "r/dots -> ./d/./g", "r/root -> ..", "r/back -> ../r/d", "r/goneup -> none/../f", "r/self -> self",
		"r/here -> .", "r/fu -> f/x", "o/secret", "s/h",
	}
	for i := range 42 {
		names = append(names, fmt.Sprintf("r/c%d -> c%d", i, i+1))
	}
	names = append(names, "r/c42")
	w, root := filesOnly(t, names...)
	for _, c := range []struct {
		path   string
		follow bool
		want   string // the place, below the root of the test, with its kind
		err    error
	}{
		{"f", true, "r/f file", nil}, {"d/g", true, "r/d/g file", nil}, {".", true, "r dir", nil}, {"l", true, "r/d dir", nil}, {"l", false, "r/l link", nil}, {"l/g", false, "r/d/g file", nil}, {"lf", true, "r/f file", nil}, {"lf", false, "r/lf link", nil},
		{"abs/g", true, "r/d/g file", nil}, {"second", true, "s dir", nil}, {"second/h", true, "s/h file", nil}, {"second/none", true, "s/none nothing", nil}, {"out", true, "", workspace.ErrOutside}, {"out", false, "r/out link", nil}, {"out/secret", true, "", workspace.ErrOutside}, {"out/none", true, "", workspace.ErrOutside}, {"outabs/secret", false, "", workspace.ErrOutside},
		{"gone", true, "r/none nothing", nil}, {"gone", false, "r/gone link", nil}, {"gone/x", true, "r/none/x nothing", nil}, {"none/a/b", true, "r/none/a/b nothing", nil}, {"up", true, "r dir", nil}, {"up/f", true, "r/f file", nil}, {"dots", true, "r/d/g file", nil}, {"root", true, "", workspace.ErrOutside}, {"root/r/f", true, "r/f file", nil}, {"root/o/secret", true, "", workspace.ErrOutside}, {"back/g", true, "r/d/g file", nil},
		{"goneup", true, "", fs.ErrNotExist}, {"self", true, "", workspace.ErrPath}, {"self", false, "r/self link", nil}, {"here", true, "r dir", nil}, {"here/f", true, "r/f file", nil},
		{"f/x", true, "", workspace.ErrNotDirectory}, {"lf/x", true, "", workspace.ErrNotDirectory}, {"fu", true, "", workspace.ErrNotDirectory}, {"c2", true, "r/c42 file", nil}, {"c1", true, "", workspace.ErrPath}, {"../o", true, "", workspace.ErrOutside}, {filepath.Join(root, "s", "h"), true, "s/h file", nil}, {filepath.Join(root, "s"), true, "s dir", nil},
	} {
		p, err := w.find(t.Context(), c.path, c.follow)
		if c.err != nil {
			require.ErrorIs(t, err, c.err, "%+v", c)
			require.Nil(t, p.info)
			continue
		}
		require.NoError(t, err, "%+v", c)
		kind := "nothing"
		if p.info != nil {
			kind = map[fs.FileMode]string{0: "file", fs.ModeDir: "dir", fs.ModeSymlink: "link"}[p.info.Mode().Type()]
		}
		require.Equal(t, c.want, strings.TrimPrefix(filepath.Join(p.root.real, p.rel), root+"/")+" "+kind, "%+v", c)
		if c.follow {
			name, err := w.Follow(t.Context(), c.path)
			require.NoError(t, err)
			require.Equal(t, filepath.Join(root, strings.Fields(c.want)[0]), name, "%+v", c)
		}
	}
	require.Equal(t, "/elsewhere", w.canonical(&place{Location: workspace.Location{Path: "/elsewhere"}}))
	because := errors.New("because")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	_, err := w.Follow(ended, "f")
	require.EqualError(t, err, `workspace: follow "f": because`)
	for _, c := range []struct {
		name string
		want error
	}{{"f", nil}, {"none", fs.ErrNotExist}, {"d", workspace.ErrIsDirectory}, {"lf", workspace.ErrNotRegular}} {
		p, err := w.find(t.Context(), c.name, false)
		require.NoError(t, err)
		require.Equal(t, c.want, p.regular(), c.name)
	}
}

// A new file is put in the place of the old one only if that is as it was.
func TestFilesAreReplacedIfTheyAreAsTheyWere(t *testing.T) {
	because := errors.New("because")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	for i, c := range []struct {
		before string // what was there when the write began
		now    string // what is there now
		v      workspace.Version
		ctx    context.Context
		want   error
	}{
		{"", "", "", nil, nil}, {"", "", workspace.AnyVersion, nil, nil}, {"", "file", "", nil, workspace.ErrChanged}, {"", "file", workspace.AnyVersion, nil, nil}, {"", "link", "", nil, workspace.ErrChanged}, {"", "link", workspace.AnyVersion, nil, workspace.ErrChanged},
		{"file", "file", "v", nil, nil}, {"file", "", "v", nil, workspace.ErrChanged}, {"file", "other", "v", nil, workspace.ErrChanged}, {"file", "other", workspace.AnyVersion, nil, nil}, {"file", "", workspace.AnyVersion, nil, nil}, {"file", "dir", "v", nil, workspace.ErrChanged}, {"file", "dir", workspace.AnyVersion, nil, workspace.ErrChanged}, {"file", "link", "v", nil, workspace.ErrChanged},
		{"file", "file", "v", ended, because}, {"", "", workspace.AnyVersion, ended, because}, {"", "", "", ended, nil},
	} {
		dir := t.TempDir()
		name, temp := filepath.Join(dir, "f"), filepath.Join(dir, "temp")
		var old fs.FileInfo
		if c.before != "" {
			require.NoError(t, os.WriteFile(name, []byte("old"), 0o600))
			info, err := os.Lstat(name)
			require.NoError(t, err)
			old = info
		}
		switch c.now {
		case "":
			_ = os.Remove(name)
		case "file":
			if c.before == "" {
				require.NoError(t, os.WriteFile(name, []byte("others"), 0o600))
			}
		case "other":
			require.NoError(t, os.WriteFile(name, []byte("others"), 0o600))
		case "dir":
			require.NoError(t, os.Remove(name))
			require.NoError(t, os.Mkdir(name, 0o700))
		case "link":
			_ = os.Remove(name)
			require.NoError(t, os.Symlink("elsewhere", name))
		}
		require.NoError(t, os.WriteFile(temp, []byte("new"), 0o600))
		r, err := os.OpenRoot(dir)
		require.NoError(t, err)
		ctx := c.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		err = replace(ctx, r, "f", "temp", old, c.v)
		require.NoError(t, r.Close())
		require.Equal(t, c.want, err, "%d %+v", i, c)
		data, readErr := os.ReadFile(name)
		if c.want == nil {
			require.NoError(t, readErr)
			require.Equal(t, "new", string(data), i)
			require.NoFileExists(t, temp)
			continue
		}
		require.NotEqual(t, "new", string(data), i)
		require.FileExists(t, temp, "whoever wrote it removes it")
	}
}

// A new file has the mode and the owner of the old one. Nobody else reads it before.
func TestNewFilesHaveTheModeOfTheOld(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	dir := t.TempDir()
	r, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer r.Close()
	modeOf := func(name string) string {
		info, err := r.Lstat(name)
		require.NoError(t, err)
		return info.Mode().String()
	}
	temp, err := writeTemp(r, []byte("new"), nil)
	require.NoError(t, err)
	require.Regexp(t, `^\.ponte-[A-Z2-7]+\.tmp$`, temp)
	require.Equal(t, "-rw-r--r--", modeOf(temp))
	data, err := r.ReadFile(temp)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	for _, mode := range []fs.FileMode{0o755, 0o400, 0o666} {
		require.NoError(t, r.WriteFile("old", nil, 0o600))
		require.NoError(t, r.Chmod("old", mode))
		if os.Getuid() == 0 {
			require.NoError(t, r.Chown("old", 12, 34))
		}
		old, err := r.Lstat("old")
		require.NoError(t, err)
		temp, err := writeTemp(r, nil, old)
		require.NoError(t, err)
		require.Equal(t, old.Mode().String(), modeOf(temp))
		info, err := r.Lstat(temp)
		require.NoError(t, err)
		require.Equal(t, old.Sys().(*syscall.Stat_t).Uid, info.Sys().(*syscall.Stat_t).Uid)
		require.Equal(t, old.Sys().(*syscall.Stat_t).Gid, info.Sys().(*syscall.Stat_t).Gid)
		require.NoError(t, r.Remove("old"))
	}
	require.NoError(t, r.Close())
	_, err = writeTemp(r, nil, nil)
	require.Error(t, err)
}

// A directory that was exchanged while a file was looked for is not written into.
func TestExchangedDirectoriesAreNotWrittenInto(t *testing.T) {
	for name, exchange := range map[string]func(root string) error{
		"nothing": func(string) error { return nil },
		"another directory": func(root string) error {
			return errors.Join(os.Rename(root+"/r/d", root+"/r/e"), os.Mkdir(root+"/r/d", 0o755), os.WriteFile(root+"/r/d/f", nil, 0o600))
		},
		"a link inside": func(root string) error {
			return errors.Join(os.Rename(root+"/r/d", root+"/r/e"), os.Symlink("e", root+"/r/d"))
		},
		"another root": func(root string) error {
			return errors.Join(os.Rename(root+"/r/d", root+"/s/d"), os.Symlink(root+"/s/d", root+"/r/d"))
		},
		"gone": func(root string) error { return os.RemoveAll(root + "/r/d") },
	} {
		w, root := filesOnly(t, "r/d/f")
		p, err := w.find(t.Context(), "d/f", true)
		require.NoError(t, err)
		parent, err := p.root.OpenRoot("d")
		require.NoError(t, err)
		require.NoError(t, exchange(root))
		err = w.still(t.Context(), "d/f", &p, parent)
		require.NoError(t, parent.Close())
		if name == "nothing" {
			require.NoError(t, err)
			require.Error(t, w.still(t.Context(), "d/f", &p, parent), "it is closed")
			continue
		}
		require.Error(t, err, name)
		if name != "gone" {
			require.Equal(t, workspace.ErrChanged, err, name)
		}
	}
	// What is at the same place of another root is another file.
	w, _ := filesOnly(t, "r/f", "s/f")
	p, err := w.find(t.Context(), "f", true)
	require.NoError(t, err)
	parent, err := p.root.OpenRoot(".")
	require.NoError(t, err)
	defer parent.Close()
	require.NoError(t, w.still(t.Context(), "f", &p, parent))
	require.Equal(t, workspace.ErrChanged, w.still(t.Context(), filepath.Join(w.real[1], "f"), &p, parent))
}

// Directories are walked in the order of names, to a depth, with what the caller leaves of them.
func TestWalksAreRecorded(t *testing.T) {
	w, root := filesOnly(t, "r/b", "r/a/x", "r/a/deep/y", "r/a.txt", "r/l -> a", "r/c/")
	require.NoError(t, os.Chtimes(filepath.Join(root, "r", "b"), time.Unix(5, 0), time.Unix(5, 0)))
	walk := func(dir string, o workspace.WalkOptions, stop int) (told []string) {
		for info, err := range w.Walk(t.Context(), dir, o) {
			text := strings.TrimPrefix(info.Path, root+"/")
			if err != nil {
				text += " " + err.Error()
			} else {
				text += fmt.Sprintf(" %s %d", info.Mode.Type(), info.Size)
				if info.Version != "" {
					text += " " + string(info.Version[:1])
				}
			}
			if told = append(told, text); len(told) == stop {
				break
			}
		}
		return told
	}
	all := []string{"r/a d--------- -1", "r/a/deep d--------- -1", "r/a/deep/y ---------- -1", "r/a/x ---------- -1", "r/a.txt ---------- -1", "r/b ---------- -1", "r/c d--------- -1", "r/l L--------- -1"}
	require.Equal(t, all, walk(".", workspace.WalkOptions{}, 0))
	require.Equal(t, []string{all[0], all[4], all[5], all[6], all[7]}, walk(".", workspace.WalkOptions{Depth: 1}, 0))
	require.Equal(t, []string{all[0], all[1], all[3], all[4], all[5], all[6], all[7]}, walk(".", workspace.WalkOptions{Depth: 2}, 0))
	for n := 1; n <= len(all); n++ {
		require.Equal(t, all[:n], walk(".", workspace.WalkOptions{}, n))
	}
	require.Equal(t, []string{"r/l/deep d--------- -1", "r/l/deep/y ---------- -1", "r/l/x ---------- -1"}, walk("l", workspace.WalkOptions{}, 0))
	details := walk("a", workspace.WalkOptions{Details: true}, 0)
	require.Len(t, details, 3)
	require.Regexp(t, `^r/a/deep d--------- \d+$`, details[0])
	require.Equal(t, []string{"r/a/deep/y ---------- 0 h", "r/a/x ---------- 0 h"}, details[1:])
	require.Equal(t, []string{"r/b ---------- 0 h"}, walk("b", workspace.WalkOptions{}, 0))
	require.Equal(t, []string{`none workspace: walk "none": file does not exist`}, walk("none", workspace.WalkOptions{}, 0))
	require.Equal(t, []string{`../o workspace: walk "../o": the path leads out of the workspace`}[0][:4], walk("../o", workspace.WalkOptions{}, 0)[0][:4])
	var filtered []string
	filter := func(dir string, entries []workspace.Info) []workspace.Info {
		for _, e := range entries {
			filtered = append(filtered, strings.TrimPrefix(dir, root+"/")+": "+strings.TrimPrefix(e.Path, root+"/"))
		}
		return entries[:1]
	}
	require.Equal(t, all[:3], walk(".", workspace.WalkOptions{Filter: filter}, 0))
	require.Equal(t, []string{"r: r/a", "r: r/a.txt", "r: r/b", "r: r/c", "r: r/l", "r/a: r/a/deep", "r/a: r/a/x", "r/a/deep: r/a/deep/y"}, filtered)
	because := errors.New("because")
	ended, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	n := 0
	for _, err := range w.Walk(ended, ".", workspace.WalkOptions{}) {
		if n++; n == 1 {
			require.NoError(t, err)
			cancel(because)
			continue
		}
		require.ErrorIs(t, err, because)
	}
	require.Equal(t, 2, n)
	for name, want := range map[string]string{"a": "a", "/a/b": "b", "a/": "", "": ""} {
		require.Equal(t, want, base(name))
	}
}
