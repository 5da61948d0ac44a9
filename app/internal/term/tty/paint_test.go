// SPDX-License-Identifier: Apache-2.0

package tty_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/app/internal/term/tty"
)

func frame(lines ...string) screen.Frame {
	f := screen.Frame{Row: -1}
	for _, l := range lines {
		f.Lines = append(f.Lines, text.Of(l, text.Style{}))
	}
	return f
}

// What the terminal is asked stands behind all that it is to draw before.
func TestTerminalIsAskedAfterItHasDrawn(t *testing.T) {
	var out strings.Builder
	p := tty.Painter{Out: &out}
	f := frame("one", "question")
	f.Query, f.Row, f.Column = []screen.Place{{Row: 2, Column: 3}, {Row: 1, Column: 4}}, 1, 2
	require.NoError(t, p.Paint(f, 20, 2))
	require.Equal(t, "\x1b[?2026h\x1b[?25l\x1b[2J\x1b[1;1H\x1b[2Kone\x1b[2;1H\x1b[2Kquestion\x1b[?2026l\x1b[2;3H\x1b[6n\x1b[1;4H\x1b[6n\x1b[2;3H\x1b[?25h", out.String())
}

// The cursor is shown where the frame has it, from the first row and column on, or nowhere.
func TestWhereTheCursorIs(t *testing.T) {
	for row, want := range map[int]string{-1: "", 0: "\x1b[1;1H\x1b[?25h", 1: "\x1b[2;2H\x1b[?25h", 2: "\x1b[3;3H\x1b[?25h"} {
		var out strings.Builder
		p := tty.Painter{Out: &out}
		f := frame("one", "two", "three")
		f.Row, f.Column = row, row
		require.NoError(t, p.Paint(f, 20, 3))
		_, end, _ := strings.Cut(out.String(), "\x1b[?2026l")
		require.Equal(t, want, end, row)
	}
}

func TestOnlyChangedLinesAreSent(t *testing.T) {
	var out strings.Builder
	p := tty.Painter{Out: &out}
	require.NoError(t, p.Paint(frame("one", "two", "three"), 20, 3))
	out.Reset()
	require.NoError(t, p.Paint(frame("one", "2", "three"), 20, 3))
	require.Equal(t, "\x1b[?2026h\x1b[?25l\x1b[2;1H\x1b[2K2\x1b[?2026l", out.String())
	out.Reset()
	require.NoError(t, p.Paint(frame("one", "2"), 20, 2))
	require.Contains(t, out.String(), "\x1b[2J\x1b[1;1H\x1b[2Kone\x1b[2;1H", "after a resize everything is")
	out.Reset()
	p.Forget()
	require.NoError(t, p.Paint(frame("one", "2"), 20, 2))
	require.Contains(t, out.String(), "one")
}
