// SPDX-License-Identifier: Apache-2.0

package webfetch

import "strings"

// text writes text: white space becomes a blank, and what would be markup is escaped.
func (w *writer) text(text string) {
	for len(text) > 0 && !w.done() {
		n := strings.IndexAny(text, " \t\r\n\f")
		switch {
		case n == 0:
			w.space = true
			text = text[1:]
			continue
		case n < 0:
			n = len(text)
		}
		w.begin()
		w.word(text[:n], n < len(text))
		text = text[n:]
	}
}

// word writes text without white space. more reports that white space follows.
func (w *writer) word(word string, more bool) {
	at := 0
	if w.fresh {
		at = escapeStart(word)
		w.put(word[:at])
		if at < len(word) && needsEscapeAtStart(word, at) {
			w.put(`\`)
			w.put(word[at : at+1])
			at++
		}
	}
	w.fresh = false
	plain := at
	for i := at; i < len(word); i++ {
		escape := w.mustEscape(word, i, more)
		if escape {
			w.put(word[plain:i])
			w.put(`\`)
			plain = i
		}
		w.bracket = word[i] == ']' && !escape
	}
	w.put(word[plain:])
	w.steps += len(word) / 16
}

// mustEscape reports whether the byte at i would be markup. It looks at a few bytes around it only.
func (w *writer) mustEscape(word string, i int, more bool) bool {
	before, after := byte(' '), byte(' ')
	if i > 0 {
		before = word[i-1]
	} else if n := len(w.out); n > 0 {
		before = w.out[n-1]
	}
	if i+1 < len(word) {
		after = word[i+1]
	} else if !more {
		after = '?' // unknown: something may follow directly
	}
	switch c := word[i]; c {
	case '`':
		return true
	case '*':
		return before != ' ' && before != '\n' || after != ' '
	case '_':
		return !(isWord(before) && isWord(after)) && !(before == ' ' && after == ' ')
	case '~':
		return after == '~' || before == '~' || after == '?'
	case '|':
		return w.cells > 0
	case '\\':
		return !isWord(after) && after != ' '
	case '<':
		return after == '/' || after == '!' || after == '?' || isWord(after)
	case '[', ']':
		return w.brackets || c == '[' && w.bracket
	case '(', ':':
		return w.bracket
	case '&':
		return isEntity(word[i+1:])
	}
	return false
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// isEntity reports whether text after an ampersand would be a character reference.
func isEntity(text string) bool {
	text = text[:min(len(text), 34)]
	n := strings.IndexByte(text, ';')
	return n > 0 && !strings.ContainsFunc(text[:n], func(r rune) bool { return r != '#' && (r >= 0x80 || !isWord(byte(r))) })
}

// escapeStart returns where the byte is that would make a line of the word a list: behind the digits of a number.
func escapeStart(word string) int {
	n := 0
	for n < len(word) && n < 10 && word[n] >= '0' && word[n] <= '9' {
		n++
	}
	return n
}

// needsEscapeAtStart reports whether the byte at i would be markup at the beginning of a line.
func needsEscapeAtStart(word string, i int) bool {
	rest := word[i+1:]
	switch c := word[i]; c {
	case '.', ')':
		return i > 0 && rest == ""
	case '>':
		return i == 0
	case '*':
		return i == 0 && rest == ""
	case '#':
		return i == 0 && strings.Trim(rest, "#") == "" && len(rest) < 6
	case '-', '+', '=':
		return i == 0 && strings.Trim(rest[:min(len(rest), 100)], string(c)) == ""
	}
	return false
}
