// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"
	"unicode/utf8"
)

// buffer keeps the last bytes of an output.
type buffer struct {
	limit int
	total int // bytes written
	kept  []byte
}

func (b *buffer) write(p []byte) {
	b.total += len(p)
	if len(p) > b.limit {
		p = p[len(p)-b.limit:]
		b.kept = b.kept[:0]
	}
	b.kept = append(b.kept, p...)
	// Half of it is moved at a time, so that each byte is moved at most once.
	if len(b.kept) > 2*b.limit {
		b.kept = b.kept[:copy(b.kept, b.kept[len(b.kept)-b.limit:])]
	}
}

// text returns the last bytes as valid text of at most limit bytes that begins at a character. What is no text is shown
// as U+FFFD. The beginning of a character that is not written yet is held back, unless the output has ended.
func (b *buffer) text(ended bool) (text string, truncated bool) {
	kept := b.kept
	if len(kept) > b.limit {
		kept = kept[len(kept)-b.limit:]
	}
	if b.total > len(kept) {
		for skip := 0; skip < utf8.UTFMax-1 && len(kept) > 0 && !utf8.RuneStart(kept[0]); skip++ {
			kept = kept[1:]
		}
	}
	if !ended {
		kept = kept[:len(kept)-partial(kept)]
	}
	text = strings.ToValidUTF8(string(kept), "\uFFFD")
	for len(text) > b.limit { // a replacement takes more than what it replaces
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return text, b.total > b.limit
}

// partial returns the length of the beginning of a character at the end of p.
func partial(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n:]; utf8.RuneStart(c[0]) {
			if utf8.FullRune(c) {
				return 0
			}
			return n
		}
	}
	return 0
}
