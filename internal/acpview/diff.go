// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/linediff"
)

const (
	// wholeDiff is how large a file may be, before and after a change together, to be shown whole,
	// in bytes.
	wholeDiff = 8 << 10
	// diffContext is how many unchanged lines are shown around a change.
	diffContext = 3
)

// Diff returns a change of a file; oldText is nil for a new one. A large file becomes one diff for
// each change, with the lines around it: a changed line of 108 kB does not send the file twice.
func Diff(path string, oldText *string, newText string) []acp.ToolCallContent {
	whole := []acp.ToolCallContent{{Diff: &acp.Diff{Path: path, OldText: oldText, NewText: newText}}}
	if oldText == nil || len(*oldText)+len(newText) <= wholeDiff || *oldText == newText {
		return whole
	}
	var parts []acp.ToolCallContent
	size := 0
	for _, h := range linediff.Hunks(*oldText, newText, diffContext) {
		before, after := sides(&h)
		size += len(before) + len(after)
		parts = append(parts, acp.ToolCallContent{Diff: &acp.Diff{Path: path, OldText: &before, NewText: after}})
	}
	if len(parts) == 0 || size >= len(*oldText)+len(newText) {
		return whole
	}
	return parts
}

// sides returns the lines of a hunk before and after.
func sides(h *linediff.Hunk) (before, after string) {
	var b, a strings.Builder
	for _, l := range h.Lines {
		text := l.Text
		if !l.NoNewline {
			text += "\n"
		}
		if l.Op != linediff.Insert {
			b.WriteString(text)
		}
		if l.Op != linediff.Delete {
			a.WriteString(text)
		}
	}
	return b.String(), a.String()
}
