// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/plainjson"
)

// turn is the part of a history that starts with the last user message.
type turn []*model.Message

// lastTurn returns the last turn of a history. User content returned by tools, next to tool
// results, does not start a turn.
func lastTurn(messages []*model.Message) turn {
	for i, m := range slices.Backward(messages) {
		if m.Kind == model.KindRequest && has(m, model.PartUser) && !has(m, model.PartToolReturn) {
			return messages[i:]
		}
	}
	return messages
}

func has(m *model.Message, kind model.PartKind) bool {
	return slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.Kind == kind })
}

// lastID returns the largest n of the call ids auto_n.
func (t turn) lastID() int {
	last := 0
	for _, m := range t {
		for i := range m.Parts {
			if id, ok := strings.CutPrefix(m.Parts[i].CallID, autoID); ok {
				if n, err := strconv.Atoi(id); err == nil {
					last = max(last, n)
				}
			}
		}
	}
	return last
}

// called reports whether a tool was called.
func (t turn) called(tool string) bool {
	return slices.ContainsFunc(t, func(m *model.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.Kind == model.PartToolCall && p.Tool == tool })
	})
}

// summary returns the results of the tools as a JSON object, in order.
func (t turn) summary() string {
	text := []byte("{")
	for _, m := range t {
		for i := range m.Parts {
			p := &m.Parts[i]
			if p.Kind != model.PartToolReturn {
				continue
			}
			if len(text) > 1 {
				text = append(text, ',')
			}
			text = append(appendString(text, p.Tool), ':')
			if json.Valid([]byte(p.Text)) {
				text = append(text, p.Text...)
			} else {
				text = appendString(text, p.Text)
			}
		}
	}
	return string(append(text, '}'))
}

// args returns the arguments of a call, shortened for use in errors.
func (t turn) args(callID string) string {
	for _, m := range slices.Backward(t) {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind == model.PartToolCall && p.CallID == callID {
				return shortText(string(p.Args))
			}
		}
	}
	return "of an unknown call"
}

// appendString appends a string as JSON, without escapes for HTML.
func appendString(dst []byte, s string) []byte {
	text, _ := plainjson.Marshal(s) // encoding a string never fails
	return append(dst, text...)
}
