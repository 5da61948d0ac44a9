// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"
)

// MemoryDisk is a file system in memory, the whole of it. Its paths are absolute and clean. It is
// safe for concurrent use.
type MemoryDisk struct {
	style Style

	mu      sync.Mutex
	volumes map[string]*node // by folded path
	writes  int              // counts changes of files
}

func newDisk(style Style) *MemoryDisk {
	return &MemoryDisk{style: style, volumes: map[string]*node{}}
}

// WriteFile creates a file, or replaces its contents and mode. Missing directories are created,
// and links followed.
func (d *MemoryDisk) WriteFile(path string, data []byte, mode fs.FileMode) error {
	return d.do("write", path, true, func(p place) error {
		n, err := p.regular()
		if errors.Is(err, fs.ErrNotExist) {
			n, err = d.create(p.path)
		}
		if err != nil {
			return err
		}
		n.mode = mode.Perm()
		d.fill(n, bytes.Clone(data))
		return nil
	})
}

// ReadFile returns the contents of a file.
func (d *MemoryDisk) ReadFile(path string) (data []byte, err error) {
	err = d.do("read", path, true, func(p place) error {
		n, err := p.regular()
		if err == nil {
			data = bytes.Clone(n.data)
		}
		return err
	})
	return data, err
}

// Mkdir creates a directory, with those above it that are missing. It may exist.
func (d *MemoryDisk) Mkdir(path string) error {
	return d.do("mkdir", path, true, func(p place) error {
		_, err := d.mkdir(p.path)
		return err
	})
}

// Symlink creates a symbolic link. Its target may be relative, and need not exist. Missing
// directories are created.
func (d *MemoryDisk) Symlink(target, path string) error {
	return d.do("symlink", path, false, func(p place) error {
		if p.node != nil {
			return fs.ErrExist
		}
		n, err := d.create(p.path)
		if err == nil {
			n.mode, n.target, n.version = fs.ModeSymlink|0o777, target, ""
		}
		return err
	})
}

// Pipe creates something that is neither a file nor a directory.
func (d *MemoryDisk) Pipe(path string) error {
	return d.do("pipe", path, false, func(p place) error {
		if p.node != nil {
			return fs.ErrExist
		}
		n, err := d.create(p.path)
		if err == nil {
			n.mode, n.version = fs.ModeNamedPipe|0o600, ""
		}
		return err
	})
}

// Remove removes a file, a link, or a directory with everything in it.
func (d *MemoryDisk) Remove(path string) error {
	return d.do("remove", path, false, func(p place) error {
		if p.node == nil {
			return fs.ErrNotExist
		}
		d.remove(p.path)
		return nil
	})
}

// Mode returns the type and permissions of a file. A link is not followed.
func (d *MemoryDisk) Mode(path string) (mode fs.FileMode, err error) {
	err = d.do("stat", path, false, func(p place) error {
		if p.node == nil {
			return fs.ErrNotExist
		}
		mode = p.node.mode
		return nil
	})
	return mode, err
}

// do calls fn with what an absolute path leads to.
func (d *MemoryDisk) do(op, path string, follow bool, fn func(place) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	abs, err := d.style.Abs(path, path)
	if err == nil {
		var p place
		if p, err = d.resolve(abs, follow); err == nil {
			if err = p.blocked(); err == nil {
				err = fn(p)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("workspace: %s %q: %w", op, path, err)
	}
	return nil
}

// fill gives a file its contents, and a new version.
func (d *MemoryDisk) fill(n *node, data []byte) {
	d.writes++
	n.data, n.version, n.modTime = data, Version(fmt.Sprintf("v%d", d.writes)), time.Now()
}

// create makes an empty file at a resolved path that does not exist.
func (d *MemoryDisk) create(path string) (*node, error) {
	dir, err := d.mkdir(d.style.Parent(path))
	if err != nil {
		return nil, err
	}
	name := d.base(path)
	n := &node{name: name, mode: 0o644}
	dir.children[d.style.Fold(name)] = n
	d.fill(n, nil)
	return n, nil
}

// mkdir returns the directory at a resolved path. It makes those that are missing.
func (d *MemoryDisk) mkdir(path string) (*node, error) {
	volume, parts := d.split(path)
	key := d.style.Fold(volume)
	dir := d.volumes[key]
	if dir == nil {
		dir = newDir(volume)
		d.volumes[key] = dir
	}
	for _, part := range parts {
		next := dir.children[d.style.Fold(part)]
		if next == nil {
			next = newDir(part)
			dir.children[d.style.Fold(part)] = next
		}
		if !next.mode.IsDir() {
			return nil, ErrNotDirectory
		}
		dir = next
	}
	return dir, nil
}

// remove takes what is at a resolved path off its directory.
func (d *MemoryDisk) remove(path string) {
	p, err := d.resolve(d.style.Parent(path), true)
	if err == nil && p.node != nil {
		delete(p.node.children, d.style.Fold(d.base(path)))
	}
}

func (d *MemoryDisk) base(path string) string { return d.style.Rel(d.style.Parent(path), path) }

// split cuts a clean path into its volume and the names below that.
func (d *MemoryDisk) split(path string) (volume string, parts []string) {
	volume = path
	for up := d.style.Parent(volume); up != volume; up = d.style.Parent(volume) {
		volume = up
	}
	rel := d.style.Rel(volume, path)
	if rel == "." {
		return volume, nil
	}
	return volume, strings.FieldsFunc(rel, func(r rune) bool {
		return r == '/' && d.style == Slash || r == '\\' && d.style == Windows
	})
}
