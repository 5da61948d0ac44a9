// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Write implements [workspace.Workspace].
//
// The new contents are written to a file beside the old one, synchronised with the disk, and
// renamed. The file keeps its permissions and, if that is allowed, its owner, but no access control
// list and no extended attributes. A file that this process may not write is fs.ErrPermission, and
// so is one in a directory that it may not write. Other names of the same file (hard links) keep
// the old contents. A new file has the mode 0644 less the umask. If this process is killed in the
// middle of a write, a file .ponte-*.tmp may stay beside the old one.
func (w *Workspace) Write(
	ctx context.Context, path string, data []byte, ifVersion workspace.Version,
) (workspace.Version, error) {
	v, err := w.write(ctx, path, workspace.Change{Data: data, IfVersion: ifVersion})
	return v, wrapError("write", path, err)
}

// ApplyChange implements [workspace.Applier]. No link that is put into the path meanwhile leads a
// change elsewhere.
func (w *Workspace) ApplyChange(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	v, err := w.write(ctx, path, c)
	if err != nil {
		return nil, wrapError("write", path, err)
	}
	at, err := w.locate(ctx, path)
	return workspace.SavedDocument(
		&workspace.File{Info: workspace.Info{Path: at.Path, Version: v}, Data: c.Data},
	), wrapError("write", path, err)
}

func (w *Workspace) write(ctx context.Context, path string, c workspace.Change) (workspace.Version, error) {
	data, ifVersion := c.Data, c.IfVersion
	p, unlock, err := w.findLocked(ctx, path, true)
	if err != nil {
		return "", err
	}
	defer unlock()
	if c.File != "" && w.canonical(&p) != c.File {
		return "", workspace.ErrChanged
	}
	if p.info != nil {
		if err := p.regular(); err != nil {
			return "", err
		}
	}
	if err := check(ctx, &p, ifVersion); err != nil {
		return "", err
	}
	if err := writable(&p); err != nil {
		return "", err
	}
	r, dir := p.root.Root, filepath.Dir(p.rel)
	if p.info == nil {
		if err := r.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	// From here on the directory is this one, whatever is put in its place.
	parent, err := r.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer parent.Close()
	if err := w.still(ctx, path, &p, parent); err != nil {
		return "", err
	}
	name := filepath.Base(p.rel)
	temp, err := writeTemp(parent, data, p.info)
	if errors.Is(err, fs.ErrPermission) {
		return "", errDirectory
	}
	if err != nil {
		return "", err
	}
	if err := replace(ctx, parent, name, temp, p.info, ifVersion); err != nil {
		_ = parent.Remove(temp)
		return "", err
	}
	if info, err := parent.Lstat(name); err == nil && info.Size() == int64(len(data)) {
		if v, ok := stampOf(info); ok {
			return v, nil
		}
	}
	return hashOf(data), nil
}

// errDirectory is the error of a file that could not be replaced, though it may be written.
var errDirectory = fmt.Errorf(
	"%w: the directory of the file may not be written, and a file is replaced by a new one", fs.ErrPermission)

// writable returns fs.ErrPermission for a file that this process may not write: to replace it would
// be possible all the same.
func writable(p *place) error {
	if p.info == nil {
		return nil
	}
	f, err := p.root.OpenFile(p.rel, os.O_WRONLY|openNoWait, 0)
	switch {
	case err == nil:
		return f.Close()
	case errors.Is(err, fs.ErrPermission):
		return fs.ErrPermission
	}
	return nil // a program that runs, for instance, is replaced
}

// findLocked finds what a path leads to and locks that.
func (w *Workspace) findLocked(ctx context.Context, path string, follow bool) (place, func(), error) {
	p, err := w.find(ctx, path, follow)
	if err != nil {
		return place{}, nil, err
	}
	for range maxLinks {
		key := filepath.Join(p.root.real, p.rel)
		unlock := lock(key)
		p, err = w.find(ctx, path, follow) // somebody may have written meanwhile
		if err == nil && filepath.Join(p.root.real, p.rel) == key {
			return p, unlock, nil
		}
		unlock()
		if err != nil {
			return place{}, nil, err
		}
	}
	return place{}, nil, workspace.ErrChanged
}

// still makes sure that an open directory is the one that a path led to when it was checked: a
// directory above it may have been exchanged for a link before it was opened.
func (w *Workspace) still(ctx context.Context, path string, p *place, parent *os.Root) error {
	now, err := w.find(ctx, path, true)
	if err != nil {
		return err
	}
	opened, err := parent.Stat(".")
	if err != nil {
		return err
	}
	there, err := w.lstat(filepath.Join(p.root.real, filepath.Dir(p.rel)))
	if err != nil {
		return err
	}
	if now.root != p.root || now.rel != p.rel || !os.SameFile(opened, there) {
		return workspace.ErrChanged
	}
	return nil
}

// writeTemp writes a new file into a directory, and returns its name. old describes the file that
// it is to replace, nil for none.
func writeTemp(r *os.Root, data []byte, old fs.FileInfo) (temp string, err error) {
	mode := fs.FileMode(0o644)
	if old != nil {
		mode = 0o600 // until it has the mode of the old one
	}
	temp = ".ponte-" + rand.Text() + ".tmp"
	f, err := r.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			_ = r.Remove(temp)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	if old != nil {
		keepOwner(f, old)
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return "", err
		}
	}
	return temp, f.Sync()
}

// replace puts the new file in the place of the old one, which old describes, nil for none.
func replace(ctx context.Context, r *os.Root, name, temp string, old fs.FileInfo, ifVersion workspace.Version) error {
	if old == nil && ifVersion == "" {
		// A link, unlike a rename, fails if another process has created the file meanwhile.
		err := r.Link(temp, name)
		switch {
		case err == nil:
			return r.Remove(temp)
		case errors.Is(err, fs.ErrExist):
			return workspace.ErrChanged
		}
		// This file system has no hard links.
	}
	info, err := r.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return err
	case !info.Mode().IsRegular(): // a link, or worse
		return workspace.ErrChanged
	}
	if ifVersion != workspace.AnyVersion && !sameFile(info, old) {
		return workspace.ErrChanged
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.Rename(temp, name)
}

// sameFile reports whether two descriptions are of the same file in the same state, judged by
// times.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	_, ca, _ := identity(a)
	_, cb, _ := identity(b)
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && ca.Equal(cb)
}

// Remove implements [workspace.Workspace].
func (w *Workspace) Remove(ctx context.Context, path string, ifVersion workspace.Version) error {
	return wrapError("remove", path, w.remove(ctx, path, ifVersion))
}

func (w *Workspace) remove(ctx context.Context, path string, ifVersion workspace.Version) error {
	p, unlock, err := w.findLocked(ctx, path, false)
	if err != nil {
		return err
	}
	defer unlock()
	switch {
	case p.info == nil && ifVersion != workspace.AnyVersion:
		return workspace.ErrChanged
	case p.info == nil:
		return fs.ErrNotExist
	case p.info.IsDir():
		return workspace.ErrIsDirectory
	case !p.info.Mode().IsRegular() && ifVersion != workspace.AnyVersion:
		return workspace.ErrChanged
	}
	if err := check(ctx, &p, ifVersion); err != nil {
		return err
	}
	return p.root.Remove(p.rel)
}
