// SPDX-License-Identifier: Apache-2.0

package schema

import "fmt"

// The methods in this file read JSON text token by token. Each returns false if the text is invalid
// at that point. The walker has then recorded the problem, and the walk ends.

func (w *walker) skipSpace() {
	for w.pos < len(w.data) {
		switch w.data[w.pos] {
		case ' ', '\t', '\r', '\n':
			w.pos++
		default:
			return
		}
	}
}

// next returns the next byte that is not space, without consuming it. It returns 0 at the end.
func (w *walker) next() byte {
	w.skipSpace()
	if w.pos == len(w.data) {
		return 0
	}
	return w.data[w.pos]
}

// broken records why the text cannot be read further. It replaces the problems found before.
func (w *walker) broken(want string) bool {
	p := Problem{Path: w.where()}
	if w.pos >= len(w.data) {
		p.Rule = RuleIncomplete
		p.Message = "unexpected end of JSON: expected " + want
		p.Value = shortenTail(w.data)
	} else {
		p.Rule = RuleSyntax
		p.Message = fmt.Sprintf("invalid JSON at byte %d: expected %s", w.pos, want)
		p.Value = shorten(w.data[w.pos:])
	}
	w.problems, w.more = append(w.problems[:0], p), false
	w.broke = true
	return false
}

// word consumes a literal: true, false or null.
func (w *walker) word(word string) bool {
	for i := range len(word) {
		if w.pos == len(w.data) || w.data[w.pos] != word[i] {
			return w.broken(word)
		}
		w.pos++
	}
	return true
}

// number consumes a number and reports whether it is written as an integer.
func (w *walker) number() (integer, ok bool) {
	if w.data[w.pos] == '-' {
		w.pos++
	}
	if w.pos < len(w.data) && w.data[w.pos] == '0' {
		w.pos++
	} else if !w.digits() {
		return false, false
	}
	integer = true
	if w.pos < len(w.data) && w.data[w.pos] == '.' {
		w.pos++
		integer = false
		if !w.digits() {
			return false, false
		}
	}
	if w.pos < len(w.data) && w.data[w.pos]|0x20 == 'e' {
		w.pos++
		integer = false
		if w.pos < len(w.data) && (w.data[w.pos] == '+' || w.data[w.pos] == '-') {
			w.pos++
		}
		if !w.digits() {
			return false, false
		}
	}
	return integer, true
}

func (w *walker) digits() bool {
	start := w.pos
	for w.pos < len(w.data) && w.data[w.pos]-'0' <= 9 {
		w.pos++
	}
	if w.pos == start {
		return w.broken("a digit")
	}
	return true
}

// text consumes a string. It returns the text between its quotes, and whether it has escapes.
func (w *walker) text() (inner []byte, escaped, ok bool) {
	w.pos++
	start := w.pos
	for w.pos < len(w.data) {
		switch c := w.data[w.pos]; {
		case c == '"':
			inner = w.data[start:w.pos]
			w.pos++
			return inner, escaped, true
		case c == '\\':
			escaped = true
			if !w.escape() {
				return nil, false, false
			}
		case c < ' ':
			return nil, false, w.broken("an escape such as \\n instead of a control character")
		default:
			w.pos++
		}
	}
	return nil, false, w.broken("the rest of a string")
}

func (w *walker) escape() bool {
	w.pos++
	if w.pos == len(w.data) {
		return w.broken("the rest of an escape")
	}
	switch w.data[w.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		w.pos++
		return true
	case 'u':
		w.pos++
		for range 4 {
			if w.pos == len(w.data) || !isHex(w.data[w.pos]) {
				return w.broken("four hexadecimal digits")
			}
			w.pos++
		}
		return true
	}
	return w.broken("a valid JSON escape")
}

func isHex(c byte) bool {
	return c-'0' <= 9 || c|0x20-'a' <= 5
}
