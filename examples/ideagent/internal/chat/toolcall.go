// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// callView is what is known of a tool call, and what of it is shown.
type callView struct {
	id     acp.ToolCallID
	title  string
	status acp.ToolCallStatus
	errors []string
	// begun says that its line has been shown, over that its last line has.
	begun, over bool
	// shownTitle and shownStatus are what its last line says.
	shownTitle  string
	shownStatus acp.ToolCallStatus
	diffs       []acp.Diff // shown
}

func asUpdate(c *acp.ToolCall) *acp.ToolCallUpdate {
	return &acp.ToolCallUpdate{ToolCallID: c.ToolCallID, Title: &c.Title, Kind: c.Kind, Status: c.Status, Content: c.Content}
}

// toolCall shows a call that the user is asked about.
func (s *screen) toolCall(u *acp.ToolCallUpdate) {
	s.locked(func() {
		s.showCall(u)
		if c := s.calls[u.ToolCallID]; !c.over {
			s.beginCall(c)
		}
	})
}

// showCall shows what is new about a tool call. On a terminal its line is written again as long as nothing else has been
// shown; elsewhere a line is written when the call has ended, and one before if there is something to show under it.
func (s *screen) showCall(u *acp.ToolCallUpdate) {
	c := s.calls[u.ToolCallID]
	if c == nil {
		c = &callView{id: u.ToolCallID, title: string(u.ToolCallID)}
		s.calls[u.ToolCallID] = c
	}
	if c.over {
		return
	}
	if u.Title != nil && *u.Title != "" {
		c.title = oneLine(*u.Title)
	}
	if u.Status != "" {
		c.status = u.Status
	}
	if u.Content != nil {
		c.errors = nil
	}
	for i := range u.Content {
		switch content := &u.Content[i]; {
		case content.Diff != nil:
			s.showDiff(c, content.Diff)
		case content.Content != nil:
			if content.Content.Content.Text != nil {
				c.errors = append(c.errors, strings.Split(strings.TrimSpace(clean(content.Content.Content.Text.Text)), "\n")...)
			}
		}
	}
	switch c.status {
	case acp.ToolCallStatusCompleted, acp.ToolCallStatusFailed:
		s.callLine(c)
		s.begin(blockLine)
		c.over = true
		if c.status == acp.ToolCallStatusFailed {
			const most = 5
			for _, l := range c.errors[:min(len(c.errors), most)] {
				s.lines(styleRed, "    "+shorten(l, 160))
			}
		}
		c.errors, c.diffs = nil, nil
	default:
		if s.tty {
			s.callLine(c)
		}
	}
}

// beginCall makes sure that the line of the call is above what is shown next.
func (s *screen) beginCall(c *callView) {
	if !c.begun {
		s.callLine(c)
	}
}

// callLine writes the line of a call, over the one that is there if the cursor still stands in it. On a terminal the line
// of a call that has not ended is left open.
func (s *screen) callLine(c *callView) {
	over := c.status == acp.ToolCallStatusCompleted || c.status == acp.ToolCallStatusFailed
	if s.block == blockCall && s.line == c.id {
		if c.shownTitle == c.title && c.shownStatus == c.status {
			return
		}
		s.out.WriteString("\r\x1b[K")
	} else {
		if c.begun && !over {
			return // its line is further up
		}
		s.begin(blockCall)
	}
	c.begun, c.shownTitle, c.shownStatus = true, c.title, c.status
	mark, style, state := "○", styleDim, " (pending)"
	switch c.status {
	case acp.ToolCallStatusInProgress:
		mark, style, state = "◌", styleCyan, " (in progress)"
	case acp.ToolCallStatusCompleted:
		mark, style, state = "✓", styleGreen, ""
	case acp.ToolCallStatusFailed:
		mark, style, state = "✗", styleRed, " (failed)"
	}
	// A line that is written again must not be longer than the terminal is wide.
	s.out.WriteString(s.style(style, mark) + " " + shorten(c.title, 60) + s.style(styleDim, state))
	s.blank = false
	s.line = c.id
	if over || !s.tty {
		s.begin(blockLine)
	}
}

// finishCalls ends the open line and forgets the calls of a turn.
func (s *screen) finishCalls() {
	for id, c := range s.calls {
		if c.over {
			delete(s.calls, id)
		}
	}
	if s.block == blockCall {
		s.begin(blockLine)
	}
}

// relative returns a path as the user thinks of it.
func (s *screen) relative(path string) string {
	if local, err := filepath.Rel(s.dir, path); err == nil && filepath.IsLocal(local) {
		return local
	}
	return path
}

// sameDiff reports whether a diff has been shown for the call.
func (c *callView) sameDiff(d *acp.Diff) bool {
	return slices.ContainsFunc(c.diffs, func(shown acp.Diff) bool {
		same := shown.Path == d.Path && shown.NewText == d.NewText && (shown.OldText == nil) == (d.OldText == nil)
		return same && (d.OldText == nil || *shown.OldText == *d.OldText)
	})
}
