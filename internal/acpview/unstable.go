// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"encoding/json"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
)

// unstable sends updates that are not stable.
func (v *table) unstable(all ...unstable.SessionUpdate) error {
	for i := range all {
		u, err := all[i].Stable()
		if err != nil {
			continue // it was made here
		}
		if err := v.update(u); err != nil {
			return err
		}
	}
	return nil
}

// plan shows a plan: the only one, or one of several to clients that take them. One that a client
// does not know and that is empty is not shown.
func (v *table) plan(e, known *view.Entity) error {
	if known == nil && len(e.Steps) == 0 {
		return nil
	}
	if !v.options.Plans {
		return v.update(acp.SessionUpdate{Plan: Plan(e.Steps)})
	}
	id := unstable.PlanID(strings.TrimPrefix(e.ID, "plan:"))
	if len(e.Steps) == 0 {
		return v.unstable(unstable.SessionUpdate{PlanRemoved: &unstable.PlanRemoved{PlanID: id}})
	}
	return v.unstable(unstable.SessionUpdate{PlanUpdate: &unstable.PlanUpdate{Plan: unstable.PlanUpdateContent{
		Items: &unstable.PlanItems{PlanID: id, Entries: Plan(e.Steps).Entries},
	}}})
}

// agent shows an agent inside a call, as a session that only its parent talks to.
func (v *table) agent(d *view.Delta) error {
	e := d.Entity
	if !v.options.Subagents || e == nil {
		return nil
	}
	v.agents[e.Parent] = e
	call := v.fold.Get(e.Parent)
	if d.Known == nil {
		if err := v.delegated(e, call); err != nil || e.Status == view.Running {
			return err
		}
	}
	if err := v.unstable(unstable.SessionUpdate{SubagentUpdate: &unstable.SubagentUpdate{SessionID: subagent(e), State: stateOf(e)}}); err != nil {
		return err
	}
	if d.Known == nil && call != nil {
		return v.reported(call, nil)
	}
	return nil
}

// subagent returns the id of an agent inside a call.
func subagent(e *view.Entity) acp.SessionID { return acp.SessionID(MessageID(e.ID)) }

// delegated announces an agent inside a call, and what it was asked to do.
func (v *table) delegated(e, call *view.Entity) error {
	child := subagent(e)
	all := []unstable.SessionUpdate{{SubagentUpdate: &unstable.SubagentUpdate{
		SessionID: child, Title: new(show.Line(e.Name)), State: &unstable.StateUpdate{Running: &unstable.RunningStateUpdate{}},
	}}}
	if text := taskOf(call); text != "" {
		id := MessageID("asked:" + e.ID)
		all = append(all,
			unstable.SessionUpdate{SessionMessage: &unstable.SessionMessage{MessageID: id, RecipientSessionID: child}},
			unstable.SessionUpdate{SessionMessageChunk: &unstable.SessionMessageChunk{MessageID: id, Content: acp.TextBlock(show.Text(text))}})
	}
	return v.unstable(all...)
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

// reported shows what the agent inside a call has answered, when the call has ended: its result.
func (v *table) reported(call, known *view.Entity) error {
	e := v.agents[call.ID]
	if e == nil || call.Status != view.Completed || known != nil && known.Status.Ended() {
		return nil
	}
	text, ok := answerOf(call)
	if !ok {
		return nil
	}
	id := MessageID("answered:" + e.ID)
	return v.unstable(
		unstable.SessionUpdate{SessionMessage: &unstable.SessionMessage{MessageID: id, SenderSessionID: subagent(e)}},
		unstable.SessionUpdate{SessionMessageChunk: &unstable.SessionMessageChunk{MessageID: id, Content: acp.TextBlock(show.Text(text))}})
}

// answerOf returns the result that a call shows.
func answerOf(call *view.Entity) (text string, ok bool) {
	for i := range call.Content {
		if c := &call.Content[i]; c.Kind == view.Text && !strings.HasPrefix(c.Text, view.AllowedBy) {
			return c.Text, true
		}
	}
	return "", false
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
