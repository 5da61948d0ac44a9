// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"strings"
	"time"
	"unicode"

	"github.com/ponte-go/ponte/app/internal/term/input"
	"github.com/ponte-go/ponte/app/internal/term/render"
)

// Input takes what was typed, pasted or reported. Each key changes something that is seen.
func (m *Model) Input(now time.Time, events []input.Event) {
	m.now = now
	for _, e := range events {
		if e.Kind != input.Report {
			m.hint = ""
			m.dots++
		}
		if len(m.questions) > 0 && m.questionKey(m.questions[0], e) {
			continue
		}
		if e.Kind == input.Report {
			continue
		}
		if e.Kind != input.Ctrl || e.Text != "c" {
			m.leaving = time.Time{}
		}
		if !m.key(e) && m.hint == "" {
			m.tell("That key does nothing here. /help lists keys")
		}
		if len(m.questions) > 0 && m.questions[0].state < locked {
			m.tell("Typed before the question was shown: it goes to the input")
		}
	}
}

// key handles an event, and reports whether it has changed anything.
func (m *Model) key(e input.Event) bool {
	if m.popupKey(e) {
		return true
	}
	if e.Kind == input.Tab && e.Shift {
		return m.nextMode()
	}
	if e.Kind == input.Tab {
		return m.complete()
	}
	if !m.edit(e) {
		return false
	}
	if m.complete(); m.recalled {
		m.popup, m.recalled = popup{}, false
	}
	return true
}

// edit handles a key that is not about completion.
func (m *Model) edit(e input.Event) bool {
	changed, prefix := false, m.prefix
	if m.prefix = false; prefix && e.Kind == input.Ctrl && e.Text == "e" {
		return m.editElsewhere()
	}
	switch e.Kind {
	case input.Text:
		if e.Alt {
			changed = m.altKey(e.Text)
		} else {
			changed = m.buffer.Insert(e.Text)
		}
		m.history.Leave()
	case input.Paste:
		changed = m.paste(e.Text)
		m.history.Leave()
	case input.Enter:
		if e.Shift || e.Alt || e.Held {
			changed = m.buffer.Insert("\n")
			break
		}
		return m.enter()
	case input.Backspace:
		if e.Alt || e.Held {
			changed = m.buffer.KillWord(true)
		} else {
			changed = m.buffer.Backspace()
		}
	case input.Delete:
		changed = m.buffer.Delete()
	case input.Left, input.Right:
		if e.Alt || e.Held {
			return m.buffer.MoveWord(e.Kind == input.Left)
		}
		return m.buffer.Move(e.Kind == input.Left)
	case input.Up:
		if e.Shift || e.Alt || e.Held {
			return m.scroll(-1)
		}
		return m.buffer.Vertical(true) || m.recall(-1)
	case input.Down:
		if e.Shift || e.Alt || e.Held {
			return m.scroll(1)
		}
		return m.buffer.Vertical(false) || m.recall(1)
	case input.Home:
		return m.buffer.Home()
	case input.End:
		return m.buffer.End()
	case input.PageUp:
		return m.scroll(-max(m.room-2, 1))
	case input.PageDown:
		return m.scroll(max(m.room-2, 1))
	case input.WheelUp:
		return m.scroll(-3)
	case input.WheelDown:
		return m.scroll(3)
	case input.Escape:
		if m.follow {
			return false
		}
		m.follow = true
		return true
	case input.Ctrl:
		changed = m.ctrlKey(e.Text)
	}
	return changed
}

func (m *Model) altKey(key string) bool {
	switch key {
	case "b":
		return m.buffer.MoveWord(true)
	case "f":
		return m.buffer.MoveWord(false)
	case "d":
		return m.buffer.KillWord(false)
	}
	return false
}

func (m *Model) ctrlKey(key string) bool {
	switch key {
	case "a":
		return m.buffer.Home()
	case "e":
		return m.buffer.End()
	case "b":
		return m.buffer.Move(true)
	case "f":
		return m.buffer.Move(false)
	case "p":
		return m.buffer.Vertical(true) || m.recall(-1)
	case "n":
		return m.buffer.Vertical(false) || m.recall(1)
	case "h":
		return m.buffer.Backspace()
	case "k":
		return m.buffer.KillToEnd()
	case "u":
		return m.buffer.KillToStart()
	case "w":
		return m.buffer.KillSpace()
	case "y":
		return m.buffer.Yank()
	case "_":
		return m.buffer.Undo()
	case "z":
		m.do(Effect{Do: Suspend})
		m.unseen() // what is typed to the shell is no answer
		m.tell("Welcome back")
		return true
	case "r":
		return m.search()
	case "g":
		return m.editElsewhere()
	case "x":
		m.prefix = true
		m.tell("Ctrl-E opens the input in your editor")
		return true
	case "v":
		m.do(Effect{Do: Picture})
		m.tell("Looking for a picture in the clipboard")
		return true
	case "s":
		return m.steer()
	case "j":
		return m.buffer.Insert("\n")
	case "c":
		m.interrupt()
		return true
	case "d":
		if m.buffer.Text() == "" {
			m.do(Effect{Do: Quit})
			return true
		}
		return m.buffer.Delete()
	case "o":
		m.doc.Expand(!m.doc.Expanded())
		m.tell(map[bool]string{
			true: "Everything is shown. Ctrl-O folds it", false: "Folded. Ctrl-O shows everything",
		}[m.doc.Expanded()])
		return true
	case "l":
		m.follow = true
		m.tell("Drawn again")
		return true
	}
	return false
}

