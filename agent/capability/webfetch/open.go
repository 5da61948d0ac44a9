// SPDX-License-Identifier: Apache-2.0

package webfetch

import "golang.org/x/net/html/atom"

// open is an open element.
type open struct {
	tag   atom.Atom
	name  string // if the tag is not known
	class class
	// node is where the children go: the element, or the last one within the limit of nesting.
	node  *node
	depth int
	// skip leaves the content out. foreign is set within SVG and MathML.
	skip, foreign bool
}

// class is the role of an open element for later tags.
type class uint16

const (
	paragraph class = 1 << iota
	anchor
	button
	item
	term
	table
	row
	rows    // of a table: the table itself or a group of its rows
	heading // of any level
	scope   // ends the search for elements to close
	list    // ends the search for items
)

var classes = map[atom.Atom]class{
	atom.P: paragraph, atom.A: anchor, atom.Button: button | scope, atom.Li: item, atom.Dt: term, atom.Dd: term,
	atom.Table: table | rows | scope | list, atom.Thead: rows, atom.Tbody: rows, atom.Tfoot: rows, atom.Tr: row,
	atom.H1: heading, atom.H2: heading, atom.H3: heading, atom.H4: heading, atom.H5: heading, atom.H6: heading,
	atom.Ul: list, atom.Ol: list, atom.Menu: list, atom.Dir: list, atom.Dl: list,
}

// find returns the index of the innermost open element of a class, or 0 if there is none, if an
// element of the class stop is nearer, or if it is too far away.
func (b *builder) find(is, stop class) int {
	last := max(1, len(b.stack)-maxLook)
	for i := len(b.stack) - 1; i >= last; i-- {
		b.steps++
		switch c := b.stack[i].class; {
		case c&is != 0:
			return i
		case c&stop != 0:
			return 0
		}
	}
	return 0
}

// findTag is find for the elements with a tag, which has a name if it is not known.
func (b *builder) findTag(tag atom.Atom, name []byte, stop class) int {
	last := max(1, len(b.stack)-maxLook)
	for i := len(b.stack) - 1; i >= last; i-- {
		b.steps++
		switch o := &b.stack[i]; {
		case o.tag == tag && (tag != 0 || o.name == string(name)):
			return i
		case o.class&stop != 0:
			return 0
		}
	}
	return 0
}

// closeNearest closes the innermost open element of a class.
func (b *builder) closeNearest(is, stop class) {
	if i := b.find(is, stop); i > 0 {
		b.pop(i)
	}
}

// closeWithin closes what is open within the innermost element of a class.
func (b *builder) closeWithin(is, stop class) bool {
	i := b.find(is, stop)
	if i > 0 {
		b.pop(i + 1)
	}
	return i > 0
}
