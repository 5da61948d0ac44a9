// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Walk implements [workspace.Workspace]. It holds one directory of each level in memory at a time.
// Temporary files of writes that are under way may be listed.
func (w *Workspace) Walk(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	return func(yield func(workspace.Info, error) bool) {
		p, err := w.find(ctx, dir, true)
		if err == nil && p.info == nil {
			err = fs.ErrNotExist
		}
		if err != nil {
			yield(workspace.Info{Path: dir}, wrapError("walk", dir, err))
			return
		}
		v := &walker{ctx: ctx, options: o, yield: yield}
		info := describe(p.Path, p.info)
		if !p.info.IsDir() {
			info.Version, err = versionIn(ctx, p.root.Root, p.rel, p.info)
			yield(info, wrapError("walk", dir, err))
			return
		}
		v.dir(p.root.Root, p.rel, info, 1)
	}
}

type walker struct {
	ctx     context.Context
	options workspace.WalkOptions
	yield   func(workspace.Info, error) bool
}

// dir walks a directory. It reports whether to continue.
func (v *walker) dir(r *os.Root, rel string, dir workspace.Info, depth int) bool {
	entries, err := v.read(r, rel, dir.Path)
	if err != nil {
		if depth > 1 && errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return true
		}
		return v.yield(dir, wrapError("walk", dir.Path, err)) && v.ctx.Err() == nil
	}
	if v.options.Filter != nil {
		entries = v.options.Filter(dir.Path, entries)
	}
	for i := range entries {
		e := &entries[i]
		if v.ctx.Err() != nil {
			v.yield(*e, wrapError("walk", e.Path, context.Cause(v.ctx)))
			return false
		}
		if !v.yield(*e, nil) {
			return false
		}
		if e.IsDir() && (v.options.Depth == 0 || depth < v.options.Depth) && !v.dir(r, filepath.Join(rel, base(e.Path)), *e, depth+1) {
			return false
		}
	}
	return true
}

// entry is a name in a directory, and the type of what it names.
type entry struct {
	name string
	mode fs.FileMode
}

// read lists a directory, sorted.
func (v *walker) read(r *os.Root, rel, path string) ([]workspace.Info, error) {
	if v.ctx.Err() != nil {
		return nil, context.Cause(v.ctx)
	}
	f, err := r.OpenFile(rel, os.O_RDONLY|openDirectory, 0)
	if err != nil {
		return nil, err
	}
	list, err := readDir(f, func(name string) (fs.FileInfo, error) { return r.Lstat(filepath.Join(rel, name)) })
	f.Close()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var describeEntry func(i *workspace.Info, name string) bool
	if v.options.Details {
		sub, err := r.OpenRoot(rel)
		if err != nil {
			return nil, err
		}
		defer sub.Close()
		describeEntry = func(i *workspace.Info, name string) bool {
			info, err := sub.Lstat(name)
			if err != nil {
				return false // removed meanwhile
			}
			*i = describe(i.Path, info)
			if i.Version, err = versionIn(v.ctx, sub, name, info); err != nil {
				i.Version = ""
			}
			return true
		}
	}
	prefix := strings.TrimSuffix(path, string(filepath.Separator)) + string(filepath.Separator)
	entries := make([]workspace.Info, 0, len(list))
	for _, e := range list {
		i := workspace.Info{Path: prefix + e.name, Mode: e.mode, Size: -1}
		if describeEntry == nil || describeEntry(&i, e.name) {
			entries = append(entries, i)
		}
	}
	return entries, nil
}

// base returns the last name of a path.
func base(path string) string {
	return path[strings.LastIndexAny(path, string(filepath.Separator)+"/")+1:]
}
