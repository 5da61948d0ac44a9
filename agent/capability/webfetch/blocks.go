// SPDX-License-Identifier: Apache-2.0

package webfetch

import (
	"strings"

	"golang.org/x/net/html/atom"

	md "github.com/ponte-go/ponte/internal/markdown"
)

// verbatim returns the text of an element as it is.
func (w *writer) verbatim(n *node) string {
	var b strings.Builder
	w.collect(n, &b)
	return b.String()
}

func (w *writer) collect(n *node, b *strings.Builder) {
	for c := n.first; c != nil && !w.over(1); c = c.next {
		switch c.tag {
		case 0:
			b.WriteString(c.text)
		case atom.Br:
			b.WriteByte('\n')
		default:
			if isBlock[c.tag] && b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") { // lines of code may be blocks
				b.WriteByte('\n')
			}
			w.collect(c, b)
		}
	}
}

// codeText writes code within a line.
func (w *writer) codeText(text string) {
	if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") {
		w.space = true
	}
	inside := strings.Join(strings.Fields(text), " ")
	if inside == "" {
		return
	}
	if w.cells > 0 {
		inside = strings.ReplaceAll(inside, "|", `\|`)
	}
	around := md.Fence(inside, 1)
	if inside[0] == '`' || inside[len(inside)-1] == '`' {
		inside = " " + inside + " "
	}
	w.markup(around + inside + around)
}

// pre writes a block of code.
func (w *writer) pre(n *node) {
	text := strings.ReplaceAll(strings.ReplaceAll(w.verbatim(n), "\r\n", "\n"), "\r", "\n")
	if w.inline > 0 {
		w.codeText(text)
		return
	}
	text = strings.TrimRight(strings.TrimPrefix(text, "\n"), " \t\n")
	if text == "" {
		return
	}
	around := md.Fence(text, 3)
	w.markup(around + language(n))
	for line := range strings.SplitSeq(text, "\n") {
		if w.done() {
			break
		}
		w.put("\n")
		w.put(w.indent(true))
		w.put(line)
	}
	w.put("\n")
	w.put(w.indent(true))
	w.put(around)
}

// language returns the language that the class of a block of code, or of the code in it, says.
func language(n *node) string {
	for _, n := range []*node{n, n.first} {
		if n == nil || n.attr == nil {
			continue
		}
		for class := range strings.FieldsSeq(n.attr.class) {
			for _, before := range []string{"language-", "lang-"} {
				if name, ok := strings.CutPrefix(class, before); ok && len(name) <= 30 && !strings.ContainsFunc(name, notInLanguage) {
					return name
				}
			}
		}
	}
	return ""
}

func notInLanguage(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("+#-_.", r)
}

// table writes a table. One that is there for the layout becomes its text.
func (w *writer) table(n *node) {
	rows, caption := rowsOf(n)
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(cellsOf(row)))
	}
	if n.layout || columns < 2 || w.inline > 0 {
		w.children(n)
		return
	}
	if caption != nil {
		w.children(caption)
		w.breakLine(2)
	}
	w.bare(func() {
		w.inline++
		w.cells++
		for i, row := range rows {
			if w.done() {
				break
			}
			columns := w.row(row)
			if i == 0 {
				w.newLine("|" + strings.Repeat("---|", columns))
			}
		}
		w.cells--
		w.inline--
	})
}

// newLine begins a line of a table.
func (w *writer) newLine(text string) {
	w.lines, w.space = max(w.lines, 1), false
	w.markup(text)
}

// row writes a row and returns the number of its columns.
func (w *writer) row(n *node) (columns int) {
	w.newLine("|")
	for _, cell := range cellsOf(n) {
		w.space = true
		w.children(cell)
		w.put(" |")
		columns++
		if cell.attr == nil {
			continue
		}
		for range min(cell.attr.number, maxColumns) - 1 {
			w.put(" |")
			columns++
		}
	}
	return columns
}

// rowsOf returns the rows of a table, and its caption.
func rowsOf(n *node) (rows []*node, caption *node) {
	for c := n.first; c != nil; c = c.next {
		switch c.tag {
		case atom.Tr:
			if len(cellsOf(c)) > 0 {
				rows = append(rows, c)
			}
		case atom.Thead, atom.Tbody, atom.Tfoot:
			inside, _ := rowsOf(c)
			rows = append(rows, inside...)
		case atom.Caption:
			caption = c
		}
	}
	return rows, caption
}

func cellsOf(row *node) (cells []*node) {
	for c := row.first; c != nil; c = c.next {
		if c.tag == atom.Td || c.tag == atom.Th {
			cells = append(cells, c)
		}
	}
	return cells
}
