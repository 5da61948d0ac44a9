// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/markdown"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// waits takes over a prompt that waits at the agent, or that it does not wait any more.
func (m *Model) waits(id string, e *view.Entity) {
	i := slices.IndexFunc(m.waiting, func(w *view.Entity) bool { return w.ID == id })
	switch {
	case e == nil && i >= 0:
		m.waiting = slices.Delete(m.waiting, i, i+1)
	case e == nil:
	case i >= 0:
		m.waiting[i] = e
	default:
		m.waiting = append(m.waiting, e)
	}
}

// shownWaiting is how many of the prompts that wait are shown.
const shownWaiting = 3

// drawWaiting returns how many prompts wait, and the first of them with their numbers.
func (m *Model) drawWaiting() (lines []text.Line) {
	for i, e := range m.waiting {
		if i == shownWaiting {
			break
		}
		lines = append(lines, text.Cut(
			text.Of("  waits "+text.OneLine(e.Title)+": "+text.OneLine(e.Text()), render.Dim),
			m.width,
		))
	}
	if n := len(m.waiting); n > 0 {
		lines = append(lines, text.Cut(
			text.Of(fmt.Sprintf("  %d waiting: /waiting changes them", n), render.Dim), m.width,
		))
	}
	return lines
}

// needsNoTurn has the agent carry out a command that needs no turn. It reports false for other
// lines.
func (m *Model) needsNoTurn(line string) bool {
	name, _, _ := strings.Cut(line, " ")
	if !m.atOnce[name] || m.opening {
		return false
	}
	m.Note(line, render.Dim)
	m.do(Effect{Do: Command, Text: line})
	m.follow = true
	return true
}

// Told adds what the agent has said about such a command to the transcript: Markdown.
func (m *Model) Told(said string) {
	m.Show(func(width int, _ bool) []text.Line { return markdown.Render(text.Clean(said), width) })
}
