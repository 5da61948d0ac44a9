// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"fmt"
)

// These are the parts of the protocol's messages that the tests look at. They are written down here again, and not taken from
// acpbridge/acp, so that a mistake there is not made here too.

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d) %s", e.Message, e.Code, e.Data) }

type updateNotification struct {
	SessionID string `json:"sessionId"`
	Update    update `json:"update"`
}

type update struct {
	Kind string `json:"sessionUpdate"`
	toolCall
}

// text returns what a chunk says.
func (u *update) text() string {
	var content struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(u.RawContent, &content) // other contents say nothing
	return content.Text
}

type toolCall struct {
	ID         string          `json:"toolCallId"`
	ToolKind   string          `json:"kind"`
	Title      string          `json:"title"`
	Status     string          `json:"status"`
	RawContent json.RawMessage `json:"content"` // one content block of a chunk, a list of a tool call
	Locations  []struct {
		Path string `json:"path"`
	} `json:"locations"`
}

// content returns what a tool call shows.
func (c *toolCall) content() []toolContent {
	var list []toolContent
	_ = json.Unmarshal(c.RawContent, &list) // of a chunk there is none
	return list
}

type toolContent struct {
	Type       string  `json:"type"`
	Path       string  `json:"path"`
	OldText    *string `json:"oldText"`
	NewText    string  `json:"newText"`
	TerminalID string  `json:"terminalId"`
}

type permissionRequest struct {
	SessionID string             `json:"sessionId"`
	ToolCall  toolCall           `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type object = map[string]any
