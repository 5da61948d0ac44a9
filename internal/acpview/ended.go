// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// metaStatus marks a piece of a message that tells people how the message ended and is not a part
// of its text. It has the status as a JSON string.
const metaStatus = "ponte-go.dev/status"

// ended tells clients that load a session about answers that are not whole. Other clients are told
// by the answer to their prompt.
func (v *table) ended(d *view.Delta) error {
	if d.Entity == nil || !v.options.Prompts || d.Known != nil && d.Known.Status == d.Entity.Status {
		return nil
	}
	text := d.Entity.Status.Ending()
	if text == "" {
		return nil
	}
	text = "*" + text + "*"
	if len(d.Entity.Content) > 0 {
		text = "\n\n" + text
	}
	status, _ := json.Marshal(d.Entity.Status) // a string always has a JSON form
	c := &acp.ContentChunk{
		MessageID: MessageID(d.ID), Content: acp.TextBlock(text), Meta: map[string]json.RawMessage{metaStatus: status},
	}
	return v.update(acp.SessionUpdate{AgentMessageChunk: c})
}

// StatusOf returns the status that a piece of a message gives the message. It is empty for a piece
// of the text.
func StatusOf(c *acp.ContentChunk) view.Status {
	if len(c.Meta) == 0 || c.Meta[metaStatus] == nil {
		return ""
	}
	var s view.Status
	_ = json.Unmarshal(c.Meta[metaStatus], &s) // another program may use it for something else
	return s
}
