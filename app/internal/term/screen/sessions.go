// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"strconv"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// Session is a session that can be opened.
type Session struct{ ID, Title, When string }

// SessionLines returns the lines that list sessions.
func SessionLines(all []Session) []string {
	if len(all) == 0 {
		return []string{"The agent has no sessions of this directory."}
	}
	var lines []string
	for i, s := range all {
		lines = append(lines, fmt.Sprintf("%2d  %s  %s", i+1, s.When, s.Title))
	}
	return append(lines, "/sessions NUMBER continues one.")
}

// SetSessions shows which sessions can be opened.
func (m *Model) SetSessions(all []Session) {
	m.sessions = all
	for _, line := range SessionLines(all) {
		m.Note(line, render.Dim)
	}
}

// openSession is /new and /sessions.
func (m *Model) openSession(name, rest string) {
	n, err := strconv.Atoi(rest)
	switch {
	case m.busy || m.sending:
		m.tell("Not while a turn is running. Ctrl-C cancels it")
	case name == "/new":
		m.opening = true
		m.do(Effect{Do: NewSession})
	case rest == "":
		m.do(Effect{Do: ListSessions})
	case err != nil || n < 1 || n > len(m.sessions):
		m.tell("/sessions alone lists them, with numbers")
	default:
		m.opening = true
		m.do(Effect{Do: LoadSession, Text: m.sessions[n-1].ID})
	}
}

// Opened reports that another session has been opened, whose conversation replaces the transcript,
// or that opening failed.
func (m *Model) Opened(note string, opened bool) {
	m.opening = false
	if opened {
		expanded := m.doc.Expanded()
		m.doc = render.NewDocument(m.config.Dir)
		m.doc.Expand(expanded)
		m.follow, m.top = true, render.Pos{}
		m.commands, m.atOnce, m.waiting, m.settings, m.usage = nil, nil, nil, []view.Setting(nil), ""
	}
	if note != "" {
		style := render.Dim
		if !opened {
			style = text.Style{Color: text.Yellow}
		}
		m.Note(note, style)
	}
	if !m.busy {
		m.sendNext()
	}
}
