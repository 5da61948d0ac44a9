// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// exchanges put a link in the place of dir/a, or of a directory above it, that leads to a file with the same contents.
var exchanges = map[string]func(t *testing.T, root string){
	"the file": func(t *testing.T, root string) {
		require.NoError(t, os.Rename(filepath.Join(root, "dir", "a"), filepath.Join(root, "other")))
		require.NoError(t, os.Symlink("../other", filepath.Join(root, "dir", "a")))
	},
	"its directory": func(t *testing.T, root string) {
		require.NoError(t, os.Rename(filepath.Join(root, "dir"), filepath.Join(root, "elsewhere")))
		require.NoError(t, os.Symlink("elsewhere", filepath.Join(root, "dir")))
	},
}

func linked(t *testing.T) (*local.Workspace, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(root, "dir"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "dir", "a"), []byte("one\n"), 0o644))
	w, err := local.Open(local.Config{Roots: []string{root}, NoCommands: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w, root
}

// A change goes to the file that was shown, and to no other one with the same contents.
func TestChangeOfAFileThatBecameALinkIsRefused(t *testing.T) {
	for name, exchange := range exchanges {
		t.Run(name, func(t *testing.T) {
			w, root := linked(t)
			doc, err := workspace.OpenDocument(t.Context(), w, "dir/a", false)
			require.NoError(t, err)
			file := workspace.Follow(t.Context(), w, "dir/a")
			exchange(t, root)
			for _, version := range []workspace.Version{doc.Version, workspace.AnyVersion} {
				_, err = workspace.ApplyChange(t.Context(), w, "dir/a", workspace.Change{Data: []byte("two\n"), IfVersion: version, File: file})
				require.ErrorIs(t, err, workspace.ErrChanged)
			}
			data, err := os.ReadFile(filepath.Join(root, "dir", "a"))
			require.NoError(t, err)
			require.Equal(t, "one\n", string(data))
		})
	}
}

// What was changed in a file is not taken back from one that a link leads to by now, nor is that removed.
func TestUndoDoesNotFollowNewLinks(t *testing.T) {
	for name, exchange := range exchanges {
		for _, planned := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				w, root := linked(t)
				r := checkpoint.New(w, checkpoint.Options{})
				mark := r.Mark("turn")
				_, err := r.Write(t.Context(), "dir/a", []byte("two\n"), workspace.AnyVersion)
				require.NoError(t, err)
				_, err = r.Write(t.Context(), "dir/b", []byte("new\n"), "")
				require.NoError(t, err)
				span := checkpoint.Only(mark.ID)
				if !planned {
					exchange(t, root)
				}
				plan, err := r.PlanUndo(t.Context(), span)
				require.NoError(t, err)
				if planned {
					exchange(t, root)
				}
				_, err = r.Apply(t.Context(), plan)
				require.ErrorContains(t, err, filepath.Join("dir", "a"))
				data, err := os.ReadFile(filepath.Join(root, "dir", "a"))
				require.NoError(t, err)
				require.Equal(t, "two\n", string(data))
				if name == "its directory" {
					require.FileExists(t, filepath.Join(root, "elsewhere", "b"))
				}
			})
		}
	}
}
