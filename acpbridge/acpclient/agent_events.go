// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// events turns changes of what an agent shows into events of a run. Calls are reported as a run
// reports its own: once, when they start, and when they end.
type events struct {
	emit  func(agent.Event)
	calls map[string]view.Status // those that have been reported
	order []string
}

// change reports a change.
func (e *events) change(c *view.Change) {
	if c.Entity != nil && c.Entity.Kind == view.ToolCall {
		e.call(c.Entity)
	}
	e.emit(agent.Event{Kind: agent.EventCustom, Value: *c})
}

func (e *events) call(call *view.Entity) {
	known, ok := e.calls[call.ID]
	event := agent.Event{
		CallID: call.ID, Tool: toolName(call), ToolTitle: call.Title, ToolKind: toolset.Kind(call.Class), Args: argsOf(call.Input), Valid: true,
	}
	if !ok {
		event.Kind = agent.EventToolCall
		e.emit(event)
		e.order = append(e.order, call.ID)
	}
	began := call.Status == view.Running || call.Status.Ended()
	if began && known != view.Running && !known.Ended() {
		event.Kind = agent.EventToolStart
		e.emit(event)
	}
	if call.Status.Ended() && !known.Ended() {
		event.Kind, event.Result = agent.EventToolResult, resultOf(call)
		e.emit(event)
	}
	e.calls[call.ID] = call.Status
}

// end reports the end of calls that the agent has left open.
func (e *events) end() {
	for _, id := range e.order {
		if !e.calls[id].Ended() {
			e.emit(agent.Event{Kind: agent.EventToolResult, CallID: id, Result: &model.Part{
				Kind: model.PartToolReturn, CallID: id, Outcome: model.OutcomeInterrupted, Text: "The agent ended its turn without the result of this call.",
			}})
		}
	}
}

func toolName(call *view.Entity) string { return cmp.Or(call.Name, call.Class, "tool") }

func argsOf(input json.RawMessage) model.RawArgs {
	if input == nil {
		return nil
	}
	return model.RawArgs(slices.Clone(input))
}

// resultOf returns the result of a call as text: what it shows, or else what came back.
func resultOf(call *view.Entity) *model.Part {
	part := &model.Part{Kind: model.PartToolReturn, CallID: call.ID, Tool: toolName(call), Text: call.Text()}
	if part.Text == "" && call.Output != nil {
		if json.Unmarshal(call.Output, &part.Text) != nil {
			part.Text = string(call.Output)
		}
	}
	if call.Status != view.Completed {
		part.Outcome = model.OutcomeFailed
	}
	return part
}
