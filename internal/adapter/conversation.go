// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/plainjson"
)

// TryAgain follows the reason when the model is told to try again.
const TryAgain = "\n\nFix this and try again."

// NoText is sent where an API requires text from the user and there is none that it accepts.
const NoText = "(no text)"

// Turns groups adjacent messages of one kind. Each group is one message on the wire.
func Turns(messages []*model.Message) iter.Seq[[]*model.Message] {
	return func(yield func([]*model.Message) bool) {
		for len(messages) > 0 {
			n := 1
			for n < len(messages) && messages[n].Kind == messages[0].Kind {
				n++
			}
			if !yield(messages[:n]) {
				return
			}
			messages = messages[n:]
		}
	}
}

// Without returns the messages without the responses that say nothing, according to says. The
// messages around such a response become one turn: providers refuse empty messages, and some refuse
// two messages of the user in a row.
func Without(messages []*model.Message, says func(*model.Message) bool) []*model.Message {
	for i, msg := range messages {
		if msg.Kind != model.KindResponse || says(msg) {
			continue
		}
		kept := append(make([]*model.Message, 0, len(messages)), messages[:i]...)
		for _, msg := range messages[i+1:] {
			if msg.Kind != model.KindResponse || says(msg) {
				kept = append(kept, msg)
			}
		}
		return kept
	}
	return messages
}

// Says reports whether a part of a response is something that every provider takes: a call, media,
// or text that is not blank.
func Says(p *model.Part) bool {
	switch p.Kind {
	case model.PartText:
		return strings.TrimSpace(p.Text) != ""
	case model.PartThinking, model.PartOpaque, model.PartCitation:
		return false
	}
	return true // also what is not valid, which is reported when it is written
}

// AnswersCall reports whether a part of a request is the result of a tool call, if only that it
// must be tried again.
func AnswersCall(p *model.Part) bool {
	return p.Kind == model.PartToolReturn || p.Kind == model.PartRetry && p.CallID != ""
}

// IsUserContent reports whether a part of a request is something that the user says or shows.
func IsUserContent(p *model.Part) bool {
	return p.Kind == model.PartUser || p.Kind == model.PartMedia || p.Kind == model.PartRetry && p.CallID == ""
}

// Failed reports whether a part that answers a call reports a failed tool.
func Failed(p *model.Part) bool {
	return p.Kind == model.PartRetry || p.Outcome == model.OutcomeFailed || p.Outcome == model.OutcomeDenied ||
		p.Outcome == model.OutcomeInterrupted
}

// Text returns the text of a part of a request as the model is shown it.
func Text(p *model.Part) string {
	if p.Kind == model.PartRetry {
		return p.Text + TryAgain
	}
	return p.Text
}

// Arguments returns the arguments of a call in the history as a JSON object. Servers parse them,
// and refuse the whole request if they are not an object. Invalid arguments are therefore sent as
// the only member of an object, where the model still sees what it wrote.
func Arguments(args model.RawArgs) model.RawArgs {
	trimmed := bytes.TrimSpace(args)
	switch {
	case len(trimmed) == 0, string(trimmed) == "null":
		return model.RawArgs("{}")
	case trimmed[0] == '{' && json.Valid(trimmed):
		return args
	}
	return append(plainjson.AppendString([]byte(`{"invalid_arguments":`), args), '}')
}

// CallIDs makes the ids of one response's tool calls differ. The zero value is ready for use.
type CallIDs struct{ taken map[string]bool }

// Unique returns id, or one like it if it was used before, or a new one if it is empty.
func (c *CallIDs) Unique(id string) string {
	if c.taken == nil {
		c.taken = map[string]bool{}
	}
	if id == "" {
		id = "call_" + rand.Text()
	}
	unique := id
	for n := 2; c.taken[unique]; n++ {
		unique = id + "_" + strconv.Itoa(n)
	}
	c.taken[unique] = true
	return unique
}

// MediaNote replaces media of a response in the history where the wire has no place for it.
// Conversations can thus move between providers.
func MediaNote(p *model.Part) string {
	mediaType, _ := MediaType(p)
	if mediaType == "" {
		mediaType = "media"
	}
	if p.Name != "" {
		return fmt.Sprintf("[%s: %s]", mediaType, p.Name)
	}
	return fmt.Sprintf("[%s]", mediaType)
}
