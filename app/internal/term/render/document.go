// SPDX-License-Identifier: Apache-2.0

package render

import (
	"math"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/markdown"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// Document is a conversation as lines. Only what is looked at is rendered, and it is rendered once
// for each width: what a frame costs does not depend on how long the conversation is.
type Document struct {
	dir      string
	items    []*item
	byID     map[string]*item
	width    int
	expanded bool
	markdown func(source string, width int) []text.Line
	cached   int // blocks with lines
}

// item is an entity, or a remark of the client.
type item struct {
	entity *view.Entity
	gap    bool // a blank line is above
	pieces Pieces
	blocks []*block // the first ones stay, the rest is made again when the entity changes
	stay   int
}

// block is a part of an item that is rendered as a whole.
type block struct {
	draw  func(d *Document) []text.Line
	lines []text.Line
	drawn bool
}

// maxCached is how many blocks may have lines at a time.
const maxCached = 1000

// NewDocument returns an empty document. Paths are shown relative to dir.
func NewDocument(dir string) *Document {
	return &Document{dir: dir, byID: map[string]*item{}, markdown: markdown.Render}
}

// Apply takes over what has changed.
func (d *Document) Apply(changes []view.Change) {
	for i := range changes {
		c := &changes[i]
		it := d.byID[c.ID]
		switch {
		case c.Entity == nil && it != nil:
			it.entity = nil
			it.set(0, nil)
		case c.Entity != nil && visible(c.Entity):
			if it == nil {
				it = d.add(c.ID, together(c.Entity.Kind))
			}
			it.entity = c.Entity
			d.build(it)
		}
	}
}

// Note adds a remark of the client, or replaces the one with the id.
func (d *Document) Note(id string, draw func(width int, expanded bool) []text.Line) {
	it := d.byID[id]
	if it == nil {
		it = d.add(id, true)
	}
	it.set(0, []*block{{draw: func(d *Document) []text.Line { return draw(d.width, d.expanded) }}})
}

// add appends an item. Those that belong together have no blank line between them.
func (d *Document) add(id string, together bool) *item {
	it := &item{gap: true}
	if len(d.items) == 0 {
		it.gap = false
	} else if last := d.items[len(d.items)-1].entity; together && (last == nil || last.Kind != view.Message && last.Kind != view.Thought) {
		it.gap = false
	}
	d.items = append(d.items, it)
	d.byID[id] = it
	return it
}

// set keeps the first blocks and replaces the rest.
func (it *item) set(stay int, rest []*block) {
	it.blocks = append(it.blocks[:min(stay, len(it.blocks))], rest...)
	it.stay = stay
}

// Expand shows thoughts, outputs and arguments in full, or folds them.
func (d *Document) Expand(on bool) {
	if d.expanded != on {
		d.expanded = on
		d.forget()
		for _, it := range d.items {
			if it.entity != nil {
				it.set(0, nil)
				it.pieces = Pieces{}
				d.build(it)
			}
		}
	}
}

// Expanded reports whether nothing is folded.
func (d *Document) Expanded() bool { return d.expanded }

// SetWidth changes the width of the lines.
func (d *Document) SetWidth(width int) {
	if d.width != width {
		d.width = width
		d.forget()
	}
}

// Print returns all lines, for a terminal that scrolls and wraps by itself.
func (d *Document) Print(width int) []text.Line {
	d.markdown = markdown.Printed
	d.width = width
	d.forget()
	lines, _ := d.From(Pos{}, math.MaxInt)
	d.markdown = markdown.Render
	d.forget()
	return lines
}

func (d *Document) forget() {
	for _, it := range d.items {
		for _, b := range it.blocks {
			b.lines, b.drawn = nil, false
		}
	}
	d.cached = 0
}

func (d *Document) lines(item, block int) []text.Line {
	it := d.items[item]
	b := it.blocks[block]
	if !b.drawn {
		if d.cached++; d.cached > maxCached {
			d.forget()
		}
		b.lines, b.drawn = b.draw(d), true
		if block == 0 && it.gap && len(b.lines) > 0 {
			b.lines = append([]text.Line{nil}, b.lines...)
		}
	}
	return b.lines
}

// Pos is a line of a document. The zero Pos is the first one.
type Pos struct{ item, block, line int }

// End is where the next line would be.
func (d *Document) End() Pos { return Pos{item: len(d.items)} }

// Back returns the line that is n lines above p, or the first one.
func (d *Document) Back(p Pos, n int) Pos {
	p = d.clamp(p)
	for {
		if p.line >= n {
			p.line -= n
			return p
		}
		n -= p.line
		switch {
		case p.block > 0:
			p.block--
		case p.item > 0:
			for p.item > 0 {
				p.item--
				if p.block = len(d.items[p.item].blocks) - 1; p.block >= 0 {
					break
				}
			}
			if p.block < 0 {
				return Pos{}
			}
		default:
			return Pos{}
		}
		p.line = len(d.lines(p.item, p.block))
	}
}

// clamp returns the next line that there is.
func (d *Document) clamp(p Pos) Pos {
	if p.item >= len(d.items) {
		return d.End()
	}
	if n := len(d.items[p.item].blocks); p.block >= n {
		p.block, p.line = max(n-1, 0), math.MaxInt
	}
	if len(d.items[p.item].blocks) == 0 {
		return Pos{item: p.item}
	}
	p.line = min(p.line, len(d.lines(p.item, p.block)))
	return p
}

// From returns up to n lines from p on, and where the one after them is.
func (d *Document) From(p Pos, n int) (lines []text.Line, next Pos) {
	for p.item < len(d.items) {
		for p.block < len(d.items[p.item].blocks) {
			all := d.lines(p.item, p.block)
			more := all[min(p.line, len(all)):]
			if len(lines)+len(more) > n {
				taken := n - len(lines)
				p.line += taken
				return append(lines, more[:taken]...), p
			}
			lines = append(lines, more...)
			p.block, p.line = p.block+1, 0
		}
		p.item, p.block, p.line = p.item+1, 0, 0
	}
	return lines, d.End()
}
