// SPDX-License-Identifier: Apache-2.0

// Package text prepares text for a terminal: it makes text harmless, measures it in columns, and
// breaks it into styled lines.
//
// Text of agents, models, files and commands is data. Nothing that it contains reaches the terminal
// as a control sequence.
package text

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/ponte-go/ponte/internal/show"
)

// escape matches the control sequences of terminals, in the form with ESC.
var escape = regexp.MustCompile("\x1b(\\[[0-9;:?<=>]*[ -/]*[@-~]|\\][^\x07\x1b\n]*(\x07|\x1b\\\\)|[PX^_][^\x1b\n]*\x1b\\\\|[@-Z\\\\^_])")

// Clean makes text that people only read harmless: what agents say, and what commands print.
// Control sequences of terminals, such as colours, are removed. Other control characters, and those
// that change the direction of text, are written out as in ⟨U+202E⟩. Line breaks, tabs, and the
// invisible characters that emoji are made with are kept.
//
// Text that a person decides about is written by package show instead, which hides nothing.
func Clean(s string) string {
	if !strings.ContainsFunc(s, harmful) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.ReplaceAll(escape.ReplaceAllString(s, ""), "\r\n", "\n")
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if harmful(r) {
			b.WriteString(show.Line(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func harmful(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c: // direction of writing
		return true
	case r == 0x2028 || r == 0x2029: // some terminals break lines here
		return true
	case r >= 0xe0000 && r <= 0xe007f: // tags: a hidden alphabet
		return true
	}
	return unicode.IsControl(r)
}

// OneLine is [Clean] for a title: white space, line breaks included, becomes single spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Output makes a line of a command's output harmless. Of a line that is written over and over, as
// progress bars are, the last version is left.
func Output(line string) string {
	line = strings.TrimRight(line, "\r")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	return Clean(line)
}
