// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent/session/projection"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// unstableUpdates returns updates that are not stable as the connection sends them.
func unstableUpdates(all ...unstable.SessionUpdate) []acp.SessionUpdate {
	updates := make([]acp.SessionUpdate, 0, len(all))
	for i := range all {
		if u, err := all[i].Stable(); err == nil { // it is made here
			updates = append(updates, u)
		}
	}
	return updates
}

// planned returns the update that shows a plan: one of several if the client takes them.
func (r *renderer) planned(e *view.Entity) []acp.SessionUpdate {
	if !r.takes.plans {
		return []acp.SessionUpdate{{Plan: planOf(e)}}
	}
	id := unstable.PlanID(strings.TrimPrefix(e.ID, projection.PlanID+":"))
	if len(e.Steps) == 0 {
		return unstableUpdates(unstable.SessionUpdate{PlanRemoved: &unstable.PlanRemoved{PlanID: id}})
	}
	return unstableUpdates(unstable.SessionUpdate{PlanUpdate: &unstable.PlanUpdate{Plan: unstable.PlanUpdateContent{
		Items: &unstable.PlanItems{PlanID: id, Entries: planOf(e).Entries},
	}}})
}

// subagent is an agent inside a call, as a client that takes sub-agents knows it: a session that only its parent talks to.
func subagent(e *view.Entity) acp.SessionID { return acp.SessionID(messageID(e.ID)) }

// delegated announces an agent inside a call, and what it was asked to do.
func delegated(e, call *view.Entity) []acp.SessionUpdate {
	child := subagent(e)
	all := []unstable.SessionUpdate{{SubagentUpdate: &unstable.SubagentUpdate{
		SessionID: child, Title: new(show.Line(e.Name)), State: &unstable.StateUpdate{Running: &unstable.RunningStateUpdate{}},
	}}}
	if text := taskOf(call); text != "" {
		id := messageID("asked:" + e.ID)
		all = append(all,
			unstable.SessionUpdate{SessionMessage: &unstable.SessionMessage{MessageID: id, RecipientSessionID: child}},
			unstable.SessionUpdate{SessionMessageChunk: &unstable.SessionMessageChunk{MessageID: id, Content: acp.TextBlock(show.Text(text))}})
	}
	return unstableUpdates(all...)
}

// state says what an agent inside a call does now.
func state(e *view.Entity) []acp.SessionUpdate {
	return unstableUpdates(unstable.SessionUpdate{SubagentUpdate: &unstable.SubagentUpdate{SessionID: subagent(e), State: stateOf(e)}})
}

// stateOf returns what an agent inside a call does.
func stateOf(e *view.Entity) *unstable.StateUpdate {
	switch {
	case e.Status == view.Pending:
		return &unstable.StateUpdate{RequiresAction: &unstable.RequiresActionStateUpdate{}}
	case !e.Status.Ended():
		return &unstable.StateUpdate{Running: &unstable.RunningStateUpdate{}}
	}
	reason := string(acp.StopReasonEndTurn)
	if e.Status == view.Cancelled {
		reason = string(acp.StopReasonCancelled)
	}
	idle := &unstable.IdleStateUpdate{StopReason: &reason}
	if e.Status == view.Failed {
		idle.StopReason = nil // none that the protocol knows
	}
	return &unstable.StateUpdate{Idle: idle}
}

// reported shows what an agent inside a call has answered: the result of the call.
func reported(e, call *view.Entity) []acp.SessionUpdate {
	i := slices.IndexFunc(call.Content, func(c view.Content) bool {
		return c.Kind == view.Text && !strings.HasPrefix(c.Text, projection.AllowedByPrefix)
	})
	if i < 0 {
		return nil
	}
	id, text := messageID("answered:"+e.ID), call.Content[i].Text
	return unstableUpdates(
		unstable.SessionUpdate{SessionMessage: &unstable.SessionMessage{MessageID: id, SenderSessionID: subagent(e)}},
		unstable.SessionUpdate{SessionMessageChunk: &unstable.SessionMessageChunk{MessageID: id, Content: acp.TextBlock(show.Text(text))}})
}

// taskOf returns what a call asks an agent to do: the prompt among its arguments, or all of them.
func taskOf(call *view.Entity) string {
	if call == nil {
		return ""
	}
	var in struct{ Prompt string }
	if json.Unmarshal(call.Input, &in) == nil && in.Prompt != "" {
		return in.Prompt
	}
	return string(call.Input)
}

// showSubagent shows that an agent inside a call begins, waits, goes on or ends.
func (r *renderer) showSubagent(s *projection.Shown) {
	if !r.takes.subagents {
		return
	}
	e := s.Entity
	if !e.Status.Ended() {
		r.agents[e.Parent] = e
	}
	if s.Patch == nil {
		r.sendAll(delegated(e, r.calls[e.Parent]))
		return
	}
	r.sendAll(state(e))
}

// noteCall notes a call, for an agent inside it, and shows the result of one that an agent has worked on.
func (r *renderer) noteCall(call *view.Entity) {
	if !r.takes.subagents {
		return
	}
	if !call.Status.Ended() {
		r.calls[call.ID] = call
		return
	}
	e := r.agents[call.ID]
	delete(r.agents, call.ID)
	delete(r.calls, call.ID)
	if e == nil || call.Status != view.Completed {
		return
	}
	r.sendAll(reported(e, call))
}

// wholeSubagent returns the updates that show an agent inside a call as it is, after the call.
func (r *renderer) wholeSubagent(e *view.Entity, all *view.Snapshot) []acp.SessionUpdate {
	if !r.takes.subagents {
		return nil
	}
	call := all.Get(e.Parent)
	updates := delegated(e, call)
	if e.Status != view.Running {
		updates = append(updates, state(e)...)
	}
	if call != nil && call.Status == view.Completed {
		updates = append(updates, reported(e, call)...)
	}
	return updates
}

// tellUsage adds to the answer to a prompt what its turn has used.
func (s *server) tellUsage(ctx context.Context, used *toolset.Usage) {
	if s.unstable && used != nil {
		_ = unstable.ExtendAnswer(ctx, unstable.PromptResponse{Usage: turnUsage(used)}) // numbers have a JSON form
	}
}

// turnUsage is what a turn has used.
func turnUsage(u *toolset.Usage) *unstable.Usage {
	count := func(n int64) uint64 { return uint64(max(n, 0)) }
	part := func(n int64) *uint64 {
		if n <= 0 {
			return nil
		}
		return new(count(n))
	}
	return &unstable.Usage{
		TotalTokens: count(u.TotalTokens()), InputTokens: count(u.InputTokens), OutputTokens: count(u.OutputTokens),
		ThoughtTokens: part(u.ReasoningTokens), CachedReadTokens: part(u.CacheReadTokens), CachedWriteTokens: part(u.CacheWriteTokens),
	}
}
