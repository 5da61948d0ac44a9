// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

// code renders a block of code, indented, and highlighted if its language is known.
func code(source, language string, width int) (lines []text.Line) {
	indent := text.Of("  ", text.Style{})
	for _, l := range Highlight(source, language) {
		lines = append(lines, text.Indent(text.Break(l, width-2), indent, indent)...)
	}
	return lines
}

// maxHighlighted is how many bytes of a block are highlighted.
const maxHighlighted = 64 << 10

// Highlight returns the lines of code in a language, which may also be the name of a file. The text must be clean.
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
