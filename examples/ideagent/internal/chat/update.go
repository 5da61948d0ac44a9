// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// update shows an update of the session.
func (s *screen) update(u *acp.SessionUpdate) {
	s.locked(func() {
		switch {
		case u.AgentMessageChunk != nil:
			s.stream(blockText, textOf(&u.AgentMessageChunk.Content))
		case u.AgentThoughtChunk != nil:
			s.stream(blockThought, textOf(&u.AgentThoughtChunk.Content))
		case u.ToolCall != nil:
			s.showCall(asUpdate(u.ToolCall))
		case u.ToolCallUpdate != nil:
			s.showCall(u.ToolCallUpdate)
		case u.Plan != nil:
			s.plan(u.Plan)
		case u.CurrentModeUpdate != nil:
			if s.mode != u.CurrentModeUpdate.CurrentModeID {
				s.mode = u.CurrentModeUpdate.CurrentModeID
				s.lines(styleDim, "  mode: "+oneLine(string(s.mode)))
			}
		case u.UsageUpdate != nil:
			s.usage = usageLine(u.UsageUpdate)
		case u.Notice != nil:
			text := oneLine(u.Notice.Title)
			if u.Notice.Description != nil {
				text += ": " + oneLine(*u.Notice.Description)
			}
			s.lines(styleYellow, "  "+text)
		}
	})
}

// textOf returns the text that stands for a content block.
func textOf(c *acp.ContentBlock) string {
	switch {
	case c.Text != nil:
		return c.Text.Text
	case c.Image != nil:
		return "[image]"
	case c.Audio != nil:
		return "[audio]"
	case c.ResourceLink != nil:
		return "[" + oneLine(c.ResourceLink.Name) + "]"
	case c.Resource != nil:
		return "[resource]"
	}
	return "[content of an unknown kind]"
}

func (s *screen) plan(p *acp.Plan) {
	for _, e := range p.Entries {
		mark := "☐"
		switch e.Status {
		case acp.PlanEntryStatusInProgress:
			mark = "▸"
		case acp.PlanEntryStatusCompleted:
			mark = "☑"
		}
		s.lines(styleDim, "  "+mark+" "+shorten(oneLine(e.Content), 100))
	}
}

func usageLine(u *acp.UsageUpdate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "context: %d", u.Used)
	if u.Size > 0 {
		fmt.Fprintf(&b, " of %d tokens (%.0f %%)", u.Size, float64(u.Used)/float64(u.Size)*100)
	} else {
		b.WriteString(" tokens")
	}
	if u.Cost != nil {
		fmt.Fprintf(&b, ", cost: %.4f %s", u.Cost.Amount, oneLine(u.Cost.Currency))
	}
	return b.String()
}
