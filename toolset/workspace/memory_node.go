// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// node is a file, a directory, a link or something else. The disk's lock guards it. data is
// replaced and never changed.
type node struct {
	name     string
	mode     fs.FileMode
	data     []byte
	version  Version
	modTime  time.Time
	target   string           // of a link
	children map[string]*node // of a directory, by folded name
}

func newDir(name string) *node {
	return &node{name: name, mode: fs.ModeDir | 0o755, children: map[string]*node{}, modTime: time.Now()}
}

func newReader(data []byte) io.Reader { return bytes.NewReader(data) }

// info describes the node, under the path that led to it.
func (n *node) info(path string) Info {
	return Info{Path: path, Mode: n.mode, Size: int64(len(n.data)), ModTime: n.modTime, Version: n.version}
}

// entries lists a directory, sorted.
func (n *node) entries(s Style, path string) []Info {
	list := make([]*node, 0, len(n.children))
	for _, c := range n.children {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	entries := make([]Info, len(list))
	for i, c := range list {
		entries[i] = c.info(s.Join(path, c.name))
	}
	return entries
}

// place is where a path leads when links are followed.
type place struct {
	// path is the path without links.
	path string
	// node is the file or directory, nil if there is none.
	node *node
	// file is set if an element of the path is not a directory.
	file bool
}

// blocked returns an error if the path goes through a file.
func (p *place) blocked() error {
	if p.file {
		return ErrNotDirectory
	}
	return nil
}

// regular returns the file at the place.
func (p *place) regular() (*node, error) {
	switch n := p.node; {
	case n == nil:
		return nil, fs.ErrNotExist
	case n.mode.IsDir():
		return nil, ErrIsDirectory
	case !n.mode.IsRegular():
		return nil, ErrNotRegular
	default:
		return n, nil
	}
}

// maxLinks is how many links a path may lead through, as on Linux.
const maxLinks = 40

// resolve follows the links of an absolute, clean path. The last name is followed if follow is set.
func (d *MemoryDisk) resolve(path string, follow bool) (place, error) {
	volume, todo := d.split(path)
	type step struct {
		path string
		node *node
	}
	root := func(volume string) []step { return []step{{volume, d.volumes[d.style.Fold(volume)]}} }
	done := root(volume)
	file := false
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		here := done[len(done)-1]
		if part == ".." {
			if len(done) > 1 {
				done = done[:len(done)-1]
			}
			continue
		}
		var next *node
		if here.node != nil {
			if here.node.children == nil {
				file = true
			}
			next = here.node.children[d.style.Fold(part)]
		}
		if next == nil || next.target == "" || len(todo) == 0 && !follow {
			done = append(done, step{d.style.Join(here.path, part), next})
			continue
		}
		if links++; links > maxLinks {
			return place{}, errTooManyLinks
		}
		target := next.target
		if d.isAbs(target) {
			abs, err := d.style.Abs(target, target)
			if err != nil {
				return place{}, err
			}
			volume, parts := d.split(abs)
			done, todo = root(volume), append(parts, todo...)
			continue
		}
		parts := strings.FieldsFunc(target, func(r rune) bool { return r == '/' || r == '\\' && d.style == Windows })
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "." })
		todo = append(parts, todo...)
	}
	last := done[len(done)-1]
	return place{path: last.path, node: last.node, file: file}, nil
}

func (d *MemoryDisk) isAbs(path string) bool {
	return strings.HasPrefix(path, "/") || d.style == Windows && StyleOf(path) == Windows
}
