// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"encoding/json"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/decision"
	"github.com/ponte-go/ponte/internal/engine"
)

// item is the content of an entry. Besides the first fields it has fields that belong to its kind.
type item struct {
	Kind session.Kind
	Run  string
	Key  string

	// Step is the step of a response, of a streamed piece of one, and of a result. It is 0 if the
	// entry does not say.
	Step int
	// Message is the message of a [session.KindMessage].
	Message *model.Message
	// Piece is a piece of a response that is not complete: its text, or its thoughts if Thinking is
	// set.
	Piece    string
	Thinking bool
	// Result is the result of a tool call of a turn that has not ended. The request that has it
	// comes later, if it comes.
	Result *model.Part
	// Decision is a decision about Call of a turn that has not ended, which its result does not
	// say.
	Decision *model.Decision
	Call     string
	// Inbox are the messages that a run has taken in. The requests that they become come later.
	Inbox [][]model.Part
	// Reason is why a turn has ended. To is the turn that the conversation went back to the
	// beginning of, for the reason [Rewound].
	Reason string
	To     string
	// Given are the answers to pending calls that a turn was started with.
	Given *given
	// Data is the data of a view.
	Data json.RawMessage
}

// isMade reports whether the item is a message that the history of a turn has, and that was not
// said in it: a processor or a command has made it. Earlier versions of this package have given it
// a key that says nothing.
func (i *item) isMade(turn string) bool {
	m := i.Message
	if m == nil || strings.HasPrefix(i.Key, changedPrefix) {
		return m != nil
	}
	other := m.RunID != "" && rootOf(m.RunID) != turn
	return strings.HasPrefix(i.Key, endPrefix) && (other || isSummary(m))
}

// itemOf returns the item of an entry, whose message or end has been read. Of an entry that is
// damaged or of a newer version it has the first fields only.
func itemOf(e *session.Entry, m *model.Message, end *ended) *item {
	i := &item{Kind: e.Kind, Run: e.Run, Key: e.Key}
	switch e.Kind {
	case session.KindMessage:
		i.Message, i.Step = m, stepIn(e.Key)
	case session.KindStep:
		if r := engine.ReadRecord(e.Data); r != nil {
			i.Decision, i.Call, i.Inbox = r.Decided(), r.Call, r.Inbox
			if answer, ok := r.Answer(); ok {
				i.Result, i.Step = &answer, r.Step
			}
		}
	case session.KindDecision:
		var b body
		var d *decision.Record
		if isAnswer(e) || json.Unmarshal(e.Data, &b) != nil {
			break
		}
		if json.Unmarshal(b.Decision, &d) == nil {
			i.Decision, i.Call = d.Decision(), b.Call
		}
	case session.KindView:
		if !strings.HasSuffix(e.Key, "/response") {
			i.Data = e.Data
			break
		}
		var p piece
		if json.Unmarshal(e.Data, &p) == nil {
			i.Step, i.Piece, i.Thinking = stepIn(e.Key), p.Text, p.Kind == model.PartThinking
		}
	case session.KindValue:
		if isGiven(e) {
			i.Given = readGiven(e)
		}
	case session.KindEnd:
		i.Reason, i.To = end.Reason, end.To
	}
	return i
}

// stepIn returns the step that a key begins with, or 0.
func stepIn(key string) int {
	n := 0
	for i := range len(key) {
		switch c := key[i]; {
		case c == '/' && i > 0:
			return n
		case c < '0' || c > '9' || n > 1<<30:
			return 0
		default:
			n = 10*n + int(c-'0')
		}
	}
	return 0
}
