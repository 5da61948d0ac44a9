// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent/model"
)

// unanswered returns the messages after the last response of a history, which are new in this
// request. Recording only these keeps a trace linear in the length of the history.
func unanswered(messages []*model.Message) []*model.Message {
	i := len(messages)
	for i > 0 && messages[i-1].Kind != model.KindResponse {
		i--
	}
	return messages[i:]
}

// note adds events to the run's span for what the loop has told the model about calls and outputs
// since the last time. Not all of it passes through hooks: calls with invalid arguments, denied
// calls and outputs that were refused do not. Step is the number of the request that reports it,
// or 0 at the end of the run.
func (c *current) note(runID string, messages []*model.Message, step int, content content) {
	fresh := unanswered(messages)
	if len(fresh) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(fresh) - 1; i >= 0; i-- {
		if fresh[i] == c.noted {
			fresh = fresh[i+1:]
			break
		}
	}
	for _, m := range fresh {
		c.noted = m
		if m.RunID != runID {
			continue // history
		}
		for i := range m.Parts {
			c.event(&m.Parts[i], step, content)
		}
	}
}

// event adds the event for a part, if it tells of anything but success. c.mu is held.
func (c *current) event(p *model.Part, step int, content content) {
	attrs := make([]attribute.KeyValue, 0, 5)
	name := eventRetry
	switch {
	case p.Kind == model.PartRetry:
	case p.Kind == model.PartToolReturn && p.Outcome != model.OutcomeSuccess:
		name = eventOutcome
		attrs = append(attrs, keyOutcome.String(string(p.Outcome)))
	default:
		return
	}
	if content.on || c.tool(p.Tool) != nil { // else it is the model's own invention, and thereby content
		attrs = appendString(attrs, keyTool, p.Tool)
	}
	attrs = appendString(attrs, keyToolCall, p.CallID)
	if step > 0 {
		attrs = append(attrs, keyStep.Int(step))
	}
	if content.on {
		attrs = append(attrs, keyMessage.String(content.text(p.Text)))
	}
	c.span.AddEvent(name, trace.WithAttributes(attrs...))
}
