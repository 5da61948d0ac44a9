// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"strings"

	"github.com/ponte-go/ponte/app/internal/term/render"
)

// help describes the keys and the commands of the client. Each line of it has a test.
const help = `Enter          send; Shift-Enter, Alt-Enter, Ctrl-J or \ Enter: a new line
/ and @        commands and files: Tab or Enter takes one, ↑ ↓ choose
↑ ↓            lines, then what was entered before and begins like this
PgUp PgDn      scroll; Shift-↑ ↓ by lines; Esc: back to the end
Ctrl-O         fold or show thoughts, outputs, arguments
Ctrl-C         clears the input, then cancels the turn, then leaves
Ctrl-D         leaves
Ctrl-R         finds what was entered before and contains this
Shift-Tab      changes the mode
Ctrl-Z         stops the program; fg continues it
Ctrl-G         opens the input in your editor, as Ctrl-X Ctrl-E does
Ctrl-V         takes a picture from the clipboard; or drop files here
Ctrl-S         passes the input to the running turn, without waiting for its end
Ctrl-A E B F K U W Y _, Alt-B F D: editing as in a shell
!COMMAND       runs a command here; the agent is not told
/copy          copies the last answer; /copy code its last block of code
/diff          shows what git has changed
/keys          this list, also if the agent has its own /help
/new           begins a new conversation
/sessions      lists the agent's sessions; /sessions NUMBER continues one
/waiting       prompts that wait at the agent, if it has this command; edit N TEXT, remove N
/set           what can be set; /set ID VALUE sets it
/quit          leaves`

// set lists what can be set, or sets it.
func (m *Model) set(rest string) {
	if rest != "" {
		m.do(Effect{Do: Set, Text: rest})
		return
	}
	if len(m.settings) == 0 {
		m.Note("The agent has nothing that can be set.", render.Dim)
	}
	for _, s := range m.settings {
		values := "true, false"
		if !s.Switch {
			var ids []string
			for _, c := range s.Choices {
				ids = append(ids, c.ID)
			}
			values = strings.Join(ids, ", ")
		}
		m.Note("/set "+s.ID+" "+s.Value+"   ("+values+")", render.Dim)
	}
}
