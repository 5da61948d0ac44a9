// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Read implements [workspace.Workspace].
func (w *Workspace) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	f, err := w.read(ctx, path, r)
	return f, wrapError("read", path, err)
}

func (w *Workspace) read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	file, info, loc, err := w.open(ctx, path)
	if err != nil {
		return workspace.File{}, err
	}
	defer file.Close()
	// The stamp is taken before the contents are read: what is written in between makes it out of
	// date.
	f, err := r.Read(ctx, file)
	if err != nil {
		return workspace.File{}, err
	}
	f.Info = describe(loc.Path, info)
	whole := r.Offset == 0 && r.Line <= 1 && r.Lines == 0 && !f.More
	switch stamp, ok := stampOf(info); {
	case ok:
		f.Version = stamp
	case whole && int64(len(f.Data)) == info.Size():
		f.Version = hashOf(f.Data)
	}
	return f, nil
}

// open opens a regular file.
func (w *Workspace) open(ctx context.Context, path string) (*os.File, fs.FileInfo, workspace.Location, error) {
	loc, err := w.locate(ctx, path)
	if err != nil {
		return nil, nil, loc, err
	}
	// Most paths have no links that os.Root does not follow.
	r, rel := w.roots[loc.Root].Root, filepath.FromSlash(loc.Name)
	info, err := r.Stat(rel)
	if err != nil {
		var p place
		if p, err = w.find(ctx, path, true); err != nil {
			return nil, nil, loc, err
		}
		r, rel, info = p.root.Root, p.rel, p.info
	}
	file, info, err := openRegular(r, rel, info)
	return file, info, loc, err
}

// openRegular opens a file that info describes. Other files are not opened, because that may block
// or have effects.
func openRegular(r *os.Root, rel string, info fs.FileInfo) (*os.File, fs.FileInfo, error) {
	if err := regular(info); err != nil {
		return nil, nil, err
	}
	file, err := r.OpenFile(rel, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = regular(info) // somebody may have put something else there meanwhile
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// Stat implements [workspace.Workspace].
func (w *Workspace) Stat(ctx context.Context, path string) (workspace.Info, error) {
	info, err := w.stat(ctx, path)
	return info, wrapError("stat", path, err)
}

func (w *Workspace) stat(ctx context.Context, path string) (workspace.Info, error) {
	p, err := w.find(ctx, path, true)
	switch {
	case err != nil:
		return workspace.Info{}, err
	case p.info == nil:
		return workspace.Info{}, fs.ErrNotExist
	}
	info := describe(p.Path, p.info)
	info.Version, err = versionIn(ctx, p.root.Root, p.rel, p.info)
	return info, err
}

func describe(path string, info fs.FileInfo) workspace.Info {
	return workspace.Info{Path: path, Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime()}
}
