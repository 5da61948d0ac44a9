// SPDX-License-Identifier: Apache-2.0

package instructions

import (
	"strings"
)

// imports returns what a text imports, in order: the words after an @ at the beginning of a line
// or after white space. Code blocks and code spans do not count.
func imports(text string) []string {
	var all []string
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimLeft(line, " ")
		if mark := fenceOf(trimmed); mark != "" && len(line)-len(trimmed) < 4 {
			switch {
			case fence == "":
				fence = mark
			case strings.HasPrefix(mark, fence) && strings.TrimSpace(trimmed[len(mark):]) == "":
				fence = ""
			}
		}
		if fence == "" && strings.IndexByte(line, '@') >= 0 {
			all = append(all, importsOfLine(withoutSpans(line))...)
		}
	}
	return all
}

// fenceOf returns the three or more backticks or tildes that a line begins with.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// withoutSpans removes the code spans of a line. A run of backticks that is not closed is text.
func withoutSpans(line string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(line, '`')
		if open < 0 {
			b.WriteString(line)
			return b.String()
		}
		rest := strings.TrimLeft(line[open:], "`")
		mark := line[open : len(line)-len(rest)]
		end := closing(rest, len(mark))
		b.WriteString(line[:open])
		if end < 0 {
			b.WriteString(mark)
			line = rest
			continue
		}
		b.WriteByte('`') // no white space: what follows is not at a beginning
		line = rest[end:]
	}
}

// closing returns the position after the code span that begins with n backticks, or -1.
func closing(text string, n int) int {
	for i := 0; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		start := i
		for i < len(text) && text[i] == '`' {
			i++
		}
		if i-start == n {
			return i
		}
	}
	return -1
}

func importsOfLine(line string) []string {
	var all []string
	for word := range strings.FieldsSeq(line) {
		name, ok := strings.CutPrefix(word, "@")
		if !ok || strings.Contains(name, "://") || strings.HasPrefix(name, "file:") || strings.HasPrefix(name, "~") {
			continue
		}
		if name = strings.TrimRight(name, ".,;:!?)]}'\"*_"); name != "" {
			all = append(all, name)
		}
	}
	return all
}
