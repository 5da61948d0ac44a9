// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// program runs the suite's program in memory.
func program(c workspace.Command) workspace.MemoryScript {
	if len(c.Args) == 0 || c.Args[0] != "program" {
		return nil
	}
	return func(ctx context.Context, sh *workspace.MemoryShell) int {
		style := workspace.StyleOf(sh.Dir)
		return workspacetest.Program(ctx, workspacetest.System{
			In: strings.NewReader(""), Out: sh, Err: io.Writer(sh), Getenv: sh.Getenv,
			ReadFile: func(name string) ([]byte, error) { return sh.Disk.ReadFile(style.Join(sh.Dir, name)) },
		}, sh.Command.Args[1:])
	}
}

func env(outside string, roots ...string) func() (*workspacetest.Env, error) {
	return func() (*workspacetest.Env, error) {
		w, err := workspace.NewMemory(workspace.MemoryConfig{Roots: roots, Command: program})
		if err != nil {
			return nil, err
		}
		return &workspacetest.Env{Workspace: w, Disk: w.Disk(), Outside: outside, Program: []string{"program"}}, w.Disk().Mkdir(outside)
	}
}

func TestConformance(t *testing.T) {
	t.Run("slash", func(t *testing.T) { workspacetest.Run(t, env("/base/outside", "/base/project", "/more")) })
	t.Run("one root", func(t *testing.T) { workspacetest.Run(t, env("/elsewhere/out", "/project")) })
	t.Run("windows", func(t *testing.T) { workspacetest.Run(t, env(`C:\Code\outside`, `C:\Code\proj`, `\\server\share`)) })
}

func TestToolsConformance(t *testing.T) {
	t.Run("slash", func(t *testing.T) { workspacetest.RunTools(t, env("/base/outside", "/base/project", "/more")) })
	t.Run("windows", func(t *testing.T) { workspacetest.RunTools(t, env(`C:\Code\outside`, `C:\Code\proj`)) })
}

// Commands can be left out.
func TestConformanceWithoutCommands(t *testing.T) {
	workspacetest.Run(t, func() (*workspacetest.Env, error) {
		w, err := workspace.NewMemory(workspace.MemoryConfig{})
		if err != nil {
			return nil, err
		}
		return &workspacetest.Env{Workspace: w, Disk: w.Disk(), Outside: "/outside"}, w.Disk().Mkdir("/outside")
	})
}
