// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// place is the target of a path.
type place struct {
	workspace.Location
	root root
	// rel is relative to the root and had no symbolic links when it was resolved. Only os.Root may
	// use it: that opens nothing outside of the root.
	rel string
	// info describes what is there, nil for nothing.
	info fs.FileInfo
}

// maxLinks is how many links a path may lead through, as on Linux.
const maxLinks = 40

// locate reads a path without looking at files.
func (w *Workspace) locate(ctx context.Context, name string) (workspace.Location, error) {
	if ctx.Err() != nil {
		return workspace.Location{}, context.Cause(ctx)
	}
	return workspace.LocateLinked(w.named, w.RealRoots(), name)
}

// find finds the target of a path. With follow, a link at the end is followed as well.
//
// os.Root does not follow absolute links, which may well lead to a place inside. So links are
// resolved here, and the result is given to os.Root, which makes sure that it is still inside when
// it is used.
func (w *Workspace) find(ctx context.Context, name string, follow bool) (place, error) {
	loc, err := w.locate(ctx, name)
	if err != nil {
		return place{}, err
	}
	done, todo := w.roots[loc.Root].real, parts(loc.Name)
	var info fs.FileInfo
	if len(todo) == 0 {
		if info, err = w.lstat(done); err != nil {
			return place{}, err
		}
	}
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == ".." {
			done, info = filepath.Dir(done), nil
			continue
		}
		next := filepath.Join(done, part)
		info, err = w.lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// A missing file may be about to be created, so it is located where it would be.
			p, err := w.at(loc, filepath.Join(append([]string{next}, todo...)...), nil)
			if err == nil && slices.Contains(todo, "..") { // of a link's target: it begins at a directory that is missing
				err = fs.ErrNotExist
			}
			return p, err
		case err != nil:
			if _, err := w.at(loc, next, nil); err != nil {
				return place{}, err
			}
			return place{}, err
		}
		target, isLink := w.linkTarget(next, info)
		if !isLink || len(todo) == 0 && !follow {
			if len(todo) > 0 && !info.IsDir() {
				if _, err := w.at(loc, filepath.Join(append([]string{next}, todo...)...), nil); err != nil {
					return place{}, err
				}
				return place{}, workspace.ErrNotDirectory
			}
			done = next
			continue
		}
		if links++; links > maxLinks {
			return place{}, errTooManyLinks
		}
		if filepath.IsAbs(target) {
			volume := filepath.VolumeName(target)
			done, target = volume+string(filepath.Separator), target[len(volume):]
		}
		todo = append(parts(target), todo...)
		if len(todo) == 0 {
			info = nil
		}
	}
	if info == nil { // the path ended in ".."
		if info, err = w.lstat(done); err != nil {
			return place{}, err
		}
	}
	return w.at(loc, done, info)
}

// at returns the place of a path without links.
func (w *Workspace) at(loc workspace.Location, real string, info fs.FileInfo) (place, error) {
	root, rel, ok := w.within(real)
	if !ok {
		return place{}, workspace.ErrOutside
	}
	return place{loc, root, rel, info}, nil
}

// lstat describes a path without links. Below a root it asks the directory that was opened.
func (w *Workspace) lstat(real string) (fs.FileInfo, error) {
	if root, rel, ok := w.within(real); ok {
		return root.Lstat(rel)
	}
	return os.Lstat(real)
}

// linkTarget returns what a link leads to. Junctions of Windows are irregular files.
func (w *Workspace) linkTarget(real string, info fs.FileInfo) (target string, ok bool) {
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return "", false
	}
	var err error
	if root, rel, ok := w.within(real); ok {
		target, err = root.Readlink(rel)
	} else {
		target, err = os.Readlink(real)
	}
	return target, err == nil
}

// parts splits a path into names.
func parts(name string) []string {
	all := strings.FieldsFunc(name, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	n := 0
	for _, p := range all {
		if p != "." {
			all[n] = p
			n++
		}
	}
	return all[:n]
}

// regular returns an error unless there is a regular file.
func (p *place) regular() error { return regular(p.info) }

func regular(info fs.FileInfo) error {
	switch {
	case info == nil:
		return fs.ErrNotExist
	case info.IsDir():
		return workspace.ErrIsDirectory
	case !info.Mode().IsRegular():
		return workspace.ErrNotRegular
	}
	return nil
}

// Follow implements [workspace.Follower].
func (w *Workspace) Follow(ctx context.Context, name string) (string, error) {
	p, err := w.find(ctx, name, true)
	if err != nil {
		return "", wrapError("follow", name, err)
	}
	return w.canonical(&p), nil
}

// canonical returns the name of a place below the root that it lies in, without links.
func (w *Workspace) canonical(p *place) string {
	for i := range w.roots {
		if w.roots[i] == p.root {
			return filepath.Join(w.named[i], p.rel)
		}
	}
	return p.Path
}
