// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"context"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// State is the user's view after some updates.
type State struct {
	// Text is the agent's text, Thoughts its thoughts, and User what was shown as the user's own
	// words.
	Text, Thoughts, User string
	// ToolCalls are the tool calls in the order in which they were announced, with all their
	// updates.
	ToolCalls []acp.ToolCall
	// The last of each, nil or empty if there was none.
	Plan     *acp.Plan
	Commands []acp.AvailableCommand
	Mode     acp.SessionModeID
	Usage    *acp.UsageUpdate
}

// ToolCall returns the tool call with the id, or nil.
func (s *State) ToolCall(id acp.ToolCallID) *acp.ToolCall {
	i := slices.IndexFunc(s.ToolCalls, func(c acp.ToolCall) bool { return c.ToolCallID == id })
	if i < 0 {
		return nil
	}
	return &s.ToolCalls[i]
}

// foldOf returns what a user sees after the updates.
func foldOf(updates []acp.SessionNotification) State {
	var s State
	var text, thoughts, user strings.Builder
	for i := range updates {
		switch u := &updates[i].Update; {
		case u.AgentMessageChunk != nil:
			text.WriteString(blockText(&u.AgentMessageChunk.Content))
		case u.AgentThoughtChunk != nil:
			thoughts.WriteString(blockText(&u.AgentThoughtChunk.Content))
		case u.UserMessageChunk != nil:
			user.WriteString(blockText(&u.UserMessageChunk.Content))
		case u.ToolCall != nil:
			s.ToolCalls = append(s.ToolCalls, *u.ToolCall)
		case u.ToolCallUpdate != nil:
			s.update(u.ToolCallUpdate)
		case u.Plan != nil:
			s.Plan = u.Plan
		case u.AvailableCommandsUpdate != nil:
			s.Commands = u.AvailableCommandsUpdate.AvailableCommands
		case u.CurrentModeUpdate != nil:
			s.Mode = u.CurrentModeUpdate.CurrentModeID
		case u.UsageUpdate != nil:
			s.Usage = u.UsageUpdate
		}
	}
	s.Text, s.Thoughts, s.User = text.String(), thoughts.String(), user.String()
	return s
}

func blockText(b *acp.ContentBlock) string {
	if b.Text == nil {
		return ""
	}
	return b.Text.Text
}

// update applies an update to its tool call. An update of a call that was not announced is a
// violation, and dropped.
func (s *State) update(u *acp.ToolCallUpdate) {
	c := s.ToolCall(u.ToolCallID)
	if c == nil {
		return
	}
	if u.Title != nil {
		c.Title = *u.Title
	}
	if u.Name != nil {
		c.Name = u.Name
	}
	if u.Kind != "" {
		c.Kind = u.Kind
	}
	if u.Status != "" {
		c.Status = u.Status
	}
	if u.Content != nil {
		c.Content = u.Content
	}
	if u.Locations != nil {
		c.Locations = u.Locations
	}
	if u.RawInput != nil {
		c.RawInput = u.RawInput
	}
	if u.RawOutput != nil {
		c.RawOutput = u.RawOutput
	}
	if u.Meta != nil {
		c.Meta = u.Meta
	}
}

// SessionUpdate implements [acp.Client].
func (c *Client) SessionUpdate(ctx context.Context, n *acp.SessionNotification) error {
	if err := c.enter(ctx, acp.MethodSessionUpdate, n); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates = append(c.updates, *n)
	c.checkUpdate(&n.Update)
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// Updates returns the updates so far, of the given sessions, or of all.
func (c *Client) Updates(sessions ...acp.SessionID) []acp.SessionNotification {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(sessions) == 0 {
		return slices.Clone(c.updates)
	}
	var of []acp.SessionNotification
	for _, u := range c.updates {
		if slices.Contains(sessions, u.SessionID) {
			of = append(of, u)
		}
	}
	return of
}

// State returns what the user sees now, of the given sessions or of all.
func (c *Client) State(sessions ...acp.SessionID) State { return foldOf(c.Updates(sessions...)) }

// Await waits until what the user sees of the given sessions, or of all, satisfies cond. It ends
// with ctx, with its cause.
func (c *Client) Await(ctx context.Context, cond func(State) bool, sessions ...acp.SessionID) error {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if cond(c.State(sessions...)) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
