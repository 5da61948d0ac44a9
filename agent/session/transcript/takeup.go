// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/loop"
)

// reason is why the turn that was cut off ends.
func (h *history) reason() string {
	if len(agent.PendingCalls(h.Messages)) > 0 {
		return Pending
	}
	return Interrupted
}

// dropPending removes the request with the pending calls that the turn has begun with: there is one
// with their results.
func (h *history) dropPending() {
	if n := h.settled; n > 0 && h.before == nil && h.Messages[n-1].Pending {
		h.before, h.beforeSeqs = h.Messages[:n:n], h.seqs[:n:n]
		h.Messages = slices.Delete(slices.Clone(h.Messages), n-1, n)
		h.seqs = slices.Delete(slices.Clone(h.seqs), n-1, n)
		// What is found of inner calls changes the answers, and not what the turn has begun with.
		took := agent.DeferredResults{
			Decisions: maps.Clone(h.answers.Decisions), Results: maps.Clone(h.answers.Results),
		}
		h.settled, h.took, h.answers = n-1, took, agent.DeferredResults{}
	}
}

// resumed takes what is known of a turn that was cut off while it went on with pending calls. It
// returns the request with their results.
func (h *history) resumed(id string, l *leftovers) *model.Message {
	n := h.settled
	switch {
	case n < 1 || len(agent.PendingCalls(h.Messages[:n])) == 0:
		return nil
	case n < 2 || !h.Messages[n-2].HasToolCalls():
		return h.resumedWithoutCall(id, l)
	}
	prompted := len(h.Messages) > n
	response, before, answers := h.Messages[n-2], h.Messages[n-1], h.answers
	h.dropPending()
	m := l.settle(response, before, &answers, id)
	open := slices.ContainsFunc(m.PendingCalls, func(c model.PendingCall) bool {
		_, ok := answers.Results[c.Key()]
		return !ok
	})
	if prompted {
		h.lost = lostIn(m, response)
	}
	if prompted || !open { // nobody will answer
		giveUp(m, response)
	}
	if m.Pending {
		answers.Decisions = nil
		h.answers = answers
	}
	h.Messages, h.seqs = slices.Insert(h.Messages, n-1, m), slices.Insert(h.seqs, n-1, 0)
	return m
}

// lostIn returns the tools of calls that may have run and have no result.
func lostIn(m, response *model.Message) (tools []string) {
	for i := range m.PendingCalls {
		if p := &m.PendingCalls[i]; p.MayHaveRun {
			tools = append(tools, p.Tool)
		}
	}
	for i := range calls(response) {
		p := &response.Parts[i]
		has := func(r model.Part) bool { return r.CallID == p.CallID }
		if !m.Pending && !slices.ContainsFunc(m.Parts, has) {
			tools = append(tools, p.Tool)
		}
	}
	return tools
}

// giveUp answers the calls that still wait: a prompt has taken the place of answers.
func giveUp(m, response *model.Message) {
	rest := restOf(m)
	m.Parts = slices.DeleteFunc(m.Parts, func(p model.Part) bool { return !isResult(&p) })
	for i := range response.Parts {
		p := &response.Parts[i]
		if p.Kind != model.PartToolCall || slices.ContainsFunc(m.Parts, func(r model.Part) bool { return r.CallID == p.CallID }) {
			continue
		}
		if !m.Pending { // no call before it waited, so it may have run
			continue
		}
		c, text := left{part: p}, textNotAllowed
		if slices.ContainsFunc(m.SuspendedCalls, func(s model.SuspendedCall) bool { return s.ID == p.CallID }) {
			text = textUnknown
		}
		for _, w := range m.PendingCalls {
			if at := append(slices.Clone(w.Path), w.ID)[0]; at == p.CallID && w.MayHaveRun {
				c.decision, text = w.Decision, loop.TextLost
			}
		}
		m.Parts = append(m.Parts, c.notRun(text))
	}
	m.Parts = append(m.Parts, rest...)
	m.Pending, m.PendingCalls, m.SuspendedCalls, m.Interrupted = false, nil, nil, true
}

// unstarted resumes a turn that was to continue with pending calls, all of which have been
// answered: the process ended before it did, or at once. Allowed calls are asked about again.
func (h *history) unstarted() {
	calls := agent.PendingCalls(h.Messages)
	allowed := 0
	for i := range calls {
		key := calls[i].Key()
		d, decided := h.answers.Decisions[key]
		if _, ok := h.answers.Results[key]; !ok && !decided {
			return // somebody has to answer first
		}
		if decided && d.Verdict == model.VerdictAllow {
			allowed++
		}
	}
	if len(calls) == 0 {
		return
	}
	if allowed == 0 { // nothing was to run
		h.answers = agent.DeferredResults{}
		return
	}
	h.mark(h.answers)
	for key, d := range h.answers.Decisions {
		if d.Verdict == model.VerdictAllow {
			delete(h.answers.Decisions, key)
		}
	}
}

// takeAnswers reads the answers to the calls that the history ends with. If turn has recorded which
// it was started with, they are those. Calls that were allowed in the parent of this fork may have
// run there, and are allowed only there.
func (h *history) takeAnswers(id, turn string, entries []session.Entry) {
	if h.told != nil && turn != "" && h.told.turn == turn {
		h.told.apply(h)
		return
	}
	pending := agent.PendingCalls(h.Messages)
	var none, elsewhere agent.DeferredResults
	for i := range entries {
		var b body
		if json.Unmarshal(entries[i].Data, &b) != nil || !slices.ContainsFunc(pending, func(c agent.PendingCall) bool { return c.Key() == b.Call }) {
			continue
		}
		var d model.Decision
		r := none.Results[b.Call]
		switch {
		case json.Unmarshal(b.Decision, &d) == nil && d.Verdict == model.VerdictAllow && b.Conversation != id:
			delete(h.answers.Results, b.Call)
			delete(h.answers.Decisions, b.Call)
			elsewhere.Decide(b.Call, d)
		case json.Unmarshal(b.Decision, &d) == nil:
			delete(h.answers.Results, b.Call)
			h.answers.Decide(b.Call, d)
		case json.Unmarshal(b.Result, &r) == nil:
			delete(h.answers.Decisions, b.Call)
			h.answers.Supply(b.Call, r)
		}
	}
	h.mark(elsewhere)
}

// mark marks the pending calls that were allowed.
func (h *history) mark(allowed agent.DeferredResults) {
	was := h.Messages
	h.Messages = agent.MarkAllowed(was, allowed)
	if n := len(was); n > 0 && h.Messages[n-1] != was[n-1] {
		h.marked = h.Messages[n-1]
	}
}
