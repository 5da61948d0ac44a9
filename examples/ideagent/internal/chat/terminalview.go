// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"fmt"

	"github.com/ponte-go/ponte/internal/guard"
)

// What is shown of the output of a command: its first lines as they come, and at the end its last ones.
const (
	headLines = 20
	tailLines = 10
)

// terminalView shows the output of a terminal.
type terminalView struct {
	screen *screen
	// The screen's mu guards the rest.
	partial []byte // a line without its end
	total   int
	tail    []string // lines behind the first ones
	ended   bool
}

func (s *screen) terminal() *terminalView { return &terminalView{screen: s} }

// write shows what a command has written.
func (v *terminalView) write(p []byte) {
	v.screen.locked(func() {
		if v.ended {
			return // what children in the background write later is not shown
		}
		for {
			end := bytes.IndexByte(p, '\n')
			if end < 0 {
				break
			}
			v.line(append(v.partial, p[:end]...))
			v.partial = v.partial[:0]
			p = p[end+1:]
		}
		const longest = 4 << 10 // bytes of a line that are kept
		v.partial = append(v.partial, p[:min(len(p), max(longest-len(v.partial), 0))]...)
	})
}

func (v *terminalView) line(text []byte) {
	// Only what was written last is left of a line that is written over and over, as progress bars are.
	text = bytes.TrimRight(text, "\r")
	if i := bytes.LastIndexByte(text, '\r'); i >= 0 {
		text = text[i+1:]
	}
	shown := "  │ " + shorten(clean(string(bytes.ToValidUTF8(text, []byte("\uFFFD")))), 200)
	if v.total++; v.total <= headLines {
		v.screen.lines(styleDim, shown)
		return
	}
	if v.tail = append(v.tail, shown); len(v.tail) > tailLines {
		v.tail = v.tail[1:]
	}
}

// end shows the rest. exit is nil if the terminal was released before its command had ended.
func (v *terminalView) end(exit *guard.Exit) {
	v.screen.locked(func() {
		if v.ended {
			return
		}
		if len(v.partial) > 0 {
			v.line(v.partial)
			v.partial = nil
		}
		v.ended = true
		if left := v.total - headLines - len(v.tail); left > 0 {
			v.screen.lines(styleDim, fmt.Sprintf("  │ … %d lines …", left))
		}
		if len(v.tail) > 0 {
			v.screen.lines(styleDim, v.tail...)
		}
		v.tail = nil
		switch {
		case exit == nil:
		case exit.Signal != "":
			v.screen.lines(styleDim, "  └ ended by "+exit.Signal)
		default:
			v.screen.lines(styleDim, fmt.Sprintf("  └ exit code %d", exit.Code))
		}
	})
}
