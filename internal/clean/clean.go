// SPDX-License-Identifier: Apache-2.0

// Package clean prepares text of files, web pages and other programs for a model: nothing in it is hidden from the person who looks
// at the same text, and its length is bounded.
package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/show"
)

// Text returns text in which control characters, characters that change the direction of text, and
// invisible characters are written out, as in ⟨U+202E⟩. It keeps line breaks, tabs, spaces of any
// width, and the joiners that scripts and emoji need. A carriage return before a line feed is
// removed.
func Text(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 64)
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\r' && strings.HasPrefix(text[size:], "\n"):
		case hidden(r): // bytes that are not UTF-8, too
			b.WriteString(show.Line(text[:size]))
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// Line is [Text] on one line: each run of white space becomes a blank.
func Line(text string) string { return strings.Join(strings.Fields(Text(text)), " ") }

func hidden(r rune) bool {
	switch r {
	case '\n', '\t', '\u200C', '\u200D', '\uFE0E', '\uFE0F':
		return false
	}
	return !show.Visible(r) && !unicode.Is(unicode.Zs, r)
}

// Cut returns text, or as much of its beginning as fits into n bytes. It cuts after a line if that
// loses little, and never within a character.
func Cut(text string, n int) (kept string, cut bool) {
	if len(text) <= n {
		return text, false
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if line := strings.LastIndexByte(text[:n], '\n'); line >= n-n/4 {
		n = line + 1
	}
	return text[:n], true
}

// Whole returns what a cut at a byte has left of a text, without a part of a character at its end.
func Whole[T string | []byte](text T) T {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(string(last)) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// Short returns a text on one line and in at most n bytes, for names and titles.
func Short(text string, n int) string {
	head, _ := Cut(text, 4*n) // white space may go
	if kept, cut := Cut(Line(head), n); cut || len(head) < len(text) {
		kept, _ = Cut(kept, n-len("…"))
		return strings.TrimRight(kept, " ") + "…"
	} else {
		return kept
	}
}
