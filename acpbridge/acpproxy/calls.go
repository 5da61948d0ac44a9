// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/agentcall"
	"github.com/ponte-go/ponte/toolset"
)

// calls are the announced tool calls that have not ended. A question about one is judged by
// everything the agent reported about it. Beyond their bounds nothing is kept: the policy then
// knows what the question itself says.
type calls struct {
	open map[callKey]acp.ToolCallUpdate
	size map[callKey]int
	sum  int
}

type callKey struct {
	session acp.SessionID
	call    acp.ToolCallID
}

// Bounds of what is kept.
const (
	maxCalls     = 1000
	maxCallBytes = 4 << 20
)

// note keeps what an update says of a tool call.
func (c *calls) note(h *acp.Header) {
	if !bytes.Contains(h.Params, []byte(`"tool_call`)) && !bytes.Contains(h.Params, []byte(`\`)) {
		return // the many chunks of text need not be decoded
	}
	var n acp.SessionNotification
	if acp.Unmarshal(h.Params, &n) != nil {
		return
	}
	var u acp.ToolCallUpdate
	switch {
	case n.Update.ToolCall != nil:
		t := n.Update.ToolCall
		u = acp.ToolCallUpdate{ToolCallID: t.ToolCallID, Kind: t.Kind, Status: t.Status, Title: &t.Title, Name: t.Name, Content: t.Content, Locations: t.Locations, RawInput: t.RawInput}
	case n.Update.ToolCallUpdate != nil:
		u = *n.Update.ToolCallUpdate
	default:
		return
	}
	key := callKey{n.SessionID, u.ToolCallID}
	if u.Status == acp.ToolCallStatusCompleted || u.Status == acp.ToolCallStatusFailed {
		c.forget(key)
		return
	}
	merged := c.merged(key.session, u)
	size := c.size[key] + len(h.Params)
	if c.open == nil {
		c.open, c.size = map[callKey]acp.ToolCallUpdate{}, map[callKey]int{}
	}
	if _, known := c.open[key]; !known && len(c.open) >= maxCalls || c.sum+len(h.Params) > maxCallBytes {
		c.forget(key)
		return
	}
	c.sum += len(h.Params)
	c.open[key], c.size[key] = merged, size
}

func (c *calls) forget(key callKey) {
	c.sum -= c.size[key]
	delete(c.open, key)
	delete(c.size, key)
}

// merged returns an update with what was said before of what it does not say, or takes back: a call
// that was to change something is not harmless because its question shows less.
func (c *calls) merged(session acp.SessionID, u acp.ToolCallUpdate) acp.ToolCallUpdate {
	before, ok := c.open[callKey{session, u.ToolCallID}]
	if !ok {
		return u
	}
	if u.Kind == "" || before.Kind != "" && !harmless(before.Kind) {
		u.Kind = before.Kind
	}
	if u.Title == nil {
		u.Title = before.Title
	}
	if u.Name == nil {
		u.Name = before.Name
	}
	u.Content, u.Locations = slices.Clip(u.Content), slices.Clip(u.Locations)
	if len(u.Content) == 0 {
		u.Content = before.Content
	} else {
		for _, c := range before.Content {
			shows := func(n acp.ToolCallContent) bool {
				same := n.Diff != nil && c.Diff != nil && n.Diff.Path == c.Diff.Path
				return same || n.Terminal != nil && c.Terminal != nil
			}
			if c.Content == nil && !slices.ContainsFunc(u.Content, shows) {
				u.Content = append(u.Content, c)
			}
		}
	}
	u.Locations = append(u.Locations, before.Locations...)
	if !bytes.Equal(u.RawInput, before.RawInput) {
		named := agentcall.Call{Kind: toolset.KindRead, Input: before.RawInput}
		for _, e := range named.Effects("") {
			if e.Path != "" {
				u.Locations = append(u.Locations, acp.ToolCallLocation{Path: e.Path})
			}
		}
	}
	empty := strings.Trim(string(u.RawInput), " \t\r\n{}[]")
	hides := !agentcall.Known(before.RawInput, true) && agentcall.Known(u.RawInput, true)
	if empty == "" || empty == "null" || hides {
		u.RawInput = before.RawInput
	}
	return u
}

// harmless reports whether calls of a kind claim to change nothing.
func harmless(kind acp.ToolKind) bool {
	switch kind {
	case acp.ToolKindRead, acp.ToolKindSearch, acp.ToolKindThink, acp.ToolKindFetch:
		return true
	}
	return false
}
