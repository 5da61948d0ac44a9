// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// replay shows a client everything that a session shows, if it asks for it.
func (s *server) replay(ctx context.Context, session *session, all bool) error {
	if !all {
		return nil
	}
	snapshot, _, err := session.hosted.Snapshot(ctx)
	if err != nil {
		return s.failure("the session cannot be loaded", session.id, err)
	}
	r := newRenderer(ctx, session, s.log)
	for e := range snapshot.All() {
		for _, u := range r.whole(e, snapshot) {
			if err := s.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: session.id, Update: u}); err != nil {
				return err
			}
		}
	}
	return nil
}

// whole returns the updates that show an entity as it is.
func (r *renderer) whole(e *view.Entity, all *view.Snapshot) []acp.SessionUpdate {
	switch e.Kind {
	case view.Message, view.Thought:
		return chunks(e)
	case view.ToolCall:
		return []acp.SessionUpdate{{ToolCall: wholeCall(e, all)}}
	case view.Plan:
		if len(e.Steps) == 0 { // nothing shows it any more
			return nil
		}
		return r.planned(e)
	case view.SubAgent:
		return r.wholeSubagent(e, all)
	case view.Usage:
		if u := e.Usage; u != nil {
			return []acp.SessionUpdate{usageUpdate(u)}
		}
	case view.Session:
		return []acp.SessionUpdate{infoUpdate(e)}
	case view.Notice:
		return r.noticed(e)
	case view.Compaction:
		return r.compacted(e)
	}
	return nil
}

// usageUpdate says how full the context is, and what the session has cost.
func usageUpdate(u *view.Tokens) acp.SessionUpdate {
	all := &acp.UsageUpdate{Used: u.Used, Size: u.Size}
	if u.Cost > 0 {
		all.Cost = &acp.Cost{Amount: u.Cost, Currency: u.Currency}
	}
	return acp.SessionUpdate{UsageUpdate: all}
}

// chunks returns a message or a thought.
func chunks(e *view.Entity) []acp.SessionUpdate {
	var all []acp.SessionUpdate
	id := messageID(e.ID)
	for i := range e.Content {
		c := &acp.ContentChunk{MessageID: id, Content: blockOf(&e.Content[i])}
		switch {
		case e.Kind == view.Thought:
			all = append(all, acp.SessionUpdate{AgentThoughtChunk: c})
		case e.Role == view.User:
			all = append(all, acp.SessionUpdate{UserMessageChunk: c})
		default:
			all = append(all, acp.SessionUpdate{AgentMessageChunk: c})
		}
	}
	return all
}

// wholeCall returns a tool call as it is, with the name of its agent before the title.
func wholeCall(e *view.Entity, all *view.Snapshot) *acp.ToolCall {
	c := &acp.ToolCall{
		ToolCallID: acp.ToolCallID(strings.TrimPrefix(e.ID, "call:")), Title: e.Title, Kind: acp.ToolKind(e.Class), Status: acp.ToolCallStatus(e.Status),
		Content: toolContent(e), Locations: locationsOf(e.Locations), RawInput: e.Input, RawOutput: e.Output,
	}
	if e.Name != "" {
		c.Name = &e.Name
	}
	if agent := all.Get(e.Parent); agent != nil && agent.Kind == view.SubAgent && agent.Name != "" {
		c.Title = agent.Name + ": " + e.Title
	}
	switch e.Status {
	case view.Pending, view.Running, view.Completed, view.Failed:
	default:
		c.Status = acp.ToolCallStatusFailed
	}
	return c
}

// infoUpdate returns what a list of sessions shows of the session.
func infoUpdate(e *view.Entity) acp.SessionUpdate {
	u := &acp.SessionInfoUpdate{}
	if e.Title != "" {
		u.Title = acp.Replace(e.Title)
	}
	if !e.Updated.IsZero() {
		u.UpdatedAt = acp.Replace(stamp(e.Updated))
	}
	return acp.SessionUpdate{SessionInfoUpdate: u}
}
