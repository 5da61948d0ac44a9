// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// A turn is what the user asked for last and what has been done about it.
type turn struct {
	prompt string
	// exchanges are the tool calls since, with what they gave.
	exchanges []exchange
	// calls counts the tool calls of the whole conversation.
	calls int
}

// An exchange is a tool call and its result.
type exchange struct {
	call   *model.Part
	answer *model.Part // nil if there is none
}

// lastTurn finds the turn in progress.
func lastTurn(messages []*model.Message) turn {
	var t turn
	for _, m := range messages {
		if prompt, ok := promptOf(m); ok {
			t.prompt, t.exchanges = prompt, nil
			continue
		}
		for i := range m.Parts {
			switch p := &m.Parts[i]; {
			case p.Kind == model.PartToolCall:
				t.calls++
				t.exchanges = append(t.exchanges, exchange{call: p})
			case p.Kind == model.PartToolReturn, p.Kind == model.PartRetry && p.CallID != "":
				for j := range t.exchanges {
					if t.exchanges[j].call.CallID == p.CallID && t.exchanges[j].answer == nil {
						t.exchanges[j].answer = p
						break
					}
				}
			}
		}
	}
	return t
}

// promptOf returns what the user says in a message. What a tool adds to its results as if the user had said it is no
// prompt; results that only say that an earlier turn was interrupted may stand beside one.
func promptOf(m *model.Message) (string, bool) {
	if m.Kind != model.KindRequest {
		return "", false
	}
	var said []string
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case model.PartUser:
			if said != nil && strings.HasPrefix(p.Text, "Contents of ") {
				continue // of a file that the prompt mentions
			}
			said = append(said, p.Text)
		case model.PartToolReturn:
			if p.Outcome != model.OutcomeInterrupted {
				return "", false
			}
		case model.PartRetry:
			return "", false
		}
	}
	return strings.Join(said, " "), said != nil
}
