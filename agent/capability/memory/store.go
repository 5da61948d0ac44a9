// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const (
	// MaxNotes is how many notes a store may have.
	MaxNotes = 200
	// MaxNote is how long a note may be that the model writes, in bytes.
	MaxNote = 8 << 10
	// MaxRead is how much of a note is read, in bytes.
	MaxRead = 64 << 10
)

// Errors of stores.
var (
	// ErrChanged means that a note has not the version that was expected, also because it exists
	// or does not.
	ErrChanged = errors.New("memory: the note has changed")
	// ErrFull means that there are [MaxNotes] notes.
	ErrFull = errors.New("memory: there are too many notes")
)

// Note is a note.
type Note struct {
	// Name identifies the note: 1 to 64 letters, digits, blanks, and characters of "-_.", which
	// does not begin or end with a blank or a dot.
	Name string
	// Text is the text of the note, Markdown. Cut is set if the note is longer than [MaxRead] and
	// Text is its beginning.
	Text string
	Cut  bool
	// Version identifies the text at one time.
	Version string
}

// Store keeps notes. Implementations are safe for concurrent use. Notes whose names or texts are
// not valid are not listed. A store of files may have a method Path(name string) string, which
// returns the absolute path of a note's file, for previews.
type Store interface {
	// All returns the notes, sorted by name, at most [MaxNotes].
	All(ctx context.Context) ([]Note, error)
	// Put writes a note if it has the version; an empty one means that there must be no such
	// note. It fails with [ErrChanged] or [ErrFull].
	Put(ctx context.Context, name, text, version string) error
	// Remove removes a note if it has the version. It fails with [ErrChanged].
	Remove(ctx context.Context, name, version string) error
}

// checkName returns what is wrong with a name.
func checkName(name string) error {
	wrong := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_. ", r)
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, wrong) || strings.Trim(name, ". ") != name {
		return errors.New(`a name has 1 to 64 letters, digits, blanks and characters of "-_.", and does not begin or end with a blank or a dot`)
	}
	return nil
}

// Map keeps notes in memory. The zero value is empty and ready to use.
type Map struct {
	mu    sync.Mutex
	notes map[string]Note
	next  int
}

// All implements [Store].
func (m *Map) All(ctx context.Context) ([]Note, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.SortedFunc(maps.Values(m.notes), func(a, b Note) int { return strings.Compare(a.Name, b.Name) })
	return all, context.Cause(ctx)
}

// Put implements [Store].
func (m *Map) Put(ctx context.Context, name, text, version string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, exists := m.notes[name]
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case checkName(name) != nil:
		return fmt.Errorf("memory: put %q: %w", name, checkName(name))
	case old.Version != version:
		return ErrChanged
	case !exists && len(m.notes) >= MaxNotes:
		return ErrFull
	}
	if m.notes == nil {
		m.notes = map[string]Note{}
	}
	m.next++
	m.notes[name] = Note{Name: name, Text: text, Version: strconv.Itoa(m.next)}
	return nil
}

// Remove implements [Store].
func (m *Map) Remove(ctx context.Context, name, version string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, exists := m.notes[name]
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !exists || old.Version != version:
		return ErrChanged
	}
	delete(m.notes, name)
	return nil
}

// Files returns a store in a directory of a workspace: each note is a file NAME.md. The directory
// is made with the first note. In the project's workspace "." is its top; ".agents/memory" is a
// good place. Files panics if w is nil.
func Files(w workspace.Workspace, dir string) Store {
	if w == nil {
		panic("memory: Files: the workspace is nil")
	}
	return &files{w, dir}
}

type files struct {
	w   workspace.Workspace
	dir string
}

const extension = ".md"

func (f *files) path(name string) string { return path.Join(f.dir, name+extension) }

// Path returns the absolute path of a note's file.
func (f *files) Path(name string) string {
	at, err := workspace.LocateIn(f.w, f.path(name))
	if err != nil {
		return f.path(name)
	}
	return at.Path
}

// names returns the names of the files that may be notes, sorted.
func (f *files) names(ctx context.Context) ([]string, error) {
	at, err := workspace.LocateIn(f.w, f.dir)
	if err != nil {
		return nil, fmt.Errorf("memory: list %q: %w", f.dir, err)
	}
	var all []string
	for info, err := range f.w.Walk(ctx, f.dir, workspace.WalkOptions{Depth: 1}) {
		switch {
		case errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil:
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("memory: list %q: %w", f.dir, err)
		}
		name, ok := strings.CutSuffix(workspace.StyleOf(at.Path).Rel(at.Path, info.Path), extension)
		if ok && !info.IsDir() && checkName(name) == nil {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all, nil
}

// All implements [Store].
func (f *files) All(ctx context.Context) ([]Note, error) {
	names, err := f.names(ctx)
	if err != nil {
		return nil, err
	}
	var all []Note
	for _, name := range names[:min(len(names), MaxNotes)] {
		note, err := f.read(ctx, name)
		switch {
		case err != nil && (ctx.Err() != nil || errors.Is(err, workspace.ErrLost)):
			return nil, fmt.Errorf("memory: read %q: %w", name, err)
		case err == nil && utf8.ValidString(note.Text) && strings.IndexByte(note.Text, 0) < 0:
			all = append(all, note)
		}
	}
	return all, nil
}

func (f *files) read(ctx context.Context, name string) (Note, error) {
	file, err := f.w.Read(ctx, f.path(name), workspace.Range{Limit: MaxRead})
	if err != nil {
		return Note{}, err
	}
	text := file.Data
	if file.More {
		text = clean.Whole(text)
	}
	version := string(file.Version)
	if version == "" { // only a whole file has to have one
		info, err := f.w.Stat(ctx, f.path(name))
		if err != nil {
			return Note{}, err
		}
		version = string(info.Version)
	}
	return Note{Name: name, Text: string(text), Cut: file.More, Version: version}, nil
}

// Put implements [Store].
func (f *files) Put(ctx context.Context, name, text, version string) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("memory: put %q: %w", name, err)
	}
	if version == "" {
		names, err := f.names(ctx)
		switch {
		case err != nil:
			return err
		case slices.Contains(names, name):
			return ErrChanged
		case len(names) >= MaxNotes:
			return ErrFull
		}
	}
	if _, err := f.w.Write(ctx, f.path(name), []byte(text), workspace.Version(version)); err != nil {
		return changed("write", name, err)
	}
	return nil
}

// Remove implements [Store].
func (f *files) Remove(ctx context.Context, name, version string) error {
	if err := checkName(name); err != nil || version == "" {
		return ErrChanged
	}
	if err := f.w.Remove(ctx, f.path(name), workspace.Version(version)); err != nil {
		return changed("remove", name, err)
	}
	return nil
}

func changed(op, name string, err error) error {
	if errors.Is(err, workspace.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	return fmt.Errorf("memory: %s %q: %w", op, name, err)
}
