// SPDX-License-Identifier: Apache-2.0

package webfetch

import (
	"context"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxNodes limits the tree; tests lower it. The rest of a page with more nodes is cut off.
var maxNodes = 1 << 20

// Limits of a tree. They bound memory, the depth of recursion, and the work for one tag.
const (
	// maxDepth limits the nesting. Deeper elements become part of the last element within the
	// limit.
	maxDepth = 200
	// maxLook limits how many open elements a tag is compared with.
	maxLook = 100
)

// node is an element, or text if its tag is 0.
type node struct {
	tag         atom.Atom
	size        int // bytes of text within
	text        string
	attr        *attributes
	first, last *node
	next        *node
	// layout is set for tables whose cells contain blocks. Markdown has no such tables.
	layout bool
}

// attributes that Markdown needs.
type attributes struct {
	address, alt, class string
	number              int // start of a list, value of an item, or columns of a cell
}

// tree is a page without what browsers do not show and what is around the content.
type tree struct {
	root  node
	title string
	base  *url.URL
	// mains and articles are candidates for the content.
	mains, roles, articles candidates
	// cut reports that the page has more nodes than the limit.
	cut bool
}

// candidates notes the first element of a kind, and how many there are.
type candidates struct {
	first *node
	count int
}

func (c *candidates) add(n *node) {
	if c.count++; c.count == 1 {
		c.first = n
	}
}

// content returns the element with the content: the one main element, or the one article, if it has
// at least a quarter of the text; otherwise the whole page.
func (t *tree) content() *node {
	for _, c := range []candidates{t.mains, t.roles, t.articles} {
		if c.count == 1 && c.first.size*4 >= t.root.size {
			return c.first
		}
	}
	return &t.root
}

// work counts steps, and ends with its context.
type work struct {
	ctx   context.Context
	steps int
	err   error
}

// stepsPerCheck is how many steps are made between two looks at the context.
const stepsPerCheck = 1 << 12

// over counts steps and reports whether the work must end.
func (w *work) over(steps int) bool {
	if w.steps += steps; w.steps >= stepsPerCheck && w.err == nil {
		w.steps, w.err = 0, context.Cause(w.ctx)
	}
	return w.err != nil
}

// builder makes a tree in one pass over the tags of a page. It does not follow the specification's
// algorithm, which can take quadratic time and memory, but treats the mistakes that pages usually
// have like browsers do.
type builder struct {
	work
	tree  *tree
	stack []open
	nodes int
	based bool
}

// treeOf reads a page. Its work and memory are proportional to the length of the page.
func treeOf(ctx context.Context, page string, at *url.URL) (*tree, error) {
	b := &builder{work: work{ctx: ctx}, tree: &tree{base: at}}
	b.stack = append(b.stack, open{node: &b.tree.root})
	z := html.NewTokenizer(strings.NewReader(page))
	var raw atom.Atom // the element whose text is next, if that has no tags
	for !b.over(1) && !b.tree.cut {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		switch kind {
		case html.TextToken:
			switch {
			case raw == atom.Title && b.tree.title == "":
				b.tree.title = string(z.Text())
			case left[raw]:
			default:
				b.addText(string(z.Text()))
			}
			continue
		case html.StartTagToken, html.SelfClosingTagToken:
			raw = b.startTag(z, kind == html.SelfClosingTagToken)
			continue
		case html.EndTagToken:
			name, _ := z.TagName()
			b.endTag(atom.Lookup(name), name)
		}
		raw = 0
	}
	b.pop(1)
	return b.tree, b.err
}

func (b *builder) top() *open { return &b.stack[len(b.stack)-1] }

// pop closes the open elements from an index on.
func (b *builder) pop(from int) {
	for i := len(b.stack) - 1; i >= from; i-- {
		if n, parent := b.stack[i].node, b.stack[i-1].node; n != parent {
			parent.size += n.size
		}
		b.stack[i] = open{}
	}
	b.stack = b.stack[:from]
}

// add adds a node to the open element.
func (b *builder) add(n *node) {
	parent := b.top().node
	if parent.last == nil {
		parent.first = n
	} else {
		parent.last.next = n
	}
	parent.last = n
	if b.nodes++; b.nodes >= maxNodes {
		b.tree.cut = true
	}
}

func (b *builder) addText(text string) {
	if top := b.top(); !top.skip {
		top.node.size += len(strings.TrimSpace(text))
		b.add(&node{text: text})
	}
}

// push opens an element.
func (b *builder) push(tag atom.Atom, name string, attr *attributes, skip bool) *node {
	top := b.top()
	o := open{tag: tag, name: name, class: classes[tag], node: top.node, depth: top.depth + 1, skip: top.skip || skip, foreign: top.foreign}
	switch tag {
	case atom.Svg, atom.Math:
		o.foreign = true
	case atom.Foreignobject, atom.ForeignObject:
		o.foreign = false
	}
	if !o.skip && o.depth <= maxDepth {
		o.node = &node{tag: tag, attr: attr}
		b.add(o.node)
	}
	b.stack = append(b.stack, o)
	return o.node
}

// startTag reads a start tag. It returns the element if its text is not to be searched for tags.
func (b *builder) startTag(z *html.Tokenizer, selfClosing bool) (raw atom.Atom) {
	name, more := z.TagName()
	tag := atom.Lookup(name)
	unknown := ""
	if tag == 0 {
		unknown = string(name)
	}
	if b.top().foreign {
		if breaksOut[tag] {
			b.leaveForeign()
		} else {
			z.NextIsNotRawText()
		}
	}
	attr, role, hidden := b.readAttributes(z, tag, more)
	if hasRawText[tag] && !b.top().foreign {
		raw = tag
	}
	switch {
	case tag == atom.Html || tag == atom.Body || tag == atom.Head:
		return 0
	case isVoid[tag] || selfClosing && b.top().foreign:
		b.void(tag, attr, hidden)
		return 0
	case !b.closeImplied(tag):
		return 0
	}
	if blockInCell[tag] {
		b.markLayout()
	}
	skip := hidden || left[tag]
	n := b.push(tag, unknown, attr, skip)
	if top := b.top(); !top.skip && n.tag == tag && top.depth <= maxDepth {
		switch {
		case tag == atom.Main:
			b.tree.mains.add(n)
		case role == "main":
			b.tree.roles.add(n)
		case tag == atom.Article:
			b.tree.articles.add(n)
		}
	}
	return raw
}

// void adds an element that has no content.
func (b *builder) void(tag atom.Atom, attr *attributes, hidden bool) {
	switch tag {
	case atom.Base:
		if attr != nil && !b.based {
			b.setBase(attr.address)
		}
	case atom.Hr:
		b.closeImplied(tag)
		fallthrough
	case atom.Br, atom.Img:
		if !hidden && !b.top().skip {
			b.add(&node{tag: tag, attr: attr})
		}
	}
}

// setBase sets what relative links mean.
func (b *builder) setBase(address string) {
	if u, err := b.tree.base.Parse(address); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		b.tree.base, b.based = u, true
	}
}

