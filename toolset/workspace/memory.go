// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// MemoryConfig describes a workspace. The zero value is an empty directory, /project, in which no
// command can run.
type MemoryConfig struct {
	// Roots are the directories of the workspace. The default is /project. Windows paths are
	// possible on every machine: then file names keep their case, and case makes no difference.
	Roots []string
	// Files are created first, by path: relative to the first root, or absolute. Directories above
	// them are created as well.
	Files map[string]string
	// Commands are the commands that can run, by their command line; for a command with arguments,
	// those joined with blanks.
	Commands map[string]MemoryScript
	// Command returns what to run for a command that Commands does not have, or nil if there is no
	// such program. If Commands is empty and Command is nil, the workspace has no commands.
	Command func(c Command) MemoryScript
	// OutputLimit is how many bytes of a command's output are kept; the default is 1 MiB. The
	// beginning is dropped first.
	OutputLimit int
}

// Memory is a workspace in memory. It is safe for concurrent use.
type Memory struct {
	config MemoryConfig
	disk   *MemoryDisk

	mu     sync.Mutex
	nextID int
}

var (
	_ Workspace = (*Memory)(nil)
	_ Follower  = (*Memory)(nil)
	_ Applier   = (*Memory)(nil)
)

// NewMemory makes a workspace. It fails if a root or the path of a file is malformed, or
// OutputLimit is negative.
func NewMemory(c MemoryConfig) (*Memory, error) {
	if len(c.Roots) == 0 {
		c.Roots = []string{"/project"}
	}
	if c.OutputLimit < 0 {
		return nil, errors.New("workspace: OutputLimit must not be negative")
	}
	if c.OutputLimit == 0 {
		c.OutputLimit = 1 << 20
	}
	style := StyleOf(c.Roots[0])
	c.Roots = slices.Clone(c.Roots)
	w := &Memory{config: c, disk: newDisk(style)}
	for i, root := range c.Roots {
		abs, err := style.Abs(root, root)
		if err == nil && style == Slash && root[0] != '/' {
			err = errors.New("it is not absolute")
		}
		if err == nil {
			err = w.disk.Mkdir(abs)
		}
		if err != nil {
			return nil, fmt.Errorf("workspace: root %q: %w", root, err)
		}
		c.Roots[i] = abs
	}
	for name, text := range c.Files {
		abs, err := style.Abs(c.Roots[0], name)
		if err == nil {
			err = w.disk.WriteFile(abs, []byte(text), 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("workspace: file %q: %w", name, err)
		}
	}
	return w, nil
}

// MemoryDisk returns the file system that the workspace stands on. It reaches beyond the roots.
func (w *Memory) Disk() *MemoryDisk { return w.disk }

// Roots implements [Workspace].
func (w *Memory) Roots() []string { return w.config.Roots }

// Features implements [Workspace].
func (w *Memory) Features() Features {
	return Features{
		Read: true, Write: true, Remove: true, Walk: true,
		Commands: len(w.config.Commands) > 0 || w.config.Command != nil,
	}
}

// at is a place in the tree that a path leads to.
type at struct {
	Location
	place
}

// locate finds the target of a path. The disk must be locked. With follow, a link at the end is
// followed as well.
func (w *Memory) locate(name string, follow bool) (at, error) {
	loc, err := Locate(w.config.Roots, name)
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
	return at{}, ErrOutside
}

// use calls fn with what a path leads to, while nothing else happens on the disk.
func (w *Memory) use(ctx context.Context, op, name string, follow bool, fn func(at) error) error {
	if ctx.Err() != nil {
		return &PathError{Op: op, Path: name, Err: context.Cause(ctx)}
	}
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	found, err := w.locate(name, follow)
	if err == nil {
		err = fn(found)
	}
	if err != nil {
		return &PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// Follow implements [Follower].
func (w *Memory) Follow(ctx context.Context, path string) (file string, err error) {
	err = w.use(ctx, "follow", path, true, func(found at) error {
		file = w.canonical(found.path)
		return nil
	})
	return file, err
}

// canonical returns the name of a path without links below the root that it lies in. The disk
// must be locked.
func (w *Memory) canonical(file string) string {
	for _, root := range w.config.Roots {
		if r, err := w.disk.resolve(root, true); err == nil && w.disk.style.Contains(r.path, file) {
			return w.disk.style.Join(root, w.disk.style.Rel(r.path, file))
		}
	}
	return file
}

// Read implements [Workspace].
func (w *Memory) Read(ctx context.Context, path string, r Range) (File, error) {
	var data []byte
	var info Info
	err := w.use(ctx, "read", path, true, func(found at) error {
		n, err := found.regular()
		if err == nil {
			data, info = n.data, n.info(found.Path) // data is never changed, only replaced
		}
		return err
	})
	if err != nil {
		return File{}, err
	}
	f, err := r.Read(ctx, newReader(data))
	if err != nil {
		return File{}, &PathError{Op: "read", Path: path, Err: err}
	}
	f.Info = info
	return f, nil
}

// Write implements [Workspace].
func (w *Memory) Write(ctx context.Context, path string, data []byte, ifVersion Version) (Version, error) {
	doc, err := w.ApplyChange(ctx, path, Change{Data: data, IfVersion: ifVersion})
	if err != nil {
		return "", err
	}
	return doc.Version, nil
}

// ApplyChange implements [Applier].
func (w *Memory) ApplyChange(ctx context.Context, path string, c Change) (doc *Document, err error) {
	err = w.use(ctx, "write", path, true, func(found at) error {
		ifVersion := c.IfVersion
		if c.File != "" && w.canonical(found.path) != c.File {
			return ErrChanged
		}
		n, err := found.regular()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if ifVersion != "" && ifVersion != AnyVersion {
				return ErrChanged
			}
			n, err = w.disk.create(found.path)
			if err != nil {
				return err
			}
		case err != nil:
			return err
		case ifVersion != n.version && ifVersion != AnyVersion:
			return ErrChanged
		}
		w.disk.fill(n, slices.Clone(c.Data))
		doc = SavedDocument(&File{Info: n.info(found.Path), Data: n.data})
		return nil
	})
	return doc, err
}

// Remove implements [Workspace].
func (w *Memory) Remove(ctx context.Context, path string, ifVersion Version) error {
	return w.use(ctx, "remove", path, false, func(found at) error {
		switch n := found.node; {
		case n == nil && ifVersion != AnyVersion:
			return ErrChanged
		case n == nil:
			return fs.ErrNotExist
		case n.mode.IsDir():
			return ErrIsDirectory
		case ifVersion != n.version && ifVersion != AnyVersion:
			return ErrChanged
		}
		w.disk.remove(found.path)
		return nil
	})
}

// Stat implements [Workspace].
func (w *Memory) Stat(ctx context.Context, path string) (info Info, err error) {
	err = w.use(ctx, "stat", path, true, func(found at) error {
		if found.node == nil {
			return fs.ErrNotExist
		}
		info = found.node.info(found.Path)
		return nil
	})
	return info, err
}
