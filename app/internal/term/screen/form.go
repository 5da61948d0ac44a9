// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// field is a question that is answered with a line, such as a field of a form.
type field struct {
	id    int
	about []string
	saved string // what was in the input
}

// AskLine asks for a line. The present input is restored afterwards. It does not count as an
// answer.
func (m *Model) AskLine(id int, about []string) {
	f := &field{id: id, about: about, saved: m.buffer.Text()}
	if m.field != nil { // it takes the place of another one
		f.saved = m.field.saved
	}
	m.field, m.popup = f, popup{}
	m.buffer.Set("")
}

// answerLine takes the input as the answer. It is not kept in the history, because it may be a
// secret.
func (m *Model) answerLine() {
	m.do(Effect{Do: AnswerLine, Question: m.field.id, Text: m.buffer.Text()})
	m.endField()
}

func (m *Model) endField() {
	saved := m.field.saved
	m.field, m.popup = nil, popup{}
	m.buffer.Set(saved)
}

// drawField returns the lines that describe the question.
func (m *Model) drawField() (lines []text.Line) {
	for _, about := range m.field.about {
		lines = append(lines, render.Whole(about, text.Style{}, m.width)...)
	}
	return lines
}
