// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package local

import (
	_ "embed"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of the search for what is protected in a root.
const (
	protectDepth = 4
	protectDirs  = 2000
)

// names are what is protected, by the first element, in lower case.
type names struct {
	first map[string][][]string
	wild  [][]string // those whose first element has a "*"
}

// skipped are directories that are not searched: they are large, and what is in them is not obeyed.
var skipped = map[string]bool{
	"node_modules": true, ".git": true, "__pycache__": true, ".venv": true, "venv": true,
	"target": true,
}

//go:embed protected.txt
var protectedText string

// protectedNames are the names of the list.
func protectedNames() (all []string) {
	for line := range strings.Lines(protectedText) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") && !strings.HasSuffix(line, ":") {
			all = append(all, strings.Fields(line)...)
		}
	}
	return all
}

func newNames(list []string) *names {
	if list == nil {
		list = protectedNames()
	}
	n := &names{first: map[string][][]string{}}
	for _, name := range list {
		elements := strings.Split(strings.ToLower(filepath.ToSlash(name)), "/")
		if strings.Contains(elements[0], "*") {
			n.wild = append(n.wild, elements)
		} else {
			n.first[elements[0]] = append(n.first[elements[0]], elements)
		}
	}
	return n
}

// obeyed is a file or directory that is protected.
type obeyed struct {
	path string
	// link is the target of a symbolic link. Nothing can be mounted on a link, so it is not
	// protected, and what it leads to only under its own name.
	link string
}

// in returns what of a root is protected and there.
func (n *names) in(root string) []obeyed {
	s := search{names: n, left: protectDirs}
	s.dir(root, protectDepth)
	return s.found
}

// unreadable returns the files of a root that must not be read, by a function that is not nil. A
// directory with nothing else in it stands for them. What links lead to counts under their names.
func (n *names) unreadable(root string, denied func(path string) bool) []string {
	s := search{names: &names{}, left: protectDirs, denied: denied}
	s.dir(root, protectDepth)
	return s.unread
}

// search looks for what is protected, or must not be read.
type search struct {
	*names
	left   int // how many directories may be read
	found  []obeyed
	denied func(path string) bool
	unread []string
}

// dir searches a directory. It reports whether nothing in it may be read.
func (s *search) dir(dir string, depth int) (denied bool) {
	entries := s.read(dir)
	denied = len(entries) > 0 && s.denied != nil
	for _, e := range entries {
		path, before, hidden := filepath.Join(dir, e.Name()), len(s.found), len(s.unread)
		s.match(dir, e)
		below := len(s.found) == before && e.IsDir() && depth > 1 && !skipped[e.Name()]
		switch {
		case below && s.dir(path, depth-1):
			links := slices.DeleteFunc(slices.Clone(s.unread[hidden:]), func(file string) bool {
				return strings.HasPrefix(file, path+"/")
			})
			s.unread = append(append(s.unread[:hidden], path), links...)
		case !e.IsDir() && s.denied != nil && s.denied(path):
			if real, err := filepath.EvalSymlinks(path); err == nil {
				s.unread = append(s.unread, real)
			}
		default:
			denied = false
		}
	}
	return denied
}

func (s *search) read(dir string) []fs.DirEntry {
	if s.left--; s.left < 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	return entries
}

// match finds what is protected at a place and below it.
func (s *search) match(dir string, e fs.DirEntry) {
	name := strings.ToLower(e.Name())
	for _, elements := range s.first[name] {
		s.follow(filepath.Join(dir, e.Name()), e, elements[1:])
	}
	for _, elements := range s.wild {
		if fits(elements[0], name) {
			s.follow(filepath.Join(dir, e.Name()), e, elements[1:])
		}
	}
}

// follow finds what the rest of a name leads to. A file in the place of a directory is protected
// itself if a dot is in front of its name, such as the .git of a worktree.
func (s *search) follow(path string, e fs.DirEntry, rest []string) {
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		link, _ := os.Readlink(path)
		s.found = append(s.found, obeyed{path, link})
	case len(rest) == 0 || !e.IsDir():
		above := len(rest) > 0 && !strings.HasPrefix(e.Name(), ".")
		if !e.IsDir() && (above || !e.Type().IsRegular()) {
			return
		}
		s.found = append(s.found, obeyed{path: path})
	default:
		for _, below := range s.read(path) {
			if fits(rest[0], strings.ToLower(below.Name())) {
				s.follow(filepath.Join(path, below.Name()), below, rest[1:])
			}
		}
	}
}

// fits reports whether a name matches an element, in which one "*" matches any text.
func fits(element, name string) bool {
	before, after, star := strings.Cut(element, "*")
	if !star {
		return element == name
	}
	return len(name) >= len(before)+len(after) &&
		strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
