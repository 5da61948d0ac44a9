// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/show"
)

// visible writes what a server says on one line, for people: at most limit bytes of it, with
// invisible characters, line breaks and characters that change the direction of text as escapes
// such as \u202e. Package show has another notation, for what surfaces show: they write previews
// and questions with it, and these escapes stay what they are when that is done.
func visible(text string, limit int) string { return escaped(text, limit, "") }

// visibleText is visible for several lines.
func visibleText(text string, limit int) string { return escaped(text, limit, "\n") }

func escaped(text string, limit int, keep string) string {
	cut := ""
	if len(text) > limit {
		text, cut = head(text, limit), "…"
	}
	if show.Plain(text) && !strings.Contains(text, "⟨") {
		return text + cut
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n' && keep == "":
			b.WriteString(`\n`)
		case r == ' ', strings.ContainsRune(keep, r), show.Visible(r) && r != '⟨':
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.String() + cut
}

// head returns the first bytes of a text, without the part of a character at the end.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// shortened returns at most limit bytes of a text for a model, with a note about the rest.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	kept := head(text, limit)
	return fmt.Sprintf("%s\n[The rest is left out: %d of %d bytes are shown.]", kept, len(kept), len(text))
}
