// SPDX-License-Identifier: Apache-2.0

package editortest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// guarded is a workspace in memory whose permissions hold. What it refuses, and how, may be wrong.
type guarded struct {
	workspace.Workspace
	disk  workspacetest.Disk
	modes map[string]fs.FileMode // that were set
	// atomic writes need the permission to write in the directory.
	atomic bool
	// refuse returns the error of what is not permitted, nil to do it all the same.
	refuse func(op, name string) error
	// allow is called before what is permitted.
	allow func(op, name string) error
}

func (g *guarded) deny(name string, mode fs.FileMode) error {
	g.modes[name] = mode
	return nil
}

// has reports whether a file or directory has a permission.
func (g *guarded) has(name string, bit fs.FileMode) bool {
	mode, set := g.modes[name]
	return !set || mode&bit != 0
}

func (g *guarded) check(op, name string, permitted bool) error {
	switch {
	case permitted && g.allow != nil:
		return g.allow(op, name)
	case permitted:
		return nil
	}
	return g.refuse(op, name)
}

func (g *guarded) absolute(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(g.Roots()[0], name)
}

func (g *guarded) Read(ctx context.Context, name string, r workspace.Range) (workspace.File, error) {
	at := g.absolute(name)
	_, missing := g.disk.Mode(at)
	if err := g.check("read", name, g.has(path.Dir(at), 0o100) && (missing != nil || g.has(at, 0o400))); err != nil {
		return workspace.File{}, err
	}
	return g.Workspace.Read(ctx, name, r)
}

func (g *guarded) Write(ctx context.Context, name string, data []byte, v workspace.Version) (workspace.Version, error) {
	at := g.absolute(name)
	_, missing := g.disk.Mode(at)
	can := g.has(path.Dir(at), 0o100) && (missing != nil || g.has(at, 0o200))
	if g.atomic || missing != nil {
		can = can && g.has(path.Dir(at), 0o200)
	}
	if err := g.check("write", name, can); err != nil {
		return "", err
	}
	return g.Workspace.Write(ctx, name, data, v)
}

func (g *guarded) Remove(ctx context.Context, name string, v workspace.Version) error {
	dir := path.Dir(g.absolute(name))
	if err := g.check("remove", name, g.has(dir, 0o100) && g.has(dir, 0o200)); err != nil {
		return err
	}
	return g.Workspace.Remove(ctx, name, v)
}

func notPermitted(op, name string) error {
	return &workspace.PathError{Op: op, Path: name, Err: fs.ErrPermission}
}

