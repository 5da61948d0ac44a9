// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/internal/show"
)

// Frame is the content of the terminal.
type Frame struct {
	// Lines are the lines from the top of the screen on, one for each row.
	Lines []text.Line
	// Row and Column are where the cursor is, from 0. Row is -1 if it is hidden.
	Row, Column int
	// Query are places where the terminal is to be asked for the position of the cursor, after it
	// has drawn the lines.
	Query []Place
}

// Frame returns the current frame. It must be drawn: the questions in it count as asked.
func (m *Model) Frame() Frame {
	f := Frame{Row: -1}
	m.doc.SetWidth(m.width)
	var bottom []text.Line
	if len(m.questions) > 0 {
		q := m.questions[0]
		if q.state == fresh {
			m.query(q)
			f.Query = q.at[:]
		}
		bottom = append(m.drawQuestion(q), m.status())
	} else {
		bottom = m.drawInput(&f)
	}
	if len(bottom) > m.height { // what is at the bottom matters most
		f.Row -= len(bottom) - m.height
		bottom = bottom[len(bottom)-m.height:]
	}
	m.room = m.height - len(bottom)
	top := m.top
	if m.follow {
		top = m.doc.Back(m.doc.End(), m.room)
	}
	lines, _ := m.doc.From(top, m.room)
	if !m.follow && len(lines) < m.room { // after a resize
		lines, _ = m.doc.From(m.doc.Back(m.doc.End(), m.room), m.room)
	}
	for len(lines) < m.room {
		lines = append(lines, nil)
	}
	f.Lines = append(lines[:m.room:m.room], bottom...)
	if f.Row >= 0 {
		f.Row += m.room
	}
	return f
}

// drawInput returns the status, what waits to be sent, the input, and completions. The cursor is
// relative to them.
func (m *Model) drawInput(f *Frame) []text.Line {
	lines := []text.Line{m.status()}
	if m.field != nil {
		lines = append(lines, m.drawField()...)
	}
	for i, s := range m.queue {
		if i == 3 {
			lines = append(lines, text.Of(fmt.Sprintf("  … and %d more", len(m.queue)-3), render.Dim))
			break
		}
		lines = append(lines, text.Cut(text.Of("  next: "+text.OneLine(s), render.Dim), m.width))
	}
	lines = append(lines, m.drawWaiting()...)
	lines = append(lines, text.Of(strings.Repeat("─", m.width), render.Dim))
	all, row, column := m.buffer.Layout(max(m.width-2, 2))
	most := max(m.height/3, 1)
	first := 0
	if len(all) > most {
		first = max(0, min(row-most/2, len(all)-most))
		all = all[first : first+most]
	}
	f.Row, f.Column = len(lines)+row-first, 2+column
	prompt, rest := text.Of("› ", text.Style{Bold: true, Color: text.Cyan}), text.Of("  ", text.Style{})
	if first > 0 {
		prompt = rest
	}
	switch {
	case m.buffer.Text() == "" && m.field != nil:
		all = []text.Line{m.placeholder("Enter answers, Ctrl-C cancels the turn")}
	case m.buffer.Text() == "" && !m.busy:
		all = []text.Line{m.placeholder("What should be done? /help")}
	}
	lines = append(lines, text.Indent(all, prompt, rest)...)
	return append(lines, m.drawPopup()...)
}

// placeholder is in the empty input.
func (m *Model) placeholder(s string) text.Line { return text.Cut(text.Of(s, render.Dim), m.width-2) }

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// status is the line between the transcript and the input.
func (m *Model) status() text.Line {
	var left text.Line
	switch {
	case m.hint != "":
		// The dots let the same hint twice in a row be seen.
		left = text.Of(m.hint+strings.Repeat(".", 1+m.dots%2), text.Style{Color: text.Yellow})
	case m.busy:
		left = text.Of(string(spinner[int(m.now.UnixMilli()/100)%len(spinner)])+" ", text.Style{Color: text.Cyan})
		left = append(left, text.Of(m.activity()+" ", render.Bold)...)
	case !m.follow:
		left = text.Of("↑ PgDn or Esc goes back to the end", render.Dim)
	default:
		left = text.Of(show.Line(m.config.Agent)+" in "+show.Line(filepath.Base(m.config.Dir)), render.Dim)
	}
	if m.busy && m.hint != "" {
		left = append(left, text.Of("  "+elapsed(m.now.Sub(m.since)), render.Dim)...)
	}
	right := text.Of(m.summary(), render.Dim)
	if pad := m.width - left.Width() - right.Width(); pad >= 2 && len(right) > 0 {
		return append(append(left, text.Of(strings.Repeat(" ", pad), text.Style{})...), right...)
	}
	return text.Cut(left, m.width)
}

// activity describes what the agent does, and for how long.
func (m *Model) activity() string {
	doing := m.doing
	switch {
	case m.cancelling:
		doing = "cancelling"
	case len(m.questions) > 0, m.field != nil:
		doing = "waiting for you"
	case doing == "":
		doing = "waiting for the agent"
	}
	line := elapsed(m.now.Sub(m.since)) + " " + show.Received(doing)
	if !m.cancelling {
		line += " · Ctrl-C cancels"
	}
	return line
}

func elapsed(d time.Duration) string {
	if s := int(max(d, 0).Seconds()); s < 60 {
		return fmt.Sprintf("%ds", s)
	} else {
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
}

// summary describes the present settings, and how full the context is.
func (m *Model) summary() string {
	var parts []string
	for _, s := range m.settings {
		if s.Category == "mode" || s.Category == "model" {
			parts = append(parts, show.Line(s.Value))
		}
	}
	if m.usage != "" {
		parts = append(parts, m.usage)
	}
	return strings.Join(parts, " · ")
}
