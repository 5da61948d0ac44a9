// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"github.com/ponte-go/ponte/examples/ideagent/internal/term/text"
)

// code renders a block of code, indented, and highlighted if its language is known.
func code(source, language string, width int) (lines []text.Line) {
	indent := text.Of("  ", text.Style{})
	for _, l := range Highlight(source, language) {
		lines = append(lines, text.Indent(text.Break(l, width-2), indent, indent)...)
	}
	return lines
}

// maxHighlighted is how many bytes of a block are highlighted; lexers take a while.
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
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Match(language)
	}
	if lexer == nil {
		return nil
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, source)
	if err != nil {
		return nil
	}
	lines := []text.Line{nil}
	var whole strings.Builder
	for t := tokens(); t != chroma.EOF; t = tokens() {
		whole.WriteString(t.Value)
		style := styleOf(t.Type)
		for i, part := range strings.Split(t.Value, "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			last := &lines[len(lines)-1]
			*last = append(*last, text.Of(part, style)...)
		}
	}
	if whole.String() != source && whole.String() != source+"\n" {
		return nil // a lexer that loses text is of no use
	}
	if n := len(lines) - 1; n > 0 && lines[n] == nil && strings.HasSuffix(whole.String(), "\n") && !strings.HasSuffix(source, "\n") {
		lines = lines[:n]
	}
	return lines
}

func styleOf(t chroma.TokenType) text.Style {
	switch {
	case t.InCategory(chroma.Comment):
		return text.Style{Color: text.Gray, Italic: true}
	case t.InCategory(chroma.Keyword):
		return text.Style{Color: text.Magenta}
	case t.InSubCategory(chroma.LiteralString):
		return text.Style{Color: text.Green}
	case t.InSubCategory(chroma.LiteralNumber):
		return text.Style{Color: text.Cyan}
	case t == chroma.NameFunction, t == chroma.NameClass, t == chroma.NameBuiltin, t == chroma.NameTag:
		return text.Style{Color: text.Blue}
	case t == chroma.GenericDeleted:
		return text.Style{Color: text.Red}
	case t == chroma.GenericInserted:
		return text.Style{Color: text.Green}
	}
	return text.Style{}
}
