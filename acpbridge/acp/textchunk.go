// SPDX-License-Identifier: Apache-2.0

package acp

// update is message for what most messages of a turn are. n stays off the heap if it is a chunk of
// text.
func (e *encoder) update(n *SessionNotification) {
	if !e.textChunk(n) {
		kept := *n
		e.message(&kept)
	}
}

// textChunk appends the parameters of an update that is a piece of the answer's text and nothing
// else, and reports whether n is one.
func (e *encoder) textChunk(n *SessionNotification) bool {
	u := &n.Update
	c := u.AgentMessageChunk
	if c == nil || n.Meta != nil || c.Meta != nil {
		return false
	}
	t := c.Content.Text
	if t == nil || t.Annotations != nil || t.Meta != nil ||
		!c.Content.onlyText() || !u.onlyAgentMessage() {
		return false
	}
	e.b = append(e.b, `{"sessionId":`...)
	e.string(string(n.SessionID))
	e.b = append(e.b, `,"update":{"sessionUpdate":"agent_message_chunk"`...)
	e.b = append(e.b, `,"content":{"type":"text","text":`...)
	e.string(t.Text)
	e.close()
	if c.MessageID != "" {
		e.key(`"messageId":`)
		e.string(string(c.MessageID))
	}
	e.b = append(e.b, `}}`...)
	return true
}

func (u *SessionUpdate) onlyAgentMessage() bool {
	return u.UserMessageChunk == nil && u.AgentThoughtChunk == nil &&
		u.ToolCall == nil && u.ToolCallUpdate == nil && u.Plan == nil &&
		u.AvailableCommandsUpdate == nil && u.CurrentModeUpdate == nil &&
		u.ConfigOptionUpdate == nil && u.SessionInfoUpdate == nil && u.UsageUpdate == nil &&
		u.Notice == nil && u.CompactionUpdate == nil && u.CompactionSummaryChunk == nil &&
		u.Unknown == nil
}

func (b *ContentBlock) onlyText() bool {
	return b.Image == nil && b.Audio == nil && b.ResourceLink == nil && b.Resource == nil &&
		b.Unknown == nil
}
