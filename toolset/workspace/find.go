// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// finder walks a workspace for list_files and search_files.
type finder struct {
	call *call
	// dirs are the directories to walk, and at is where the present one is.
	dirs []string
	at   Location
	// glob, if not empty, selects files by name, or by path below dir if it has a slash.
	glob string
	// all finds ignored files as well.
	all   bool
	depth int
	// rules of the directories from the root down to the present one.
	rules []ignoreRules
	// unreadable counts the directories that could not be read.
	unreadable int
	// contents is set if the files are to be read. withheld counts those that may not be.
	contents bool
	withheld int
}

// checkGlob returns the problem of an invalid pattern.
func checkGlob(pattern string) bool { return pattern == "" || doublestar.ValidatePattern(pattern) }

// everywhere are the directories to walk if the model names none: all of the workspace, each of
// them once.
func (c *call) everywhere(dir string) []string {
	if dir != "" {
		return []string{dir}
	}
	var dirs []string
	real := realRoots(c.ws)
	for i, root := range c.ws.Roots() {
		if !slices.Contains(real[:i], real[i]) {
			dirs = append(dirs, root)
		}
	}
	return dirs
}

// realRoots are the targets of the roots, if the workspace knows them.
func realRoots(w Workspace) []string {
	if linked, ok := w.(Linked); ok {
		if real := linked.RealRoots(); len(real) == len(w.Roots()) {
			return real
		}
	}
	return w.Roots()
}

// files yields what is below the directories, with its path relative to the one it is found in.
// Of a walk that fails at once the error is the only thing that it yields.
func (f *finder) files(ctx context.Context) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		for i, dir := range f.dirs {
			if !f.walk(ctx, dir, i > 0, yield) {
				return
			}
		}
	}
}

// walk yields what is below one of the directories. It reports whether to go on. further says
// that this is not the first one, so that the rest is of use even if this one cannot be read.
func (f *finder) walk(ctx context.Context, dir string, further bool, yield func(found, error) bool) bool {
	var err error
	if f.at, err = LocateIn(f.call.ws, dir); err != nil {
		yield(found{}, err)
		return false
	}
	o := WalkOptions{Depth: f.depth, Filter: f.others}
	f.rules = nil
	if !f.all {
		f.rulesAbove(ctx)
		o.Filter = func(dir string, entries []Info) []Info { return f.filter(ctx, dir, f.others(dir, entries)) }
	}
	prefix := f.prefix()
	for info, err := range f.call.ws.Walk(ctx, f.at.Path, o) {
		switch {
		case err != nil && (ctx.Err() != nil || !further && !strings.HasPrefix(info.Path, prefix)):
			yield(found{}, err)
			return false
		case err != nil:
			f.unreadable++
			continue
		}
		entry := found{Info: info, below: f.slashed(strings.TrimPrefix(info.Path, prefix))}
		if info.Path == f.at.Path { // a file
			entry.below = f.slashed(StyleOf(info.Path).Rel(StyleOf(info.Path).Parent(info.Path), info.Path))
		}
		if f.glob != "" && (info.IsDir() || !f.fits(entry.below)) {
			continue
		}
		if f.contents && info.Mode.IsRegular() {
			if verdict, _ := f.call.readable(ctx, info.Path); verdict != "" {
				f.withheld++
				continue
			}
		}
		if !yield(entry, nil) {
			return false
		}
	}
	return true
}

// others skips directories that are walked separately, whichever name they are found by.
func (f *finder) others(_ string, entries []Info) []Info {
	if len(f.dirs) == 1 {
		return entries
	}
	roots, real := f.call.ws.Roots(), realRoots(f.call.ws)
	here, style := roots[f.at.Root], StyleOf(roots[f.at.Root])
	return slices.DeleteFunc(entries, func(e Info) bool {
		return e.IsDir() && slices.Contains(real, style.Join(real[f.at.Root], f.slashed(style.Rel(here, e.Path))))
	})
}

// found is a file that a [finder] has found.
type found struct {
	Info
	below string
}

// prefix returns what the paths below the directory begin with.
func (f *finder) prefix() string {
	separator := StyleOf(f.at.Path).separator()
	return strings.TrimSuffix(f.at.Path, separator) + separator
}

func (f *finder) slashed(p string) string {
	if StyleOf(f.at.Path) == Windows {
		return strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

// fits reports whether the glob wants a file.
func (f *finder) fits(below string) bool {
	if !strings.Contains(f.glob, "/") {
		below = path.Base(below)
	}
	ok, _ := doublestar.Match(strings.TrimPrefix(f.glob, "/"), below)
	return ok
}

// rulesAbove reads the ignore files of the directories above the one that is walked.
func (f *finder) rulesAbove(ctx context.Context) {
	if f.at.Name == "." || !f.call.ws.Features().readsSaved() {
		return
	}
	root := f.call.ws.Roots()[f.at.Root]
	dir := ""
	for name := range strings.SplitSeq(f.at.Name, "/") {
		f.load(ctx, StyleOf(root).Join(root, dir), dir, ignoreFiles)
		dir = path.Join(dir, name)
	}
}

// load reads the ignore files of a directory, of which rel is the path relative to the root.
func (f *finder) load(ctx context.Context, dir, rel string, names []string) {
	for _, name := range names {
		file, err := f.call.ws.Read(ctx, StyleOf(dir).Join(dir, name), Range{Limit: 1 << 20, Saved: true})
		if err == nil && len(file.Data) > 0 {
			f.rules = append(f.rules, parseIgnore(rel, file.Data))
		}
	}
}

// filter leaves out what is ignored. Directories come depth first, so the rules of those that are
// left are dropped.
func (f *finder) filter(ctx context.Context, dir string, entries []Info) []Info {
	root := f.call.ws.Roots()[f.at.Root]
	rel := f.slashed(StyleOf(root).Rel(root, dir))
	if rel == "." {
		rel = ""
	}
	for n := len(f.rules); n > 0; n-- {
		if d := f.rules[n-1].dir; d == "" || d == rel || strings.HasPrefix(rel, d+"/") {
			break
		}
		f.rules = f.rules[:n-1]
	}
	var here []string
	prefix := strings.TrimSuffix(dir, StyleOf(root).separator()) + StyleOf(root).separator()
	for i := range entries {
		name := strings.TrimPrefix(entries[i].Path, prefix)
		if (name == ".gitignore" || name == ".ignore") && entries[i].Mode.IsRegular() {
			here = append(here, name)
		}
	}
	if f.call.ws.Features().readsSaved() {
		if len(here) == 2 {
			here = ignoreFiles
		}
		f.load(ctx, dir, rel, here)
	}
	kept := entries[:0]
	for _, e := range entries {
		name := strings.TrimPrefix(e.Path, prefix)
		below := name
		if rel != "" {
			below = rel + "/" + name
		}
		if e.IsDir() && skippedDirs[name] || f.ignored(below, e.IsDir()) {
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// ignored reports what the rules say about a path relative to the root. The innermost directory
// wins.
func (f *finder) ignored(rel string, isDir bool) bool {
	for i := len(f.rules) - 1; i >= 0; i-- {
		if ignored, decided := f.rules[i].match(rel, isDir); decided {
			return ignored
		}
	}
	return false
}
