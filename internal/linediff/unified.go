// SPDX-License-Identifier: Apache-2.0

package linediff

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unified writes a unified diff with three lines around each change, as git does. The names are paths with slashes; an empty name stands
// for a file that does not exist. Equal texts of a file that exists on both sides give an empty string.
func Unified(oldName, newName, before, after string) string {
	hunks := Hunks(before, after, 3)
	if len(hunks) == 0 && oldName != "" && newName != "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", fileName("a/", oldName), fileName("b/", newName))
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", lineRange(h.OldStart, h.OldLines), lineRange(h.NewStart, h.NewLines))
		for _, l := range h.Lines {
			b.WriteByte(byte(l.Op))
			b.WriteString(l.Text)
			b.WriteByte('\n')
			if l.NoNewline {
				b.WriteString("\\ No newline at end of file\n")
			}
		}
	}
	return b.String()
}

func lineRange(start, lines int) string {
	if lines == 1 {
		return strconv.Itoa(start)
	}
	return fmt.Sprintf("%d,%d", start, lines)
}

// fileName quotes names that contain invisible characters or would break the line. Git and patch read this form.
func fileName(prefix, name string) string {
	if name == "" {
		return "/dev/null"
	}
	name = prefix + strings.TrimPrefix(name, "/")
	var b strings.Builder
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r == ' ' || unicode.IsPrint(r) && (r != utf8.RuneError || size > 1):
			b.WriteRune(r)
		default:
			for _, c := range []byte(name[:size]) {
				fmt.Fprintf(&b, "\\%03o", c)
			}
		}
		name = name[size:]
	}
	switch quoted := b.String(); {
	case strings.Contains(quoted, "\\"):
		return `"` + quoted + `"`
	case strings.Contains(quoted, " "):
		return quoted + "\t" // a tab ends the name for patch
	default:
		return quoted
	}
}
