// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"html"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

// inline collects the spans of a paragraph; a hard break begins a new line.
type inline struct {
	source []byte
	lines  []text.Line
}

func (in *inline) add(s string, style text.Style) {
	if s == "" {
		return
	}
	last := &in.lines[len(in.lines)-1]
	// Entities such as &#27; become characters only now.
	*last = append(*last, text.Of(text.Clean(s), style)...)
}

func (in *inline) children(n ast.Node, style text.Style) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		in.node(c, style)
	}
}

func (in *inline) node(n ast.Node, style text.Style) {
	switch n := n.(type) {
	case *ast.Text:
		in.add(in.unescaped(n.Value(in.source), n.IsRaw()), style)
		switch {
		case n.HardLineBreak():
			in.lines = append(in.lines, nil)
		case n.SoftLineBreak():
			in.add(" ", style)
		}
	case *ast.String:
		in.add(in.unescaped(n.Value, n.IsRaw() || n.IsCode()), style)
	case *ast.CodeSpan:
		style.Color = text.Yellow
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				in.add(spaces(string(t.Value(in.source))), style)
			}
		}
	case *ast.Emphasis:
		if n.Level >= 2 {
			style.Bold = true
		} else {
			style.Italic = true
		}
		in.children(n, style)
	case *east.Strikethrough:
		style.Strikethrough = true
		in.children(n, style)
	case *ast.Link:
		in.link(n, string(n.Destination), style)
	case *ast.Image:
		in.add("[image: ", style)
		in.link(n, string(n.Destination), style)
		in.add("]", style)
	case *ast.AutoLink:
		style.Underline = true
		in.add(string(n.URL(in.source)), style)
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			in.add(spaces(string(at.Value(in.source))), style)
		}
	case *east.TaskCheckBox:
		mark := "☐ "
		if n.IsChecked {
			mark = "☑ "
		}
		in.add(mark, style)
	default:
		in.children(n, style)
	}
}

// link shows the destination of a link, unless its text already does.
func (in *inline) link(n ast.Node, destination string, style text.Style) {
	before := len(in.lines[len(in.lines)-1])
	linked := style
	linked.Underline = true
	in.children(n, linked)
	if shown := in.lines[len(in.lines)-1]; before > len(shown) || shown[before:].Plain() != destination {
		style.Color = text.Gray
		in.add(" ("+destination+")", style)
	}
}

// unescaped replaces backslash escapes and entities.
func (in *inline) unescaped(value []byte, raw bool) string {
	if raw {
		return string(value)
	}
	return html.UnescapeString(string(util.UnescapePunctuations(value)))
}

// spaces replaces line breaks by spaces.
func spaces(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c == '\n' {
			b[i] = ' '
		}
	}
	return string(b)
}
