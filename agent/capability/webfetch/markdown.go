// SPDX-License-Identifier: Apache-2.0

package webfetch

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"
)

// markdown converts a page. Its work, its memory and the length of the text are proportional to the length of the page;
// cut reports that the text ends before the page does. It ends with its context.
func markdown(ctx context.Context, page string, at *url.URL) (text, title string, cut bool, err error) {
	t, err := treeOf(ctx, page, at)
	if err != nil {
		return "", "", false, err
	}
	bound := maxGrowth*len(page) + 64<<10
	w := &writer{work: work{ctx: ctx}, base: t.base, baseLen: len(t.base.String()), room: bound, links: bound}
	w.children(t.content())
	if w.err != nil {
		return "", "", false, w.err
	}
	return strings.TrimSpace(string(w.out)), t.title, t.cut || w.full, nil
}

const (
	// maxGrowth limits the text to so many times the length of the page.
	maxGrowth = 4
	// maxPrefix limits what quotes and lists put before each line, in bytes. Those nested deeper put nothing there.
	maxPrefix = 40
)

// marker is markup around inline text, which is written when there is some.
type marker struct {
	begin   string
	finish  string
	written bool
}

// prefix is written before the lines of an open quote or list item: first before the first one,
// rest before the others.
type prefix struct {
	first, rest string
	used        bool
}

// writer writes Markdown.
type writer struct {
	work
	base    *url.URL
	baseLen int // written out: each relative link may cost as much
	out     []byte
	// room is how much the text may still grow, and links how much may be spent on addresses. Without that, a link is its
	// text.
	room, links int
	full        bool

	prefixes []prefix
	width    int // of the prefixes
	markers  []marker
	// lines are line breaks to be written before the next text: 0, 1, or 2 for a blank line. space is a blank.
	lines int
	space bool
	// fresh reports that nothing but prefixes is on the line.
	fresh bool
	// inline counts open elements without line breaks, and cells the open cells of tables.
	inline, cells int
	// linked is set within a link, and brackets where brackets would end its text or that of an image.
	linked, brackets bool
	// bracket is set if the text ends with a closing bracket that is not markup.
	bracket bool
}

// put writes bytes.
func (w *writer) put(text string) {
	if w.room -= len(text); w.room < 0 {
		w.full = true
		return
	}
	w.out = append(w.out, text...)
}

// done reports whether nothing more is written.
func (w *writer) done() bool { return w.over(1) || w.full }

// breakLine begins a new line before what comes next, after a blank one if n is 2.
func (w *writer) breakLine(n int) {
	if w.inline > 0 {
		w.space = true
		return
	}
	for i := len(w.markers) - 1; i >= 0; i-- { // markup does not go on behind a line
		if m := &w.markers[i]; m.written {
			w.put(m.finish)
			m.written = false
		}
	}
	if k := len(w.prefixes); k > 0 && !w.prefixes[k-1].used {
		return // the item has just begun
	}
	w.lines = max(w.lines, n)
}

// begin writes what stands before text: line breaks, prefixes, a blank, and markup.
func (w *writer) begin() {
	switch {
	case w.lines > 0 || len(w.out) == 0:
		if len(w.out) > 0 {
			w.put("\n")
			if w.lines > 1 {
				w.put(strings.TrimRight(w.indent(false), " "))
				w.put("\n")
			}
		}
		w.put(w.indent(true))
		w.lines, w.fresh, w.bracket = 0, true, false
	case w.space && !w.fresh:
		w.put(" ")
		w.bracket = false
	}
	w.space = false
	for i := range w.markers {
		if m := &w.markers[i]; !m.written && m.begin != "" {
			if m.begin == "[" && len(w.out) > 0 && w.out[len(w.out)-1] == '!' { // it would be an image
				w.out = append(w.out[:len(w.out)-1], `\!`...)
			}
			w.put(m.begin)
			m.written, w.fresh, w.bracket = true, false, false
		}
	}
}

// indent returns the prefixes of a line. If it is one with text, items have begun with it.
func (w *writer) indent(text bool) string {
	var b strings.Builder
	for i := range w.prefixes {
		if p := &w.prefixes[i]; p.used {
			b.WriteString(p.rest)
		} else if text {
			b.WriteString(p.first)
			p.used = true
		}
	}
	return b.String()
}

// markup writes markup that needs no escapes.
func (w *writer) markup(text string) {
	w.begin()
	w.put(text)
	w.fresh, w.bracket = false, false
}

// open and close put inline markup around text. Markup without text between is left out.
func (w *writer) open(begin, finish string) {
	w.markers = append(w.markers, marker{begin: begin, finish: finish})
}

func (w *writer) close() {
	last := len(w.markers) - 1
	m := w.markers[last]
	w.markers = w.markers[:last]
	if m.written {
		w.put(m.finish)
		w.fresh, w.bracket = false, false
	}
}

// within writes the children of an element of which the lines have a prefix.
func (w *writer) within(n *node, p prefix) {
	if w.inline > 0 || w.width+max(len(p.first), len(p.rest)) > maxPrefix {
		w.children(n)
		return
	}
	w.prefixes = append(w.prefixes, p)
	w.width += len(p.rest)
	w.children(n)
	w.breakLine(1)
	w.prefixes = w.prefixes[:len(w.prefixes)-1]
	w.width -= len(p.rest)
}

