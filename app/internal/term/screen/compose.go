// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"strings"
	"time"
)

// Parts of a prompt that do not come from the keyboard: what was written in an editor, files that
// were dropped, pictures. And prompts for a turn that is running.

// paste inserts pasted text, or what stands for a file whose path it is.
func (m *Model) paste(pasted string) bool {
	if m.config.Dropped != nil && m.field == nil {
		if mention := m.config.Dropped(pasted); mention != "" {
			m.InsertMention(mention)
			return true
		}
	}
	return m.buffer.Insert(pasted)
}

// InsertMention inserts what stands for a file, apart from the words beside it.
func (m *Model) InsertMention(mention string) {
	before := m.buffer.Text()[:m.buffer.Cursor()]
	if before != "" && !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, "\n") {
		mention = " " + mention
	}
	m.buffer.Insert(mention + " ")
	m.popup = popup{}
}

// editElsewhere has the person's editor change the input.
func (m *Model) editElsewhere() bool {
	if m.field != nil { // it may be a secret, and the editor needs a file
		m.tell("An answer cannot be written in your editor")
		return true
	}
	m.do(Effect{Do: Edit, Text: m.buffer.Text()})
	m.tell("Back from your editor")
	return true
}

// SetInput replaces the input with what was written in an editor.
func (m *Model) SetInput(text string) {
	m.buffer.Set(strings.TrimRight(text, "\r\n"))
	m.popup = popup{}
	m.history.Leave()
}

// steer passes the input to the running turn.
func (m *Model) steer() bool {
	line := m.buffer.Text()
	switch {
	case m.field != nil:
		m.tell("Enter answers")
	case strings.TrimSpace(line) == "":
		m.tell("Type what the agent should know, and Ctrl-S")
	case !m.busy:
		return m.enter()
	default:
		m.history.Add(line)
		m.buffer.Set("")
		m.popup = popup{}
		m.do(Effect{Do: Steer, Text: line})
		m.tell("Passing it to the running turn")
	}
	return true
}

// Passed reports that the running turn has a message.
func (m *Model) Passed(now time.Time) {
	m.now = now
	m.tell("The running turn has it")
}

// Later sends a prompt that could not be passed to the running turn, when that has ended. why
// tells the person.
func (m *Model) Later(now time.Time, prompt, why string) {
	m.now = now
	m.tell(why)
	m.submit(prompt)
}
