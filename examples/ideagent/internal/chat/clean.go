// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"regexp"
	"strings"
	"unicode"
)

// escape matches the control sequences of terminals.
var escape = regexp.MustCompile("\x1b(\\[[0-9;:?<=>]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\^_]|)")

// clean takes out of a text what would control the terminal that it is shown on, rather than be seen: an agent, or a file
// that it reads, must not move the cursor, set the title, or turn letters around.
func clean(text string) string {
	if !strings.ContainsFunc(text, controls) {
		return text
	}
	text = escape.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if controls(r) {
			return -1
		}
		return r
	}, text)
}

func controls(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // direction of writing
		return true
	}
	return unicode.IsControl(r)
}

// oneLine returns a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }

// shorten cuts a text to a number of characters.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
