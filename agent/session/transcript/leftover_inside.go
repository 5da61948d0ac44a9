// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/loop"
)

// Texts for the model about an agent that had the conversation when the process ended. Its history
// was lost with the process.
const (
	textAgentLost  = "The agent that this conversation was handed over to was interrupted: the process ended before its answer was recorded. It had made these calls:"
	textResultLost = "The call has ended. Its result is lost."
)

// withoutCall returns what is known of the calls of an agent that no call of the model has started:
// the conversation stays with it, or a text has handed over to it. waited are lines about calls
// that it has waited for. It returns nil if the agent has made no calls.
func (l *leftovers) withoutCall(conversation string, waited ...string) *model.Message {
	m := &model.Message{
		Kind: model.KindRequest, Interrupted: true, RunID: l.turn, ConversationID: conversation,
		HandOver: new(model.HandOver),
	}
	lines := waited
	var step *leftovers
	var response *model.Message
	tell := func() {
		for i := range calls(response) {
			lines = append(lines, step.line(&response.Parts[i], m))
		}
	}
	for i := range l.inner {
		in := &l.inner[i]
		if len(in.path) != 1 {
			continue
		}
		if in.Op == engine.RecordModel {
			tell()
			step, response = &leftovers{turn: l.turn}, nil
			if in.Response == nil {
				continue
			}
			response, m.Time = loop.Normalise(in.Response, in.Step), in.At
		}
		if step != nil {
			step.own = append(step.own, in.Record)
		}
	}
	if tell(); lines == nil {
		return nil
	}
	m.Parts = []model.Part{model.User(textAgentLost + "\n" + strings.Join(lines, "\n"))}
	return m
}

// calls yields the indexes of the calls of a response, which may be nil.
func calls(response *model.Message) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; response != nil && i < len(response.Parts); i++ {
			if response.Parts[i].Kind == model.PartToolCall && !yield(i) {
				return
			}
		}
	}
}

// line describes how a call ended, without the tool's result, which must not be read as the words
// of the user.
func (l *leftovers) line(p *model.Part, m *model.Message) string {
	c, text := l.of(p, nil, nil, m), textUnknown
	switch {
	case c.denied:
		text = textDenied
	case c.answer != nil:
		text = textResultLost
	case c.mayHaveRun():
		text = loop.TextLost
	case c.asked:
		text = textNotAllowed
	}
	return fmt.Sprintf("- %s %s: %s", p.Tool, c.pending.Args, text)
}

// resumedWithoutCall reads the records of a turn that was cut off while it continued with an agent
// that no call of the model has started. It returns the request with the calls that the agent waits
// for, nil if the agent cannot continue.
func (h *history) resumedWithoutCall(id string, l *leftovers) *model.Message {
	n := h.settled
	prompted, answers, before := len(h.Messages) > n, h.answers, h.Messages[n-1]
	if len(before.SuspendedCalls) != 1 {
		return nil
	}
	h.dropPending()
	c := &left{part: &model.Part{CallID: before.SuspendedCalls[0].ID}, inside: before.PendingCalls}
	l.lookInside(c, &answers)
	open := slices.ContainsFunc(before.PendingCalls, func(p model.PendingCall) bool {
		_, ok := answers.Results[p.Key()]
		return !ok
	})
	m := *before
	m.RunID = l.turn
	marked := agent.MarkAllowed([]*model.Message{&m}, answers)[0]
	if c.answer != nil || prompted || !open {
		marked = l.withoutCall(id, waitedLines(marked.PendingCalls, &answers)...)
	} else {
		answers.Decisions = nil
		h.answers = answers
	}
	h.Messages, h.seqs = slices.Insert(h.Messages, n-1, marked), slices.Insert(h.seqs, n-1, 0)
	if marked.Pending {
		return marked
	}
	return nil
}

// waitedLines describes how calls ended that an agent has waited for.
func waitedLines(calls []model.PendingCall, answers *agent.DeferredResults) (lines []string) {
	for i := range calls {
		p, text := &calls[i], textNotAllowed
		_, has := answers.Results[p.Key()]
		switch {
		case has:
			text = textResultLost
		case p.MayHaveRun:
			text = loop.TextLost
		case answers.Decisions[p.Key()].Verdict == model.VerdictDeny:
			text = textDenied
		}
		lines = append(lines, fmt.Sprintf("- %s %s: %s", p.Tool, p.Args, text))
	}
	return lines
}
