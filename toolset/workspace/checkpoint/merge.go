// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"strings"

	"github.com/ponte-go/ponte/internal/linediff"
)

const byteOrderMark = "\ufeff"

// mergeText applies the changes from base to theirs to ours, line by line. Line endings and the
// byte order mark are merged on their own if each text has one kind of line ending: converting all
// line endings of a file does not change its lines.
func mergeText(base, ours, theirs string) (string, []Conflict) {
	texts := [3]string{base, ours, theirs}
	var marks [3]bool
	var ends [3]string
	for i, t := range texts {
		texts[i], marks[i] = strings.CutPrefix(t, byteOrderMark)
		ends[i] = lineEnding(t)
	}
	uniform := ends[0] != mixed && ends[1] != mixed && ends[2] != mixed
	if uniform {
		for i := range texts {
			texts[i] = strings.ReplaceAll(texts[i], "\r\n", "\n")
		}
	}
	merged, found := linediff.Merge(texts[0], texts[1], texts[2])
	if len(found) > 0 {
		conflicts := make([]Conflict, len(found))
		for i, c := range found {
			conflicts[i] = Conflict{Line: c.Line, Lines: c.Lines, Current: c.Ours, Changed: c.Base, Before: c.Theirs}
		}
		return "", conflicts
	}
	if uniform && pick(ends) == "\r\n" {
		merged = strings.ReplaceAll(merged, "\n", "\r\n")
	}
	if pick(marks) {
		merged = byteOrderMark + merged
	}
	return merged, nil
}

// mixed marks a text with both kinds of line endings.
const mixed = "mixed"

// lineEnding returns "\n", "\r\n" or mixed, and an empty string for a text of one line.
func lineEnding(text string) string {
	all, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n")
	switch {
	case all == 0:
		return ""
	case crlf == 0:
		return "\n"
	case crlf == all:
		return "\r\n"
	}
	return mixed
}

// pick merges a property of the three texts: ours, unless only theirs has changed it.
func pick[T comparable](v [3]T) T {
	base, ours, theirs := v[0], v[1], v[2]
	if ours == base {
		return theirs
	}
	return ours
}