// holes are what workspaces do wrong where something is not permitted.
var holes = []struct {
	name string
	make func(g *guarded, env *workspacetest.Env)
}{
	{"nothing is wrong, and it writes in place", func(*guarded, *workspacetest.Env) {}},
	{"nothing is wrong, and it writes a new file", func(g *guarded, _ *workspacetest.Env) { g.atomic = true }},
	{"permissions cannot be set", func(_ *guarded, env *workspacetest.Env) {
		env.Deny = func(string, fs.FileMode) error { return errLie }
	}},
	{"permissions of the directory cannot be set", func(g *guarded, env *workspacetest.Env) {
		env.Deny = func(name string, mode fs.FileMode) error {
			if name == g.Roots()[0] {
				return errLie
			}
			return g.deny(name, mode)
		}
	}},
	{"permissions do not hold", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(string, string) error { return nil }
	}},
	{"permissions to read do not hold", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(op, name string) error {
			if op == "read" {
				return nil
			}
			return notPermitted(op, name)
		}
	}},
	{"permissions to write do not hold", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(op, name string) error {
			if op == "write" {
				return nil
			}
			return notPermitted(op, name)
		}
	}},
	{"permissions to remove do not hold", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(op, name string) error {
			if op == "remove" {
				return nil
			}
			return notPermitted(op, name)
		}
	}},
	{"another reason is told", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(string, string) error { return errors.New("it is Sunday") }
	}},
	{"another reason is told, with the right words", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(string, string) error { return errors.New("permission denied by the moon") }
	}},
	{"a temporary file is named", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(op, name string) error { return notPermitted(op, name+".tmp") }
	}},
	{"the directory is named", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(string, string) error { return errors.New(g.Roots()[0] + ": permission denied") }
	}},
	{"it is said that the editor cannot show the file", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(string, string) error { return errors.New("the editor cannot show this file") }
	}},
	{"the file is written although it is refused", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(op, name string) error {
			if op != "read" {
				_ = g.disk.WriteFile(g.absolute(name), []byte("new\n"), 0o644)
			}
			return notPermitted(op, name)
		}
	}},
	{"the file is emptied although it is refused", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(op, name string) error {
			if op != "read" {
				_ = g.disk.WriteFile(g.absolute(name), nil, 0o644)
			}
			return notPermitted(op, name)
		}
	}},
	{"the file is removed although it is refused", func(g *guarded, _ *workspacetest.Env) {
		g.refuse = func(op, name string) error {
			if op != "read" {
				_ = g.disk.Remove(g.absolute(name))
			}
			return notPermitted(op, name)
		}
	}},
	{"everything is refused", func(g *guarded, _ *workspacetest.Env) { g.allow = notPermitted }},
	{"every read is refused for another reason", func(g *guarded, _ *workspacetest.Env) {
		g.allow = func(op, _ string) error {
			if op == "read" {
				return errLie
			}
			return nil
		}
	}},
	{"every removal fails", func(g *guarded, _ *workspacetest.Env) {
		g.allow = func(op, _ string) error {
			if op == "remove" {
				return errLie
			}
			return nil
		}
	}},
	{"every write fails", func(g *guarded, _ *workspacetest.Env) {
		g.allow = func(op, _ string) error {
			if op == "write" {
				return errLie
			}
			return nil
		}
	}},
	{"every second write fails", func(g *guarded, _ *workspacetest.Env) {
		n := 0
		g.allow = func(op, _ string) error {
			if op == "write" {
				if n++; n%2 == 0 {
					return errLie
				}
			}
			return nil
		}
	}},
	{"writes do nothing once something was refused", func(g *guarded, env *workspacetest.Env) {
		refused := false
		g.refuse = func(op, name string) error { refused = true; return notPermitted(op, name) }
		env.Workspace = &idle{g, &refused}
	}},
	{"the disk takes nothing", func(_ *guarded, env *workspacetest.Env) { env.Disk = full{env.Disk} }},
}

// idle does nothing, and says that it is done.
type idle struct {
	*guarded
	idle *bool
}

func (i *idle) Write(ctx context.Context, name string, data []byte, v workspace.Version) (workspace.Version, error) {
	if *i.idle && i.has(i.Roots()[0], 0o200) && i.has(i.absolute(name), 0o200) {
		return "v", nil
	}
	return i.guarded.Write(ctx, name, data, v)
}

func (i *idle) Remove(ctx context.Context, name string, v workspace.Version) error {
	if *i.idle && i.has(i.Roots()[0], 0o200) {
		return nil
	}
	return i.guarded.Remove(ctx, name, v)
}

// TestHolesInPermissionsAreFound has what the law of files says where something is not permitted: a workspace whose
// permissions hold is right, and what others do wrong is found.
func TestHolesInPermissionsAreFound(t *testing.T) {
	var b strings.Builder
	for i, h := range holes {
		found := findings(editortest.KindsWithoutPermissions(), func(kind, what string) error {
			return editortest.TruthIn(t.Context(), nil, kind, what, func(*editortest.Editor) (*workspacetest.Env, error) {
				w, err := workspace.NewMemory(workspace.MemoryConfig{})
				if err != nil {
					return nil, err
				}
				g := &guarded{Workspace: w, disk: w.Disk(), modes: map[string]fs.FileMode{}, refuse: notPermitted}
				env := &workspacetest.Env{Workspace: g, Disk: w.Disk(), Deny: g.deny}
				h.make(g, env)
				return env, nil
			})
		})
		if i < 2 {
			require.Empty(t, found, h.name)
		}
		fmt.Fprintf(&b, "%s\n%s", h.name, found)
	}
	golden(t, "denied", b.String())
}
