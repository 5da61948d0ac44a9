// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

// code renders a block of code, highlighted if its language is known. It has no indent, so that
// what a person copies from the terminal is the code. Printed code has no breaks either.
func (r *renderer) code(source, language string, width int) (lines []text.Line) {
	for _, l := range Highlight(source, language) {
		if r.printed {
			lines = append(lines, l)
		} else {
			lines = append(lines, text.Break(l, width)...)
		}
	}
	return lines
}

// Code returns the blocks of code of a text, as they are in the source.
func Code(source string) (blocks []string) {
	r := renderer{source: []byte(source)}
	root := parser.Parse(gmtext.NewReader(r.source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.(type) {
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				blocks = append(blocks, strings.TrimSuffix(r.raw(n), "\n"))
			}
		}
		return ast.WalkContinue, nil
	})
	return blocks
}

// maxHighlighted is how many bytes of a block are highlighted.
const maxHighlighted = 64 << 10

// Highlight returns the lines of code in a language, which may also be the name of a file. The
// text must be clean.
func Highlight(source, language string) []text.Line {
	source = strings.TrimSuffix(source, "\n")
	if tokens := tokenise(source, language); tokens != nil {
		return tokens
	}
	var lines []text.Line
	for l := range strings.SplitSeq(source, "\n") {
		lines = append(lines, text.Of(l, text.Style{}))
	}
	return lines
}

func tokenise(source, language string) []text.Line {
	if language == "" || len(source) > maxHighlighted {
		return nil
	}
	known := syntaxOf(language)
	if known == nil {
		return nil
	}
	lines := []text.Line{nil}
	known.colored(source, func(piece string, style text.Style) {
		for i, part := range strings.Split(piece, "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			last := &lines[len(lines)-1]
			*last = append(*last, text.Of(part, style)...)
		}
	})
	return lines
}
