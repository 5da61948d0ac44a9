// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/linediff"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Kind is the kind of change of a file.
type Kind string

// What became of a file. The text is for people.
const (
	Created Kind = "created"
	Changed Kind = "changed"
	Removed Kind = "removed"
)

// Changes are the changes of a [Span].
type Changes struct {
	// Span is the requested span.
	Span Span
	// Files are sorted by path. Files that ended as they began are left out.
	Files []FileChange
	// Commands were started meanwhile. Their changes are not recorded.
	Commands []Command
	// Dropped is how many changes of the span, or of before it, are not kept any more.
	Dropped int
}

// FileChange is the change of a file in a [Span].
type FileChange struct {
	// Path is absolute. Name is for people: relative to the first root, with slashes, if the file
	// lies there.
	Path, Name string
	Kind       Kind
	// Before is the content before the first change, After the content after the last one.
	Before, After State
	// Others is set if the file was also changed by others between changes of the span.
	Others bool
	// Unsure is set if a write ended with an error and may not have happened.
	Unsure bool
	// Kept is set if the contents are kept: the changes can be shown and undone.
	Kept bool

	raw      string // the name without quotes
	segments []segment
}

// segment is a sequence of consecutive changes of a file. Changes between two segments were made by
// others, unless the second one follows the first. A change that may not have happened is a
// separate segment.
type segment struct {
	before, after         State
	beforeData, afterData []byte // nil for no file
	kept, unsure, follows bool
}

// Changes returns what was changed through the recorder. The error is [ErrNoCheckpoint].
func (r *Recorder) Changes(s Span) (*Changes, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, err := r.files(s)
	if err != nil {
		return nil, err
	}
	found := &Changes{Span: s}
	for _, f := range files {
		first, last := f.segments[0], f.segments[len(f.segments)-1]
		if len(f.segments) == 1 && first.before.same(first.after) {
			continue
		}
		f.Before, f.After, f.Kept, f.Kind = first.before, last.after, true, Changed
		for i, seg := range f.segments {
			f.Others = f.Others || i > 0 && !seg.follows
			f.Kept, f.Unsure = f.Kept && seg.kept, f.Unsure || seg.unsure
		}
		switch {
		case f.Before.Absent && !f.After.Absent:
			f.Kind = Created
		case f.After.Absent && !f.Before.Absent:
			f.Kind = Removed
		}
		found.Files = append(found.Files, *f)
	}
	slices.SortFunc(found.Files, func(a, b FileChange) int { return cmp.Compare(a.Path, b.Path) })
	for _, c := range r.log.Commands {
		if s.has(c.Checkpoint) {
			found.Commands = append(found.Commands, c)
		}
	}
	found.Dropped = r.dropped(s)
	return found, nil
}

// Diff shows what was changed as one unified diff, file after file. If others changed a file in
// between, it has a part for the changes before and one for those after, and what the other one
// changed is in neither.
func (c *Changes) Diff() string {
	var b strings.Builder
	for i := range c.Files {
		b.WriteString(c.Files[i].Diff())
	}
	return b.String()
}

// Diff shows what became of the file as a unified diff.
func (f *FileChange) Diff() string {
	var b strings.Builder
	for i := range f.segments {
		b.WriteString(f.segments[i].diff(f.raw))
	}
	return b.String()
}

func (s *segment) diff(name string) string {
	oldName, newName := name, name
	if s.before.Absent {
		oldName = ""
	}
	if s.after.Absent {
		newName = ""
	}
	before, isText := workspace.DecodeText(s.beforeData)
	after, both := workspace.DecodeText(s.afterData)
	if s.kept && isText && both {
		return linediff.Unified(oldName, newName, string(before.Data), string(after.Data))
	}
	why := "contents not kept"
	if s.kept {
		why = "not text"
	}
	return fmt.Sprintf(
		"--- %s\n+++ %s\n[%s: %s, now %s]\n", cmp.Or(oldName, "/dev/null"),
		cmp.Or(newName, "/dev/null"), why, s.before, s.after,
	)
}

// String describes the state for people.
func (s State) String() string {
	switch {
	case s.Unknown != "":
		return "unknown, because " + s.Unknown
	case s.Absent:
		return "no file"
	}
	return fmt.Sprintf("%d bytes", s.Size)
}

func (s Span) has(checkpoint int) bool {
	return checkpoint >= s.From && (s.To == 0 || checkpoint <= s.To)
}

// dropped returns how many changes that may belong to a span are not kept.
func (r *Recorder) dropped(s Span) int {
	if r.log.Dropped.Changes > 0 && s.From <= r.log.Dropped.Through {
		return r.log.Dropped.Changes
	}
	return 0
}

// files returns the changes of a span by file, in the order of their last changes. The recorder
// is locked.
func (r *Recorder) files(s Span) ([]*FileChange, error) {
	if last := r.log.last(); s.From < 0 || s.From > last || s.To > last || s.To != 0 && s.To < s.From {
		return nil, fmt.Errorf("%w: %d to %d; the last is %d", ErrNoCheckpoint, s.From, s.To, last)
	}
	byPath := map[string]*FileChange{}
	order := map[string]int{}
	for i := range r.log.Changes {
		c := &r.log.Changes[i]
		if !s.has(c.Checkpoint) {
			continue
		}
		key := r.style.Fold(c.Path)
		f := byPath[key]
		if f == nil {
			f = &FileChange{Path: c.Path, raw: r.relative(c.Path)}
			f.Name = printable(f.raw)
			byPath[key] = f
		}
		f.add(r.segment(c))
		order[key] = i
	}
	files := make([]*FileChange, 0, len(byPath))
	for _, f := range byPath {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *FileChange) int {
		return order[r.style.Fold(a.Path)] - order[r.style.Fold(b.Path)]
	})
	return files, nil
}

// add adds a segment, and joins it with the last one unless others changed the file in between, or
// one of them may not have happened.
func (f *FileChange) add(s segment) {
	if n := len(f.segments); n > 0 {
		last := &f.segments[n-1]
		s.follows = last.after.same(s.before)
		if s.follows && !last.unsure && !s.unsure {
			last.after, last.afterData = s.after, s.afterData
			last.kept = last.kept && s.kept
			return
		}
	}
	f.segments = append(f.segments, s)
}

func (r *Recorder) segment(c *Change) segment {
	s := segment{before: c.Before, after: c.After, unsure: c.Unsure}
	var haveBefore, haveAfter bool
	s.beforeData, haveBefore = r.data(c.Before)
	s.afterData, haveAfter = r.data(c.After)
	s.kept = haveBefore && haveAfter
	return s
}

// data returns the contents of a state, nil for no file. They must not be changed.
func (r *Recorder) data(s State) (data []byte, ok bool) {
	if s.Absent {
		return nil, true
	}
	kept := r.contents.byHash[s.Hash]
	if kept == nil {
		return nil, false
	}
	return present(kept.data), true
}

// present distinguishes the contents of an empty file from a missing file.
func present(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// relative returns a path relative to the first root, with slashes, if it lies there.
func (r *Recorder) relative(path string) string {
	roots := r.Roots()
	if len(roots) == 0 || !r.style.Contains(roots[0], path) {
		return path
	}
	name := r.style.Rel(roots[0], path)
	if r.style == workspace.Windows {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	return name
}

// printable quotes a name that people would not see as it is.
func printable(name string) string {
	if name != strings.TrimSpace(name) || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }) {
		return strconv.Quote(name)
	}
	return name
}
