// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// division is how a history divides into turns.
type division struct {
	// head counts the messages ahead of the first turn: system prompts and summaries, which stay.
	head int
	// turns are the indexes at which turns begin, the first at head.
	turns []int
}

func divide(messages []*model.Message) division {
	var d division
	for d.head < len(messages) && (isSystem(messages[d.head]) || isSummary(messages[d.head])) {
		d.head++
	}
	if d.head == len(messages) {
		return d
	}
	d.turns = append(d.turns, d.head)
	for i := d.head; i < len(messages); {
		requests := i
		for requests < len(messages) && messages[requests].Kind == model.KindResponse {
			requests++
		}
		end := requests
		for end < len(messages) && messages[end].Kind == model.KindRequest {
			end++
		}
		if requests > d.head {
			if start := prompt(messages, requests, end); start < end {
				d.turns = append(d.turns, start)
			}
		}
		i = max(end, i+1)
	}
	return d
}

// prompt returns the index of the message that begins a turn among the requests from begin to end,
// after all answers to calls, or end.
func prompt(messages []*model.Message, begin, end int) int {
	start := end
	for i := end - 1; i >= begin && !answers(messages[i]); i-- {
		sentIn := messages[i].RunID != "" && messages[i].RunID == messages[begin-1].RunID
		if says(messages[i]) && !sentIn {
			start = i
		}
	}
	return start
}

// withoutTurns returns the history without its first n turns, of which a leading system prompt
// stays.
func (d *division) withoutTurns(messages []*model.Message, n int) []*model.Message {
	if n == 0 {
		return messages
	}
	out := make([]*model.Message, 0, len(messages))
	out = append(out, messages[:d.head]...)
	if rest := systemOf(messages[d.head]); rest != nil {
		out = append(out, rest)
	}
	return append(out, messages[d.turns[n]:]...)
}

// systemOf returns a message with only the system prompts of m, or nil if m has none.
func systemOf(m *model.Message) *model.Message {
	if m.Kind != model.KindRequest || !slices.ContainsFunc(m.Parts, isSystemPart) {
		return nil
	}
	rest := marked(m, MetaTrimmed, "1")
	rest.Parts = slices.DeleteFunc(rest.Parts, func(p model.Part) bool { return !isSystemPart(p) })
	return rest
}

func isSystemPart(p model.Part) bool { return p.Kind == model.PartSystem }

// isSystem reports whether a message consists of system prompts only.
func isSystem(m *model.Message) bool {
	return m.Kind == model.KindRequest && len(m.Parts) > 0 &&
		!slices.ContainsFunc(m.Parts, func(p model.Part) bool { return !isSystemPart(p) })
}

func isSummary(m *model.Message) bool {
	return m.Kind == model.KindRequest && m.Metadata[MetaSummary] != ""
}

// isAnswer reports whether a part answers a tool call.
func isAnswer(p *model.Part) bool {
	return p.Kind == model.PartToolReturn || p.Kind == model.PartRetry && p.CallID != ""
}

// answers reports whether a message answers tool calls. What else it says comes from the tools.
func answers(m *model.Message) bool {
	if m.Kind == model.KindRequest {
		for i := range m.Parts {
			if isAnswer(&m.Parts[i]) {
				return true
			}
		}
	}
	return false
}

// says reports whether a message is from the user.
func says(m *model.Message) bool {
	return m.Kind == model.KindRequest && !answers(m) && slices.ContainsFunc(m.Parts, func(p model.Part) bool {
		return p.Kind == model.PartUser || p.Kind == model.PartMedia
	})
}
