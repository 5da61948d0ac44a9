// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

const textInterrupted = "Interrupted before a result was produced." + textUnknown

// textGoOn asks the model to continue a response that was cut off.
const textGoOn = "Your response was interrupted. Continue it from where it stopped."

// Repair makes a history valid for providers: results without a call are dropped, and calls without an answer are answered as
// interrupted. The calls of a last response are kept open, unless a prompt follows. Repair is deterministic and idempotent. It
// replaces messages but never changes them, and returns the same slice if there is nothing to do.
func Repair(history []*model.Message, prompt bool) []*model.Message {
	out := history
	changed := false
	for begin := 0; begin < len(history); {
		// A turn is a run of responses (usually one) and the run of requests that follows it.
		responses := begin
		for responses < len(history) && history[responses].Kind == model.KindResponse {
			responses++
		}
		end := responses
		for end < len(history) && history[end].Kind == model.KindRequest {
			end++
		}
		frontier := end == responses && end == len(history) && !prompt
		if turn := repairTurn(history[begin:responses], history[responses:end], frontier); turn != nil {
			if !changed {
				out, changed = slices.Clone(history[:begin]), true
			}
			out = append(append(out, history[begin:responses]...), turn...)
		} else if changed {
			out = append(out, history[begin:end]...)
		}
		begin = end
	}
	return out
}

// repairTurn returns the requests that should follow the responses, or nil if they need no change.
func repairTurn(responses, requests []*model.Message, frontier bool) []*model.Message {
	var open []*model.Part
	for _, m := range responses {
		for i := range m.Parts {
			if m.Parts[i].Kind == model.PartToolCall {
				open = append(open, &m.Parts[i])
			}
		}
	}
	var fixed []*model.Message
	for n, m := range requests {
		kept, rest := withoutOrphans(m.Parts, open)
		if open = rest; kept == nil {
			continue
		}
		if fixed == nil {
			fixed = slices.Clone(requests)
		}
		fixed[n] = m.Clone()
		fixed[n].Parts = kept
	}
	if len(open) == 0 || frontier {
		return fixed
	}
	if fixed == nil {
		fixed = slices.Clone(requests)
	}
	return answerOpen(open, responses[len(responses)-1], fixed)
}

// withoutOrphans returns parts without the results that answer none of the open calls, or nil if
// all parts belong. It also returns the calls that are still open.
func withoutOrphans(parts []model.Part, open []*model.Part) (kept []model.Part, rest []*model.Part) {
	for i := range parts {
		p := &parts[i]
		orphan := answersCall(p)
		for at := 0; orphan && at < len(open); at++ {
			if open[at].CallID == p.CallID {
				open = append(open[:at], open[at+1:]...)
				orphan = false
			}
		}
		switch {
		case orphan && kept == nil:
			kept = append(make([]model.Part, 0, len(parts)), parts[:i]...)
		case !orphan && kept != nil:
			kept = append(kept, *p)
		}
	}
	return kept, open
}

// interrupted is the answer to a call that has none.
//
//go:noinline
func interrupted(call *model.Part) model.Part {
	return model.Part{Kind: model.PartToolReturn, CallID: call.CallID, Tool: call.Tool, Text: textInterrupted, Outcome: model.OutcomeInterrupted}
}

// answersCall reports whether a part is the answer to a tool call.
func answersCall(p *model.Part) bool {
	return p.Kind == model.PartToolReturn || p.Kind == model.PartRetry && p.CallID != ""
}

// answerOpen adds answers for open calls to the first request, before the user's parts.
func answerOpen(open []*model.Part, response *model.Message, requests []*model.Message) []*model.Message {
	answers := make([]model.Part, len(open))
	for i, call := range open {
		answers[i] = interrupted(call)
	}
	if len(requests) == 0 {
		return []*model.Message{{
			Kind: model.KindRequest, Parts: answers, Interrupted: true,
			RunID: response.RunID, ConversationID: response.ConversationID, Time: response.Time,
		}}
	}
	first := requests[0].Clone()
	at := 0
	for at < len(first.Parts) && answersCall(&first.Parts[at]) {
		at++
	}
	parts := make([]model.Part, len(first.Parts)+len(answers))
	copy(parts, first.Parts[:at])
	copy(parts[at:], answers)
	copy(parts[at+len(answers):], first.Parts[at:])
	first.Parts = parts
	requests[0] = first
	return requests
}
