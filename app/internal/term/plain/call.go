// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/internal/linediff"
	"github.com/ponte-go/ponte/internal/show"
)

// call is the shown state of a tool call.
type call struct {
	begun, over bool // its first line, and its last one, have been shown
	diffs       []view.FileChange
}

// call shows what is new about a tool call: its changes of files as they are told, and a line when
// it has ended.
func (p *Printer) call(e *view.Entity) {
	c := p.calls[e.ID]
	if c == nil {
		c = &call{}
		p.calls[e.ID] = c
	}
	if c.over {
		return
	}
	for i := range e.Content {
		if d := e.Content[i].Diff; d != nil && !slices.ContainsFunc(c.diffs, func(b view.FileChange) bool { return render.SameChange(&b, d) }) {
			c.diffs = append(c.diffs, *d)
			p.beginCall(c, e)
			p.diff(d)
		}
	}
	if !e.Status.Ended() {
		return
	}
	p.callLine(c, e)
	c.over, c.diffs = true, nil
	if e.Status == view.Failed {
		const most = 5
		lines := strings.Split(strings.TrimSpace(text.Clean(e.Text())), "\n")
		for _, l := range lines[:min(len(lines), most)] {
			if l != "" {
				p.lines(styleRed, "    "+l)
			}
		}
	}
}

// beginCall makes sure that the line of the call is above what is shown next.
func (p *Printer) beginCall(c *call, e *view.Entity) {
	if !c.begun {
		p.callLine(c, e)
	}
}

// callLine writes the line of a call. Titles are never cut: they may be what a person agrees to.
func (p *Printer) callLine(c *call, e *view.Entity) {
	c.begun = true
	mark, style, state := "○", styleDim, " (pending)"
	switch e.Status {
	case view.Running:
		mark, style, state = "◌", styleCyan, " (in progress)"
	case view.Completed:
		mark, style, state = "✓", styleGreen, ""
	case view.Failed:
		mark, style, state = "✗", styleRed, " (failed)"
	case view.Cancelled:
		mark, style, state = "✗", styleRed, " (cancelled)"
	}
	p.begin(blockLine)
	p.out.WriteString(p.style(style, mark) + " " + show.Received(e.Title) + p.style(styleDim, state) + "\n")
	p.blank = false
}

// diff shows a whole change of a file.
func (p *Printer) diff(d *view.FileChange) {
	old, name := "", show.Line(p.relative(d.Path))
	if d.Old != nil {
		old = *d.Old
	} else {
		name += " (new)"
	}
	hunks := linediff.Hunks(old, d.New, 3)
	inserted, deleted := linediff.Count(hunks)
	p.lines(styleBold, fmt.Sprintf("    %s  +%d -%d", name, inserted, deleted))
	for _, h := range hunks {
		p.lines(styleCyan, fmt.Sprintf("    @@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines))
		for _, l := range h.Lines {
			style := styleNone
			switch l.Op {
			case linediff.Insert:
				style = styleGreen
			case linediff.Delete:
				style = styleRed
			}
			p.lines(style, "    "+string(l.Op)+show.Text(l.Text))
			if l.NoNewline {
				p.lines(styleDim, `    \ no line break at the end`)
			}
		}
	}
}
