// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// A turn is the user's last request and the work done on it.
type turn struct {
	prompt string
	// earlier are the requests before, the last one last.
	earlier []string
	// undo is the checkpoint of the last undo, as a text of digits; it is empty if there was none.
	undo string
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
	begun := false
	for _, m := range messages {
		if prompt, ok := promptOf(m); ok {
			if begun {
				t.earlier = append(t.earlier, t.prompt)
			}
			t.prompt, t.exchanges, begun = prompt, nil, true
			continue
		}
		for i := range m.Parts {
			switch p := &m.Parts[i]; {
			case p.Kind == model.PartToolCall:
				t.calls++
				t.exchanges = append(t.exchanges, exchange{call: p})
			case p.Kind == model.PartToolReturn && p.Tool == toolUndo && undoCheckpoint().MatchString(p.Text):
				t.undo = undoCheckpoint().FindStringSubmatch(p.Text)[1]
				fallthrough
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

// promptOf returns what the user says in a message. Text that a tool adds to its results on behalf
// of the user does not count as a prompt. A prompt may come with results that only report the
// interruption of an earlier turn.
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
