// SPDX-License-Identifier: Apache-2.0

// Package markdown makes lines for a terminal of Markdown.
package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	gmtext "github.com/yuin/goldmark/text"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

var parser = goldmark.New(goldmark.WithExtensions(
	extension.Table, extension.Strikethrough, extension.TaskList,
)).Parser()

// Render returns the lines of a text, none of them wider than width if that is at least 20. The
// text must be clean, see [text.Clean].
func Render(source string, width int) []text.Line {
	r := renderer{source: []byte(source)}
	return r.blocks(parser.Parse(gmtext.NewReader(r.source)), max(width, 8), false)
}

// Printed is [Render] for a terminal that scrolls and wraps by itself: lines of code are not
// broken.
func Printed(source string, width int) []text.Line {
	r := renderer{source: []byte(source), printed: true}
	return r.blocks(parser.Parse(gmtext.NewReader(r.source)), max(width, 8), false)
}

type renderer struct {
	source  []byte
	printed bool
}

// blocks renders the children of a node, with blank lines between them unless they are tight.
func (r *renderer) blocks(parent ast.Node, width int, tight bool) (lines []text.Line) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		one := r.block(n, width)
		if len(lines) > 0 && len(one) > 0 && !tight {
			lines = append(lines, nil)
		}
		lines = append(lines, one...)
	}
	return lines
}

func (r *renderer) block(n ast.Node, width int) []text.Line {
	switch n := n.(type) {
	case *ast.Heading:
		return r.paragraph(n, width, text.Style{Bold: true, Underline: n.Level == 1, Color: text.Cyan})
	case *ast.Paragraph, *ast.TextBlock:
		return r.paragraph(n, width, text.Style{})
	case *ast.Blockquote:
		bar := text.Of("│ ", text.Style{Color: text.Gray})
		return text.Indent(r.blocks(n, width-2, false), bar, bar)
	case *ast.FencedCodeBlock:
		return r.code(r.raw(n), string(n.Language(r.source)), width)
	case *ast.CodeBlock:
		return r.code(r.raw(n), "", width)
	case *ast.List:
		return r.list(n, width)
	case *ast.ThematicBreak:
		return []text.Line{text.Of(strings.Repeat("─", min(width, 40)), text.Style{Color: text.Gray})}
	case *ast.HTMLBlock:
		return plainLines(r.raw(n), width)
	case *east.Table:
		return r.table(n, width)
	}
	return r.blocks(n, width, false)
}

// raw returns the lines of a block as they are in the source.
func (r *renderer) raw(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		b.Write(at.Value(r.source))
	}
	if h, ok := n.(*ast.HTMLBlock); ok && h.HasClosure() {
		b.Write(h.ClosureLine.Value(r.source))
	}
	return b.String()
}

func plainLines(source string, width int) (lines []text.Line) {
	for line := range strings.SplitSeq(strings.TrimSuffix(source, "\n"), "\n") {
		lines = append(lines, text.Break(text.Of(line, text.Style{}), width)...)
	}
	return lines
}

func (r *renderer) list(n *ast.List, width int) (lines []text.Line) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		indent := len([]rune(mark))
		one := r.blocks(item, width-indent, n.IsTight)
		if len(one) == 0 {
			one = []text.Line{nil}
		}
		if len(lines) > 0 && !n.IsTight {
			lines = append(lines, nil)
		}
		lines = append(lines, text.Indent(one, text.Of(mark, text.Style{Color: text.Gray}), text.Of(
			strings.Repeat(" ", indent), text.Style{},
		))...)
	}
	return lines
}

// paragraph renders the inline content of a block.
func (r *renderer) paragraph(n ast.Node, width int, style text.Style) (lines []text.Line) {
	in := inline{source: r.source, lines: []text.Line{nil}}
	in.children(n, style)
	for _, l := range in.lines {
		lines = append(lines, text.Wrap(l, width)...)
	}
	return lines
}

// table renders a table with columns if it fits, and otherwise each cell on a separate line.
func (r *renderer) table(n *east.Table, width int) (lines []text.Line) {
	var rows [][]text.Line
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		style := text.Style{}
		if _, head := row.(*east.TableHeader); head {
			style.Bold = true
		}
		var cells []text.Line
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			in := inline{source: r.source, lines: []text.Line{nil}}
			in.children(cell, style)
			var one text.Line
			for _, l := range in.lines {
				one = append(one, l...)
			}
			if cells = append(cells, one); len(cells) > len(widths) {
				widths = append(widths, 0)
			}
			widths[len(cells)-1] = max(widths[len(cells)-1], one.Width())
		}
		rows = append(rows, cells)
	}
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	bar := text.Span{Text: " │ ", Style: text.Style{Color: text.Gray}}
	for i, cells := range rows {
		if total > width {
			if i > 0 {
				lines = append(lines, nil)
			}
			for _, c := range cells {
				lines = append(lines, text.Wrap(c, width)...)
			}
			continue
		}
		var line text.Line
		for j, c := range cells {
			if j > 0 {
				line = append(line, bar)
			}
			line = append(line, c...)
			if pad := widths[j] - c.Width(); pad > 0 && j < len(cells)-1 {
				line = append(line, text.Span{Text: strings.Repeat(" ", pad)})
			}
		}
		if lines = append(lines, line); i == 0 {
			lines = append(lines, text.Of(strings.Repeat("─", total), bar.Style))
		}
	}
	return lines
}