// closeImplied closes what the start of an element ends. It reports false for parts of a table
// outside of one, which are ignored.
func (b *builder) closeImplied(tag atom.Atom) bool {
	if closesP[tag] {
		b.closeNearest(paragraph, scope)
	}
	switch tag {
	case atom.A:
		b.closeNearest(anchor, scope)
	case atom.Button:
		b.closeNearest(button, table)
	case atom.Li:
		b.closeNearest(item, list)
	case atom.Dt, atom.Dd:
		b.closeNearest(term, list)
	case atom.Thead, atom.Tbody, atom.Tfoot, atom.Caption:
		return b.closeWithin(table, 0)
	case atom.Tr:
		return b.closeWithin(rows, 0)
	case atom.Td, atom.Th:
		if b.closeWithin(row, table) {
			return true
		}
		if !b.closeWithin(rows, 0) {
			return false
		}
		b.push(atom.Tr, "", nil, false)
	}
	return true
}

// leaveForeign closes SVG and MathML, because an element of HTML begins.
func (b *builder) leaveForeign() {
	i := len(b.stack) - 1
	for i > 0 && b.stack[i].foreign { // each element that is passed is closed
		i--
	}
	b.pop(i + 1)
}

// endTag reads an end tag.
func (b *builder) endTag(tag atom.Atom, name []byte) {
	stop := scope
	switch tag {
	case atom.Br:
		b.void(tag, nil, false)
		return
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		b.closeNearest(heading, scope)
		return
	case atom.Table:
		stop = 0
	case atom.Tr, atom.Td, atom.Th, atom.Thead, atom.Tbody, atom.Tfoot, atom.Caption:
		stop = table
	case atom.Button:
		stop = table
	}
	if i := b.findTag(tag, name, stop); i > 0 {
		b.pop(i)
	}
}

// markLayout notes that the innermost table contains a block.
func (b *builder) markLayout() {
	if i := b.find(table, 0); i > 0 && b.stack[i].node.tag == atom.Table {
		b.stack[i].node.layout = true
	}
}
