// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"github.com/ponte-go/ponte/app/internal/term/edit"
	"github.com/ponte-go/ponte/app/internal/term/input"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/internal/show"
)

// popup lists the completions of the word at the cursor.
type popup struct {
	all    []edit.Candidate
	start  int // of the word
	chosen int
	moved  bool // a candidate was chosen by hand
}

// maxPopup is how many candidates are shown at a time.
const maxPopup = 6

var own = []edit.Candidate{
	{Text: "/help", Note: "keys and commands"}, {Text: "/set", Note: "what can be set"}, {
		Text: "/quit", Note: "leave",
	},
	{Text: "/copy", Note: "the last answer, or its code"},
	{Text: "/diff", Note: "what git has changed"},
	{Text: "/keys", Note: "keys and commands"},
	{Text: "/new", Note: "a new conversation"},
	{Text: "/sessions", Note: "earlier conversations"},
}

// complete looks for completions of the word at the cursor. It reports whether there are any.
func (m *Model) complete() bool {
	kind, start, word := m.buffer.Token()
	m.popup = popup{start: start}
	switch kind {
	case '/':
		all := m.commands
		for _, c := range own {
			if !m.has(c.Text) {
				all = append(all[:len(all):len(all)], c)
			}
		}
		m.popup.all = edit.Commands(word, all)
	case '@':
		if !m.listed {
			m.listed = true
			m.do(Effect{Do: ListFiles})
		}
		m.popup.all = edit.Files(word, m.files)
	}
	if len(m.popup.all) == 1 && m.popup.all[0].Text == word {
		m.popup.all = nil // it is complete
	}
	return len(m.popup.all) > 0
}

func (m *Model) has(command string) bool {
	for _, c := range m.commands {
		if c.Text == command {
			return true
		}
	}
	return false
}

// popupKey handles a key while completions are shown.
func (m *Model) popupKey(e input.Event) bool {
	p := &m.popup
	if len(p.all) == 0 {
		return false
	}
	switch {
	case e.Kind == input.Escape:
		*p = popup{}
	case e.Kind == input.Up, e.Kind == input.Tab && e.Shift:
		p.chosen, p.moved = (p.chosen+len(p.all)-1)%len(p.all), true
	case e.Kind == input.Down:
		p.chosen, p.moved = (p.chosen+1)%len(p.all), true
	case e.Kind == input.Tab, e.Kind == input.Enter && !e.Shift && !e.Alt && m.unfinished():
		m.take()
	default:
		return false
	}
	if len(p.all) == 1 {
		m.tell("There is no other")
	}
	return true
}

// unfinished reports whether Enter takes a completion rather than sends: unless the word is one of
// them.
func (m *Model) unfinished() bool {
	_, start, word := m.buffer.Token()
	if m.popup.moved {
		return true
	}
	for _, c := range m.popup.all {
		if c.Text == word {
			return false
		}
	}
	return start == 0 && word != "/" || word != "" && word[0] == '@' && len(word) > 1
}

func (m *Model) take() {
	m.buffer.Replace(m.popup.start, m.popup.all[m.popup.chosen].Text+" ")
	m.popup = popup{}
}

func (m *Model) drawPopup() (lines []text.Line) {
	p := &m.popup
	first := max(0, p.chosen-maxPopup+1)
	for i := first; i < len(p.all) && i < first+maxPopup; i++ {
		style := text.Style{}
		if i == p.chosen {
			style.Highlighted = true
		}
		line := text.Of("  "+show.Line(p.all[i].Text), style)
		if note := p.all[i].Note; note != "" {
			line = append(line, text.Of("  "+text.OneLine(note), render.Dim)...)
		}
		lines = append(lines, text.Cut(line, m.width))
	}
	return lines
}
