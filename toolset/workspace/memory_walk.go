// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"io/fs"
	"iter"
)

// Walk implements [Workspace].
func (w *Memory) Walk(ctx context.Context, dir string, o WalkOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		v := walker{ctx: ctx, w: w, options: o, yield: yield}
		var top Info
		err := w.use(ctx, "walk", dir, true, func(found at) error {
			if found.node == nil {
				return fs.ErrNotExist
			}
			top = found.node.info(found.Path)
			return nil
		})
		switch {
		case err != nil:
			yield(Info{Path: dir}, err)
		case !top.IsDir():
			yield(top, nil)
		default:
			v.dir(top, 1)
		}
	}
}

type walker struct {
	ctx     context.Context
	w       *Memory
	options WalkOptions
	yield   func(Info, error) bool
}

// dir walks a directory. It reports whether to continue.
func (v *walker) dir(dir Info, depth int) bool {
	var entries []Info
	err := v.w.use(v.ctx, "walk", dir.Path, true, func(found at) error {
		if found.node == nil { // removed meanwhile
			return nil
		}
		entries = found.node.entries(v.w.disk.style, dir.Path)
		return nil
	})
	if err != nil {
		return v.yield(dir, err) && v.ctx.Err() == nil
	}
	if v.options.Filter != nil {
		entries = v.options.Filter(dir.Path, entries)
	}
	for _, e := range entries {
		if v.ctx.Err() != nil {
			v.yield(e, context.Cause(v.ctx))
			return false
		}
		if !v.yield(e, nil) {
			return false
		}
		if e.IsDir() && (v.options.Depth == 0 || depth < v.options.Depth) && !v.dir(e, depth+1) {
			return false
		}
	}
	return true
}
