// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Config describes a workspace. The zero value is an empty directory, /project, in which no command can run.
type Config struct {
	// Roots are the directories of the workspace. The default is /project. Windows paths are possible on every machine: then file names
	// keep their case, and case makes no difference.
	Roots []string
	// Files are created first, by path: relative to the first root, or absolute. Directories above them are created as well.
	Files map[string]string
	// Commands are the commands that can run, by their command line; for a command with arguments, those joined with blanks.
	Commands map[string]Script
	// Command returns what to run for a command that Commands does not have, or nil if there is no such program. If Commands is empty and
	// Command is nil, the workspace has no commands.
	Command func(c workspace.Command) Script
	// OutputLimit is how many bytes of a command's output are kept; the default is 1 MiB. The beginning is dropped first.
	OutputLimit int
}

// Workspace is a workspace in memory. It is safe for concurrent use.
type Workspace struct {
	config Config
	disk   *Disk

	mu     sync.Mutex
	nextID int
}

var (
	_ workspace.Workspace = (*Workspace)(nil)
	_ workspace.Follower  = (*Workspace)(nil)
	_ workspace.Applier   = (*Workspace)(nil)
)

// New makes a workspace. It fails if a root or the path of a file is malformed.
func New(c Config) (*Workspace, error) {
	if len(c.Roots) == 0 {
		c.Roots = []string{"/project"}
	}
	if c.OutputLimit <= 0 {
		c.OutputLimit = 1 << 20
	}
	style := workspace.StyleOf(c.Roots[0])
	c.Roots = slices.Clone(c.Roots)
	w := &Workspace{config: c, disk: newDisk(style)}
	for i, root := range c.Roots {
		abs, err := style.Abs(root, root)
		if err == nil && style == workspace.Slash && root[0] != '/' {
			err = errors.New("it is not absolute")
		}
		if err == nil {
			err = w.disk.Mkdir(abs)
		}
		if err != nil {
			return nil, fmt.Errorf("memory: root %q: %w", root, err)
		}
		c.Roots[i] = abs
	}
	for name, text := range c.Files {
		abs, err := style.Abs(c.Roots[0], name)
		if err == nil {
			err = w.disk.WriteFile(abs, []byte(text), 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("memory: file %q: %w", name, err)
		}
	}
	return w, nil
}

// Disk returns the file system that the workspace stands on. It reaches beyond the roots.
func (w *Workspace) Disk() *Disk { return w.disk }

// Roots implements [workspace.Workspace].
func (w *Workspace) Roots() []string { return w.config.Roots }

// Features implements [workspace.Workspace].
func (w *Workspace) Features() workspace.Features {
	return workspace.Features{
		Read: true, Write: true, Remove: true, Walk: true,
		Commands: len(w.config.Commands) > 0 || w.config.Command != nil,
	}
}

// at is a place in the tree that a path leads to.
type at struct {
	workspace.Location
	place
}

// locate finds the target of a path. The disk must be locked. With follow, a link at the end is
// followed as well.
func (w *Workspace) locate(name string, follow bool) (at, error) {
	loc, err := workspace.Locate(w.config.Roots, name)
	if err != nil {
		return at{}, err
	}
	p, err := w.disk.resolve(loc.Path, follow)
	if err != nil {
		return at{}, err
	}
	for _, root := range w.config.Roots {
		if r, err := w.disk.resolve(root, true); err == nil && w.disk.style.Contains(r.path, p.path) {
			return at{loc, p}, p.blocked()
		}
	}
	return at{}, workspace.ErrOutside
}

// use calls fn with what a path leads to, while nothing else happens on the disk.
func (w *Workspace) use(ctx context.Context, op, name string, follow bool, fn func(at) error) error {
	if ctx.Err() != nil {
		return &workspace.PathError{Op: op, Path: name, Err: context.Cause(ctx)}
	}
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	found, err := w.locate(name, follow)
	if err == nil {
		err = fn(found)
	}
	if err != nil {
		return &workspace.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// Follow implements [workspace.Follower].
func (w *Workspace) Follow(ctx context.Context, path string) (file string, err error) {
	err = w.use(ctx, "follow", path, true, func(found at) error {
		file = w.canonical(found.path)
		return nil
	})
	return file, err
}

// canonical returns the name of a path without links below the root that it lies in. The disk must be locked.
func (w *Workspace) canonical(file string) string {
	for _, root := range w.config.Roots {
		if r, err := w.disk.resolve(root, true); err == nil && w.disk.style.Contains(r.path, file) {
			return w.disk.style.Join(root, w.disk.style.Rel(r.path, file))
		}
	}
	return file
}

// Read implements [workspace.Workspace].
func (w *Workspace) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	var data []byte
	var info workspace.Info
	err := w.use(ctx, "read", path, true, func(found at) error {
		n, err := found.regular()
		if err == nil {
			data, info = n.data, n.info(found.Path) // data is never changed, only replaced
		}
		return err
	})
	if err != nil {
		return workspace.File{}, err
	}
	f, err := r.Read(ctx, newReader(data))
	if err != nil {
		return workspace.File{}, &workspace.PathError{Op: "read", Path: path, Err: err}
	}
	f.Info = info
	return f, nil
}

// Write implements [workspace.Workspace].
func (w *Workspace) Write(ctx context.Context, path string, data []byte, ifVersion workspace.Version) (workspace.Version, error) {
	doc, err := w.ApplyChange(ctx, path, workspace.Change{Data: data, IfVersion: ifVersion})
	if err != nil {
		return "", err
	}
	return doc.Version, nil
}

// ApplyChange implements [workspace.Applier].
func (w *Workspace) ApplyChange(ctx context.Context, path string, c workspace.Change) (doc *workspace.Document, err error) {
	err = w.use(ctx, "write", path, true, func(found at) error {
		ifVersion := c.IfVersion
		if c.File != "" && w.canonical(found.path) != c.File {
			return workspace.ErrChanged
		}
		n, err := found.regular()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if ifVersion != "" && ifVersion != workspace.AnyVersion {
				return workspace.ErrChanged
			}
			n, err = w.disk.create(found.path)
			if err != nil {
				return err
			}
		case err != nil:
			return err
		case ifVersion != n.version && ifVersion != workspace.AnyVersion:
			return workspace.ErrChanged
		}
		w.disk.fill(n, slices.Clone(c.Data))
		doc = workspace.SavedDocument(&workspace.File{Info: n.info(found.Path), Data: n.data})
		return nil
	})
	return doc, err
}

// Remove implements [workspace.Workspace].
func (w *Workspace) Remove(ctx context.Context, path string, ifVersion workspace.Version) error {
	return w.use(ctx, "remove", path, false, func(found at) error {
		switch n := found.node; {
		case n == nil && ifVersion != workspace.AnyVersion:
			return workspace.ErrChanged
		case n == nil:
			return fs.ErrNotExist
		case n.mode.IsDir():
			return workspace.ErrIsDirectory
		case ifVersion != n.version && ifVersion != workspace.AnyVersion:
			return workspace.ErrChanged
		}
		w.disk.remove(found.path)
		return nil
	})
}

// Stat implements [workspace.Workspace].
func (w *Workspace) Stat(ctx context.Context, path string) (info workspace.Info, err error) {
	err = w.use(ctx, "stat", path, true, func(found at) error {
		if found.node == nil {
			return fs.ErrNotExist
		}
		info = found.node.info(found.Path)
		return nil
	})
	return info, err
}
