// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

func TestMain(m *testing.M) {
	workspacetest.Main()
	leaktest.Main(m)
}

// env returns what the suite needs of a workspace with the roots, which are below a new directory.
func env(t *testing.T, c local.Config, outside string, roots ...string) func() (*workspacetest.Env, error) {
	return func() (*workspacetest.Env, error) {
		base, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			return nil, err
		}
		c.Roots = nil
		for _, dir := range append([]string{outside}, roots...) {
			if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
				return nil, err
			}
		}
		for _, dir := range roots {
			c.Roots = append(c.Roots, filepath.Join(base, dir))
		}
		w, err := local.Open(c)
		if err != nil {
			return nil, err
		}
		program, err := workspacetest.Self()
		return &workspacetest.Env{
			Workspace: w, Disk: workspacetest.OSDisk{}, Outside: filepath.Join(base, outside), Program: program, Close: func() { _ = w.Close() },
		}, err
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("two roots", func(t *testing.T) {
		t.Parallel()
		workspacetest.Run(t, env(t, local.Config{}, "outside", "project", "more"))
	})
	t.Run("one root", func(t *testing.T) {
		t.Parallel()
		workspacetest.Run(t, env(t, local.Config{NoCommands: true}, "elsewhere/outside", "a/project"))
	})
	t.Run("recorded", func(t *testing.T) {
		t.Parallel()
		plain := env(t, local.Config{NoCommands: true}, "outside", "project")
		workspacetest.Run(t, func() (*workspacetest.Env, error) {
			e, err := plain()
			if err == nil {
				e.Workspace = checkpoint.New(e.Workspace, checkpoint.Options{})
			}
			return e, err
		})
	})
}

func TestThreeTruthsAgreeOnThisMachine(t *testing.T) {
	plain := env(t, local.Config{NoCommands: true}, "outside", "project")
	editortest.RunTruths(t, nil, func(*editortest.Editor) (*workspacetest.Env, error) { return plain() })
}

func TestToolsConformance(t *testing.T) {
	workspacetest.RunTools(t, env(t, local.Config{}, "outside", "project"))
}

// Versions of files that have not been changed for a while are made differently.
func TestConformanceWithStamps(t *testing.T) {
	if !local.HasStamps {
		t.Skip("this system does not tell when a file was changed")
	}
	if !fineClock(t, t.TempDir()) {
		t.Skip("the clock of this file system is too coarse for a test that does not wait")
	}
	defer local.SetSettled(0)()
	workspacetest.Run(t, env(t, local.Config{NoCommands: true}, "outside", "project"))
}

// fineClock reports whether each of several writes leaves another time.
func fineClock(t *testing.T, dir string) bool {
	defer local.SetSettled(0)()
	w, err := local.Open(local.Config{Roots: []string{dir}, NoCommands: true})
	require.NoError(t, err)
	defer w.Close()
	seen := map[string]bool{}
	for range 50 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600))
		info, err := w.Stat(t.Context(), "f")
		require.NoError(t, err)
		seen[string(info.Version)] = true
	}
	return len(seen) == 50
}
