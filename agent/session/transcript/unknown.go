// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
)

// unknown returns the calls of the turn that was cut off that may have run and have no result: the
// response that made them and the request that would have their results are the last messages.
func (c *Conversation) unknown() (calls []*model.Part) {
	n := len(c.h.Messages)
	if c.h.Interrupted == "" || n < 2 || !c.h.Messages[n-2].HasToolCalls() || !c.h.Messages[n-1].Interrupted {
		return nil
	}
	response, results := c.h.Messages[n-2], c.h.Messages[n-1]
	for i := range response.Parts {
		p := &response.Parts[i]
		if p.Kind != model.PartToolCall {
			continue
		}
		k := slices.IndexFunc(results.Parts, func(r model.Part) bool { return isResult(&r) && r.CallID == p.CallID })
		if k < 0 {
			calls = append(calls, p)
		}
	}
	return calls
}

// Unknown returns the names of the tools of calls that were cut off: they may have run, and have no
// result. [Conversation.Resume] makes them again, with the same idempotency keys. whole is false if
// an agent had begun inside one of them, or an agent in the background was in the middle of a call.
func (c *Conversation) Unknown() (tools []string, whole bool) {
	for _, p := range c.unknown() {
		tools = append(tools, p.Tool)
	}
	if c.h.Interrupted != "" {
		tools = append(tools, c.h.lost...)
		for _, p := range agent.PendingCalls(c.h.Messages) {
			if p.MayHaveRun { // it was allowed, and has no result
				tools = append(tools, p.Tool)
			}
		}
	}
	return tools, !c.h.insideCut && !c.h.besideCut
}

// Doubt makes the calls that may have run pending, so that a person decides whether they are made
// again. [Conversation.Settle] records it.
func (c *Conversation) Doubt() {
	calls := c.unknown()
	if len(calls) == 0 {
		return
	}
	n := len(c.h.Messages)
	m := *c.h.Messages[n-1]
	m.Interrupted, m.Pending = false, true
	var allowed agent.DeferredResults
	for _, p := range calls {
		one := model.PendingCall{
			ID: p.CallID, Tool: p.Tool, Args: argsOf(p), Approval: &model.Approval{
				Title: "Call " + p.Tool + " again?", Once: true,
			},
		}
		m.PendingCalls = append(m.PendingCalls, one)
		allowed.Decide(one.Key(), model.Decision{Verdict: model.VerdictAllow})
	}
	c.h.Messages = append(c.h.Messages[:n-1:n-1], agent.MarkAllowed([]*model.Message{&m}, allowed)...)
}

// Prompt returns the prompt of the turn, nil if it has none.
func (t *Turn) Prompt() []model.Part { return t.asked }
