// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/linediff"
)

// maxDiffLines is how many lines of a diff are shown.
const maxDiffLines = 60

// showDiff shows what a call changes, under its line.
func (s *screen) showDiff(c *callView, d *acp.Diff) {
	if c.sameDiff(d) {
		return
	}
	c.diffs = append(c.diffs, *d)
	s.beginCall(c)
	old, name := "", clean(s.relative(d.Path))
	if d.OldText != nil {
		old = *d.OldText
	} else {
		name += " (new)"
	}
	hunks := linediff.Hunks(old, d.NewText, 3)
	inserted, deleted := linediff.Count(hunks)
	s.lines(styleBold, fmt.Sprintf("    %s  +%d -%d", name, inserted, deleted))
	shown, total := 0, 0
	for _, h := range hunks {
		total += len(h.Lines)
	}
	for _, h := range hunks {
		if shown >= maxDiffLines {
			break
		}
		s.lines(styleCyan, fmt.Sprintf("    @@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines))
		for _, l := range h.Lines {
			if shown >= maxDiffLines {
				break
			}
			shown++
			style := styleNone
			switch l.Op {
			case linediff.Insert:
				style = styleGreen
			case linediff.Delete:
				style = styleRed
			}
			s.lines(style, "    "+string(l.Op)+shorten(clean(l.Text), 200))
			if l.NoNewline {
				s.lines(styleDim, "    \\ no line break at the end")
			}
		}
	}
	if total > shown {
		s.lines(styleDim, fmt.Sprintf("    … %d more lines", total-shown))
	}
}
