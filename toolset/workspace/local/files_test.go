// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

func TestOpenRefusesWhatIsNotADirectory(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "")
	for name, want := range map[string]error{
		filepath.Join(dir, "missing"):   fs.ErrNotExist,
		filepath.Join(dir, "file"):      workspace.ErrNotDirectory,
		filepath.Join(dir, "file", "x"): workspace.ErrNotDirectory,
		"a\x00b":                        workspace.ErrPath,
		"":                              workspace.ErrPath,
	} {
		_, err := local.Open(local.Config{Roots: []string{dir, name}})
		require.ErrorIs(t, err, want, name)
		var path *workspace.PathError
		require.ErrorAs(t, err, &path)
		require.Equal(t, name, path.Path)
	}
	if pipe := filepath.Join(dir, "pipe"); (workspacetest.OSDisk{}).Pipe(pipe) == nil {
		_, err := local.Open(local.Config{Roots: []string{pipe}})
		require.ErrorIs(t, err, workspace.ErrNotDirectory)
	}
}

func TestDefaultRootIsTheWorkingDirectory(t *testing.T) {
	w, err := local.Open(local.Config{})
	require.NoError(t, err)
	defer w.Close()
	cwd, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, []string{cwd}, w.Roots())
}

func TestRootMayBeALink(t *testing.T) {
	base := t.TempDir()
	put(t, filepath.Join(base, "real", "f"), "text")
	alias := filepath.Join(base, "alias")
	if err := os.Symlink("real", alias); err != nil {
		t.Skip(err)
	}
	w, _ := open(t, local.Config{Roots: []string{alias}})
	f, err := w.Read(t.Context(), filepath.Join(alias, "f"), workspace.Range{})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(alias, "f"), f.Path)
	require.NoError(t, os.Symlink(filepath.Join(alias, "f"), filepath.Join(base, "real", "link")))
	f, err = w.Read(t.Context(), "link", workspace.Range{})
	require.NoError(t, err)
	require.Equal(t, "text", string(f.Data))
}

func TestClosedWorkspaceRefusesEverything(t *testing.T) {
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	_, err = w.Read(t.Context(), "f", workspace.Range{})
	require.ErrorIs(t, err, workspace.ErrClosed)
	_, err = w.Write(t.Context(), "f", nil, "")
	require.ErrorIs(t, err, workspace.ErrClosed)
	_, err = w.Start(t.Context(), workspace.Command{Line: "true"})
	require.ErrorIs(t, err, workspace.ErrClosed)
}

// The version that a model read a while ago is still good, although it would be another one if it were made now.
func TestVersionsStayGoodWhenFilesSettle(t *testing.T) {
	w, root := open(t, local.Config{})
	put(t, filepath.Join(root, "f"), "one")
	f, err := w.Read(t.Context(), "f", workspace.Range{})
	require.NoError(t, err)
	restore := local.SetSettled(0)
	defer restore()
	_, err = w.Write(t.Context(), "f", []byte("two"), f.Version)
	require.NoError(t, err)
	_, err = w.Write(t.Context(), "f", []byte("three"), f.Version)
	require.ErrorIs(t, err, workspace.ErrChanged)
}

// Programs such as rsync and cp -p set the time of modification back.
func TestChangesWithTheOldTimeAreNoticed(t *testing.T) {
	w, root := open(t, local.Config{})
	name, old := filepath.Join(root, "f"), time.Now().Add(-time.Hour)
	for _, settled := range []time.Duration{0, time.Hour} {
		if settled == 0 && (!local.HasStamps || !fineClock(t, t.TempDir())) {
			continue // a test cannot wait until a coarse clock has moved on
		}
		func() {
			defer local.SetSettled(settled)()
			put(t, name, "one")
			require.NoError(t, os.Chtimes(name, old, old))
			f, err := w.Read(t.Context(), "f", workspace.Range{})
			require.NoError(t, err)
			put(t, name, "two")
			require.NoError(t, os.Chtimes(name, old, old))
			_, err = w.Write(t.Context(), "f", []byte("lost"), f.Version)
			require.ErrorIs(t, err, workspace.ErrChanged)
		}()
	}
}

func TestPartsOfRecentFilesHaveNoVersion(t *testing.T) {
	w, root := open(t, local.Config{})
	put(t, filepath.Join(root, "f"), "one\ntwo\n")
	for _, r := range []workspace.Range{{Line: 2}, {Lines: 1}, {Limit: 3}, {Offset: 1}} {
		f, err := w.Read(t.Context(), "f", r)
		require.NoError(t, err)
		require.Empty(t, f.Version, "%+v", r)
	}
	for _, r := range []workspace.Range{{}, {Line: 1}, {Limit: 8}} {
		f, err := w.Read(t.Context(), "f", r)
		require.NoError(t, err)
		require.NotEmpty(t, f.Version, "%+v", r)
	}
}

// Sessions of one process may share a directory.
func TestWritersOfTwoWorkspacesDoNotOverwriteEachOther(t *testing.T) {
	a, root := open(t, local.Config{})
	b, _ := open(t, local.Config{Roots: []string{filepath.Dir(root)}})
	for i := range 30 {
		name := filepath.Join(root, fmt.Sprint(i))
		var errs [2]error
		var all sync.WaitGroup
		for j, w := range []*local.Workspace{a, b} {
			all.Go(func() { _, errs[j] = w.Write(t.Context(), name, []byte{byte('a' + j)}, "") })
		}
		all.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		require.ErrorIs(t, errors.Join(errs[:]...), workspace.ErrChanged)
	}
}

func TestFailedWritesLeaveNothingBehind(t *testing.T) {
	w, root := open(t, local.Config{})
	put(t, filepath.Join(root, "f"), "one")
	_, err := w.Write(t.Context(), "f", []byte("x"), "")
	require.ErrorIs(t, err, workspace.ErrChanged)
	require.NoError(t, os.Mkdir(filepath.Join(root, "d"), 0o755))
	_, err = w.Write(t.Context(), "d", []byte("x"), workspace.AnyVersion)
	require.ErrorIs(t, err, workspace.ErrIsDirectory)
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

func TestNamesThatAreTooLongAreMalformed(t *testing.T) {
	w, _ := open(t, local.Config{})
	name := strings.Repeat("x", 300)
	_, err := w.Read(t.Context(), name, workspace.Range{})
	require.ErrorIs(t, err, workspace.ErrPath)
	_, err = w.Write(t.Context(), name, nil, "")
	require.ErrorIs(t, err, workspace.ErrPath)
}