// children writes what is in an element.
func (w *writer) children(n *node) {
	for c := n.first; c != nil && !w.done(); c = c.next {
		if c.tag == 0 {
			w.text(c.text)
			continue
		}
		w.element(c)
	}
}

// emphasis is the markup of elements.
var emphasis = map[atom.Atom]string{
	atom.B: "**", atom.Strong: "**", atom.I: "*", atom.Em: "*", atom.Cite: "*", atom.Dfn: "*", atom.Var: "*",
	atom.Del: "~~", atom.S: "~~", atom.Strike: "~~",
}

// element writes an element.
func (w *writer) element(n *node) {
	if isBlock[n.tag] {
		defer w.breakLine(2)
		w.breakLine(2)
	}
	switch n.tag {
	case atom.Br:
		w.breakLine(1)
	case atom.Hr:
		w.breakLine(2)
		if w.inline == 0 {
			w.bare(func() { w.markup("* * *") })
		}
		w.breakLine(2)
	case atom.Img:
		w.image(n)
	case atom.A:
		w.link(n)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		w.codeText(w.verbatim(n))
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext:
		w.bare(func() { w.pre(n) })
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.bare(func() { w.heading(n, int(n.tag.String()[1]-'0')) })
	case atom.Blockquote:
		w.within(n, prefix{first: "> ", rest: "> "})
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		w.list(n)
	case atom.Li: // outside of a list
		w.item(n, "- ")
	case atom.Dt:
		w.breakLine(2)
		w.children(n)
		w.breakLine(1)
	case atom.Dd:
		w.breakLine(1)
		w.within(n, prefix{first: ": ", rest: "  "})
	case atom.Table:
		w.table(n)
	case atom.Tr:
		w.breakLine(1)
		w.children(n)
		w.breakLine(1)
	case atom.Td, atom.Th:
		w.space = true
		w.children(n)
		w.space = true
	default:
		w.emphasized(n, emphasis[n.tag])
	}
}

// emphasized writes an element with markup around its text, unless it is within the same markup.
func (w *writer) emphasized(n *node, mark string) {
	if mark == "" || slices.ContainsFunc(w.markers, func(m marker) bool { return m.begin == mark }) {
		w.children(n)
		return
	}
	w.open(mark, mark)
	w.children(n)
	w.close()
}

// bare writes a block, which cannot stand within inline markup.
func (w *writer) bare(write func()) {
	if w.inline > 0 {
		write()
		return
	}
	around := w.markers
	w.markers = nil
	write()
	w.markers = around
}

func (w *writer) heading(n *node, level int) {
	if w.inline == 0 {
		w.open(strings.Repeat("#", level)+" ", "")
		defer w.close()
	}
	w.inline++
	w.children(n)
	w.inline--
}

// list writes the items of a list.
func (w *writer) list(n *node) {
	number := 1
	if n.attr != nil && n.tag == atom.Ol {
		number = n.attr.number
	}
	for c := n.first; c != nil && !w.done(); c = c.next {
		switch {
		case c.tag == atom.Li && n.tag == atom.Ol:
			if c.attr != nil {
				number = c.attr.number
			}
			w.item(c, strconv.Itoa(number)+". ")
			number++
		case c.tag == atom.Li:
			w.item(c, "- ")
		case c.tag == 0:
			w.text(c.text)
		default:
			w.element(c)
		}
	}
}

func (w *writer) item(n *node, mark string) {
	w.breakLine(1)
	w.within(n, prefix{first: mark, rest: strings.Repeat(" ", len(mark))})
	w.breakLine(1)
}

// resolve returns an address for Markdown, or "" if a model cannot follow the link.
func (w *writer) resolve(attr *attributes) string {
	if attr == nil || attr.address == "" {
		return ""
	}
	if w.links -= len(attr.address) + w.baseLen; w.links < 0 {
		return ""
	}
	u, err := w.base.Parse(attr.address)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto", "tel", "ftp":
	default:
		return "" // data, scripts, and what only browsers can open
	}
	address := u.String()
	if len(address) > maxURL {
		return ""
	}
	return inParentheses.Replace(address)
}

var inParentheses = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C", "\\", "%5C")

func (w *writer) link(n *node) {
	address := ""
	if !w.linked {
		address = w.resolve(n.attr)
	}
	if address == "" {
		w.children(n)
		return
	}
	w.linked, w.brackets = true, true
	w.inline++
	w.open("[", "]("+address+")")
	w.children(n)
	w.close()
	w.inline--
	w.linked, w.brackets = false, false
}

func (w *writer) image(n *node) {
	if n.attr == nil {
		return
	}
	address := w.resolve(n.attr)
	if address == "" {
		w.text(n.attr.alt)
		return
	}
	w.markup("![")
	outside := w.brackets
	w.brackets = true
	w.inline++
	w.text(n.attr.alt)
	w.inline--
	w.space, w.brackets = false, outside
	w.put("](" + address + ")")
	w.fresh, w.bracket = false, false
}
