// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Style is the rules that the paths of a workspace follow. They need not be those of this
// machine. All is done on strings; no file is looked at.
type Style uint8

const (
	// Slash is the style of everything but Windows.
	Slash Style = iota
	// Windows is the style of Windows.
	Windows
)

// maxPath is how long a path may be, in bytes.
const maxPath = 4096

// StyleOf returns the style of an absolute path.
func StyleOf(root string) Style {
	if hasDrive(root) || strings.HasPrefix(root, `\\`) {
		return Windows
	}
	return Slash
}

// Location is where a path leads, symbolic links aside.
type Location struct {
	// Path is absolute and clean.
	Path string
	// Root is the index of the first root that Path lies in.
	Root int
	// Name is Path relative to that root, with slashes. It is "." for the root itself.
	Name string
}

// Locate reads a path as described in the package documentation. roots are absolute and not empty;
// the first says which style holds. The error is [ErrPath] or [ErrOutside].
func Locate(roots []string, name string) (Location, error) {
	if len(roots) == 0 {
		return Location{}, fmt.Errorf("%w: there are no directories", ErrOutside)
	}
	s := StyleOf(roots[0])
	abs, err := s.Abs(roots[0], name)
	if err != nil {
		return Location{}, err
	}
	for i, root := range roots {
		root, err := s.Abs(roots[0], root)
		if err != nil || !s.Contains(root, abs) {
			continue
		}
		return Location{Path: abs, Root: i, Name: strings.ReplaceAll(s.Rel(root, abs), s.separator(), "/")}, nil
	}
	return Location{}, ErrOutside
}

// LocateIn returns where a path is in a workspace: as [Locate] does for its roots or, if it is
// outside of these and the workspace is [Linked], for what they lead to. The location is below the
// root either way, so a file has one name.
func LocateIn(w Workspace, name string) (Location, error) {
	at, err := Locate(w.Roots(), name)
	if linked, ok := w.(Linked); ok && errors.Is(err, ErrOutside) {
		return LocateLinked(w.Roots(), linked.RealRoots(), name)
	}
	return at, err
}

// LocateLinked is [LocateIn] for implementations of [Linked].
func LocateLinked(roots, real []string, name string) (Location, error) {
	at, err := Locate(roots, name)
	if !errors.Is(err, ErrOutside) || len(real) != len(roots) {
		return at, err
	}
	if at, err = Locate(real, name); err == nil {
		at.Path = StyleOf(roots[0]).Join(roots[at.Root], at.Name)
	}
	return at, err
}

// Abs returns name as an absolute, clean path. A relative name begins at dir, which is absolute.
// A name may be a file URI. The error is [ErrPath]. The result may lie anywhere.
func (s Style) Abs(dir, name string) (string, error) {
	switch {
	case name == "":
		return "", malformed("the path is empty")
	case len(name) > maxPath:
		return "", malformed("the path is longer than %d bytes", maxPath)
	}
	if isURI(name) {
		var err error
		if name, err = s.fromURI(name); err != nil {
			return "", err
		}
	}
	if strings.IndexByte(name, 0) >= 0 {
		return "", malformed("the path contains a NUL byte")
	}
	if s == Windows {
		var err error
		if name, err = absWindows(dir, name); err != nil {
			return "", err
		}
	} else {
		if !path.IsAbs(name) {
			name = dir + "/" + name
		}
		name = path.Clean(name)
	}
	if len(name) > maxPath {
		return "", malformed("the path is longer than %d bytes, with its directory", maxPath)
	}
	return name, nil
}

// Contains reports whether the clean path name is dir or lies in it. dir is clean, too.
func (s Style) Contains(dir, name string) bool {
	dir, name = s.Fold(strings.TrimSuffix(dir, s.separator())), s.Fold(strings.TrimSuffix(name, s.separator()))
	return name == dir || strings.HasPrefix(name, dir+s.separator())
}

// Rel returns the clean path name relative to dir if it lies in it, else name. For dir itself
// that is ".".
func (s Style) Rel(dir, name string) string {
	if !s.Contains(dir, name) {
		return name
	}
	cut := utf8.RuneCountInString(strings.TrimSuffix(dir, s.separator())) // folding keeps runes, not bytes
	for i := range name {
		if cut < 0 {
			return name[i:]
		}
		cut--
	}
	return "."
}

// Join returns the clean path dir with a relative name of slashes added.
func (s Style) Join(dir, name string) string {
	if name == "." || name == "" {
		return dir
	}
	return strings.TrimSuffix(dir, s.separator()) + s.separator() + strings.ReplaceAll(name, "/", s.separator())
}

// Parent returns the directory of a clean path. A root directory or a share is its own parent.
func (s Style) Parent(name string) string {
	if s == Slash {
		return path.Dir(name)
	}
	volume, rest := splitVolume(name)
	end := max(strings.LastIndexByte(rest, '\\'), 0)
	if end == 0 {
		return volume + `\`
	}
	return volume + rest[:end]
}

// Fold returns name such that names which mean the same file by the rules of case are equal. It
// has the length of name in runes.
func (s Style) Fold(name string) string {
	if s == Slash {
		return name
	}
	return foldWindows(name)
}

func (s Style) separator() string {
	if s == Windows {
		return `\`
	}
	return "/"
}