// interrupt is Ctrl-C: it clears the input, then cancels the turn, then asks whether to leave.
func (m *Model) interrupt() {
	again := !m.leaving.IsZero() && m.now.Sub(m.leaving) < 5*time.Second
	m.leaving = time.Time{}
	switch {
	case m.buffer.Text() != "" && len(m.questions) == 0:
		m.history.Add(m.buffer.Text())
		m.buffer.Set("")
		m.tell("Cleared. It is in the history")
	case m.busy && !m.cancelling:
		m.cancelling = true
		m.do(Effect{Do: Cancel})
	case again:
		m.do(Effect{Do: Quit})
	default:
		m.leaving = m.now
		m.tell("Press Ctrl-C again to leave")
	}
}

// Interrupt is a Ctrl-C that came as a signal.
func (m *Model) Interrupt(now time.Time) { m.Input(now, []input.Event{{Kind: input.Ctrl, Text: "c"}}) }

// scroll moves the transcript.
func (m *Model) scroll(n int) bool {
	top := m.top
	if m.follow {
		top = m.doc.Back(m.doc.End(), m.room)
	}
	if n < 0 {
		to := m.doc.Back(top, -n)
		if to == top {
			m.tell("This is the beginning")
			return true
		}
		m.top, m.follow = to, false
		return true
	}
	if m.follow {
		m.tell("This is the end")
		return true
	}
	_, to := m.doc.From(top, n)
	more, _ := m.doc.From(to, m.room+1)
	m.top, m.follow = to, len(more) <= m.room
	return true
}

func (m *Model) recall(n int) bool {
	s, ok := m.history.Step(n, m.buffer.Text())
	if !ok {
		m.tell(map[bool]string{true: "There is nothing older", false: "There is nothing newer"}[n < 0])
		return true
	}
	m.buffer.Set(s)
	m.recalled = true
	return true
}

// search finds an earlier entry that contains what was typed, and with each key an older one.
func (m *Model) search() bool {
	s, ok := m.history.Search(m.buffer.Text())
	if !ok {
		m.tell("Nothing older contains that")
		return true
	}
	m.buffer.Set(s)
	m.recalled = true
	m.tell("Ctrl-R: an older one")
	return true
}

// nextMode changes to the mode after the session's, if it has modes.
func (m *Model) nextMode() bool {
	for _, s := range m.settings {
		if s.ID != "mode" || len(s.Choices) == 0 {
			continue
		}
		next := 0
		for i, c := range s.Choices {
			if c.ID == s.Value {
				next = (i + 1) % len(s.Choices)
			}
		}
		m.do(Effect{Do: Set, Text: "mode " + s.Choices[next].ID})
		m.tell("Changing the mode to " + s.Choices[next].ID)
		return true
	}
	m.tell("The agent has no modes")
	return true
}

// enter sends what was typed, or runs a command of the client.
func (m *Model) enter() bool {
	line := m.buffer.Text()
	if before, ok := strings.CutSuffix(line, `\`); ok && m.buffer.Cursor() == len(line) {
		m.buffer.Set(before + "\n")
		return true
	}
	if m.field != nil {
		m.answerLine()
		return true
	}
	if strings.TrimSpace(line) == "" {
		m.tell("Type what to do, and Enter. Ctrl-D leaves")
		return true
	}
	m.history.Add(line)
	m.buffer.Set("")
	m.popup = popup{}
	// A line that begins with a space is no command.
	typed := strings.TrimRightFunc(line, unicode.IsSpace)
	if m.command(typed) || m.needsNoTurn(typed) {
		return true
	}
	if command, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok && strings.TrimSpace(command) != "" {
		m.shell(strings.TrimSpace(command))
		return true
	}
	switch busy := m.busy; {
	case !m.submit(line):
		m.tell("It is sent when the turn has ended")
	case busy:
		m.tell("It waits at the agent for the end of the turn")
	}
	return true
}

// command runs a command of the client, unless the agent has one of that name.
func (m *Model) command(line string) bool {
	name, rest, _ := strings.Cut(line, " ")
	for _, c := range m.commands {
		if c.Text == name {
			return false
		}
	}
	switch name {
	case "/help", "/keys":
		m.Note(help, render.Dim)
	case "/copy":
		if rest = strings.TrimSpace(rest); rest != "" && rest != "code" {
			m.tell("/copy copies the last answer, /copy code its last block of code")
			return true
		}
		m.do(Effect{Do: Copy, Text: rest})
	case "/diff":
		m.shell("git --no-pager diff")
	case "/quit", "/exit":
		m.do(Effect{Do: Quit})
	case "/set":
		m.set(strings.TrimSpace(rest))
	case "/new", "/sessions":
		if name == "/new" && strings.TrimSpace(rest) != "" {
			return false
		}
		m.openSession(name, strings.TrimSpace(rest))
	default:
		return false
	}
	m.follow = true
	return true
}

// shell runs a command for the person. The agent is not told.
func (m *Model) shell(command string) {
	m.Note("! "+command, render.Dim)
	m.do(Effect{Do: Shell, Text: command})
	m.follow = true
}
