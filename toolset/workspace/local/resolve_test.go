// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// TestLinksLeadWhereTheSystemSays makes random trees of directories, files and links, and compares what random paths lead to with
// filepath.EvalSymlinks, which shares nothing with the workspace.
func TestLinksLeadWhereTheSystemSays(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		base, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		root, second, outside := filepath.Join(base, "r"), filepath.Join(base, "s"), filepath.Join(base, "o")
		for _, dir := range []string{root, second, outside} {
			randomTree(t, r, base, dir)
		}
		w, err := local.Open(local.Config{Roots: []string{root, second}, NoCommands: true})
		require.NoError(t, err)
		inside := func(real string) bool {
			return real == root || real == second || strings.HasPrefix(real, root+"/") || strings.HasPrefix(real, second+"/")
		}
		for range 300 {
			name := randomPath(r)
			abs := filepath.Join(root, name)
			where := fmt.Sprintf("seed %d, %s", seed, name)
			f, err := w.Read(t.Context(), name, workspace.Range{})
			real, missing := filepath.EvalSymlinks(abs)
			switch {
			case !inside(abs):
				require.ErrorIs(t, err, workspace.ErrOutside, where)
			case missing != nil:
				require.Error(t, err, where)
				require.Empty(t, f.Data, where)
			case !inside(real):
				require.ErrorIs(t, err, workspace.ErrOutside, where)
			default:
				want, readErr := os.ReadFile(real)
				if readErr != nil {
					require.ErrorIs(t, err, workspace.ErrIsDirectory, where)
					continue
				}
				require.NoError(t, err, where)
				require.Equal(t, string(want), string(f.Data), where)
			}
			// A write goes to the same place, or nowhere.
			_, err = w.Write(t.Context(), name, []byte("new "+name), workspace.AnyVersion)
			if err == nil {
				real, missing = filepath.EvalSymlinks(abs)
				require.NoError(t, missing, where)
				require.True(t, inside(real), where)
				got, err := os.ReadFile(real)
				require.NoError(t, err)
				require.Equal(t, "new "+name, string(got), where)
			} else if missing == nil && inside(real) && inside(abs) {
				require.ErrorIs(t, err, workspace.ErrIsDirectory, where)
			}
		}
		require.NoError(t, w.Close())
		// Nothing outside was made or changed.
		require.NoError(t, filepath.WalkDir(outside, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.HasPrefix(string(text), "new ") {
				return errors.New(path + " was written")
			}
			return err
		}))
	}
}

var treeNames = []string{"a", "b", "c"}

// randomTree fills a directory, three levels deep.
func randomTree(t *testing.T, r *rand.Rand, base, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, name := range treeNames {
		path := filepath.Join(dir, name)
		switch k := r.IntN(10); {
		case k < 3 && strings.Count(path[len(base):], "/") < 4:
			randomTree(t, r, base, path)
		case k < 5:
			require.NoError(t, os.WriteFile(path, []byte(path), 0o644))
		case k < 9:
			target := randomPath(r)
			if r.IntN(3) == 0 {
				target = filepath.Join(base, []string{"r", "s", "o", ""}[r.IntN(4)], randomPath(r))
			}
			require.NoError(t, os.Symlink(target, path))
		}
	}
}

func randomPath(r *rand.Rand) string {
	var parts []string
	for range 1 + r.IntN(4) {
		parts = append(parts, append(treeNames, "..", "..", "a", "b", "r", "s", "o")[r.IntN(10)])
	}
	return strings.Join(parts, "/")
}
