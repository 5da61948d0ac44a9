// SPDX-License-Identifier: Apache-2.0

// Package show writes text in full for people: characters that are invisible, that move the cursor,
// or that change the direction of text are written out.
package show

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible reports whether a character shows itself, and nothing but itself: no control and no format character, no space, no
// private or unassigned one, none of those that fonts leave blank.
func Visible(r rune) bool {
	switch r {
	case '\u00AD', '\u034F', '\u115F', '\u1160', '\u17B4', '\u17B5', '\u2800', '\u3164', '\uFFA0', '\uFFFD':
		return false // soft hyphen, fillers, blank braille, and what stands for broken text
	}
	if unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
		return false
	}
	return unicode.IsGraphic(r) && !unicode.IsSpace(r)
}

// Plain reports whether people see a text as it is: valid UTF-8 of visible characters and U+0020.
func Plain(text string) bool {
	for i, r := range text {
		if r != ' ' && !Visible(r) || r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return false
		}
	}
	return true
}

// names are short names of characters.
var names = map[rune]string{0: "NUL", 7: "BEL", 8: "BS", '\t': "TAB", '\n': "LF", '\r': "CR", 0x1b: "ESC", 0x7f: "DEL", 0xfeff: "BOM"}

// Line writes a text on one line. Characters that are not visible are written out, as in ⟨LF⟩ and
// ⟨U+202E⟩, bytes that are not UTF-8 as in ⟨0xFF⟩. An opening angle ⟨ is written out too, because
// other text must not look like an escape.
func Line(text string) string { return write(text, "") }

// Received is [Line] for text of another program, which may have used this package already: it
// keeps opening angles, to write nothing out twice.
func Received(text string) string { return write(text, "⟨") }

// ReceivedText is [Received] for text of several lines: it keeps line breaks and tabs.
func ReceivedText(text string) string { return write(text, "\n\t⟨") }

// Text is [Line] for text of several lines: it keeps line breaks and tabs.
func Text(text string) string { return write(text, "\n\t") }

func write(text, keep string) string {
	if Plain(text) && (!strings.Contains(text, "⟨") || strings.Contains(keep, "⟨")) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch name, named := names[r]; {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨0x%02X⟩", text[0])
		case r == ' ', strings.ContainsRune(keep, r), Visible(r) && r != '⟨':
			b.WriteRune(r)
		case named:
			b.WriteString("⟨" + name + "⟩")
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
		text = text[size:]
	}
	return b.String()
}

// Lines writes a text of several lines, each after the prefix. All but the last one end with ⟨LF⟩:
// where a text has a line break, no reader overlooks it.
func Lines(prefix, text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = prefix + Line(l)
		if i < len(lines)-1 {
			lines[i] += "⟨LF⟩"
		}
	}
	return strings.Join(lines, "\n")
}

// Command writes arguments as a line for a POSIX shell, which runs the first one as a program.
func Command(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = Word(a)
	}
	if len(args) > 0 && words[0] == args[0] && strings.Contains(args[0], "=") { // and not as an assignment
		words[0] = "'" + words[0] + "'"
	}
	return strings.Join(words, " ")
}

// Word quotes a word for a POSIX shell, where it needs quotes.
func Word(word string) string {
	if word != "" && !strings.ContainsAny(word, "|&;<>()$`\\\"'*?[]{}~#! \t\n\r") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
