// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/internal/show"
)

// These limits apply to the output of a command: its first lines are shown as they come, and its
// last ones at the end.
const (
	headLines = 20
	tailLines = 10
)

// output is the shown output of a command.
type output struct {
	read  int // bytes of its output that were looked at
	total int // lines
	tail  []string
	rest  string // a line without its end
	over  bool
}

// command shows a command: its line before anything of its output, its output, and how it ended.
func (p *Printer) command(e *view.Entity) {
	o := p.commands[e.ID]
	if o == nil {
		o = &output{}
		p.commands[e.ID] = o
		line := "  $ " + show.Received(e.Title)
		if e.Dir != "" && e.Dir != p.dir {
			line += "  (in " + show.Line(p.relative(e.Dir)) + ")"
		}
		p.lines(styleBold, line)
	}
	if o.over {
		return
	}
	all := e.Text()
	more := o.rest + all[min(o.read, len(all)):]
	o.read = len(all)
	for {
		line, rest, whole := strings.Cut(more, "\n")
		if !whole {
			break
		}
		o.line(p, line)
		more = rest
	}
	o.rest = more
	if !e.Status.Ended() {
		return
	}
	o.finish(p)
	switch {
	case e.Exit == nil:
		p.lines(styleDim, "  └ ended by the agent")
	case e.Exit.Signal != "":
		p.lines(styleDim, "  └ ended by "+show.Line(e.Exit.Signal))
	default:
		p.lines(styleDim, fmt.Sprintf("  └ exit code %d", e.Exit.Code))
	}
}

func (o *output) line(p *Printer, line string) {
	const longest = 4 << 10 // bytes of a line that are shown
	shown := "  │ " + text.Output(line)
	if len(shown) > longest {
		head, tail := strings.ToValidUTF8(shown[:longest*3/4], ""), strings.ToValidUTF8(
			shown[len(shown)-longest/4:], "",
		)
		shown = fmt.Sprintf("%s … %d bytes … %s", head, len(shown)-len(head)-len(tail), tail)
	}
	if o.total++; o.total <= headLines {
		p.lines(styleDim, shown)
		return
	}
	if o.tail = append(o.tail, shown); len(o.tail) > tailLines {
		o.tail = o.tail[1:]
	}
}

// finish shows the rest.
func (o *output) finish(p *Printer) {
	if o.over {
		return
	}
	o.over = true
	if o.rest != "" {
		o.line(p, o.rest)
		o.rest = ""
	}
	if left := o.total - headLines - len(o.tail); left > 0 {
		p.lines(styleDim, fmt.Sprintf("  │ … %d lines …", left))
	}
	if len(o.tail) > 0 {
		p.lines(styleDim, o.tail...)
	}
	o.tail = nil
}
