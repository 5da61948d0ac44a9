// SPDX-License-Identifier: Apache-2.0

// Package tty puts frames on a terminal and reads what it sends.
package tty

import (
	"fmt"
	"io"
	"strings"

	"github.com/ponte-go/ponte/app/internal/term/screen"
)

// Painter draws frames. It sends what has changed since the frame before.
type Painter struct {
	Out   io.Writer
	Color bool

	rows          []string // as they are on the screen
	width, height int
}

// Begin switches the terminal to a separate screen without line wrapping, with marked pastes,
// with arrow keys for the steps of the mouse's wheel, and with distinct keys where it supports
// them. The mouse is not taken: it selects text as everywhere. End switches back. again is sent
// when the process has been stopped without notice, and continues.
const (
	Begin = "\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[?1007s\x1b[?1007h\x1b[>1u\x1b[2J"
	End   = "\x1b[<u\x1b[?1007r\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l"
	again = "\x1b[?7l\x1b[?2004h\x1b[2J"
)

// Forget has everything drawn again.
func (p *Painter) Forget() { p.rows = nil }

// Paint draws a frame on a screen of a size.
func (p *Painter) Paint(f screen.Frame, width, height int) error {
	var b strings.Builder
	b.WriteString("\x1b[?2026h\x1b[?25l") // shown at once, where the terminal knows how
	if p.rows == nil || width != p.width || height != p.height {
		p.rows, p.width, p.height = make([]string, height), width, height
		b.WriteString("\x1b[2J")
	}
	for i := range p.rows {
		row := ""
		if i < len(f.Lines) {
			row = f.Lines[i].ANSI(p.Color)
		}
		if row != p.rows[i] {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[2K%s", i+1, row)
			p.rows[i] = row
		}
	}
	b.WriteString("\x1b[?2026l")
	// The questions to the terminal come after everything that they are about.
	for _, at := range f.Query {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[6n", at.Row, at.Column)
	}
	if f.Row >= 0 {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", f.Row+1, f.Column+1)
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}
