// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// Item is an entry of a session, as whoever shows the conversation needs it. Besides the first fields it has those that belong to its
// kind. It is read-only.
type Item struct {
	// Seq, Time, Kind, Run and Key are those of the entry.
	Seq  int64
	Time time.Time
	Kind session.Kind
	Run  string
	Key  string

	// Step is the step of a response, of a streamed piece of one, and of a result. It is 0 if the entry does not say.
	Step int
	// Message is the message of a [session.KindMessage].
	Message *model.Message
	// Piece is a piece of a response that is not complete: its text, or its thoughts if Thinking is set. Part is the part of the response.
	Piece    string
	Thinking bool
	Part     int
	// Result is the result of a tool call of a turn that has not ended. The request that has it comes later, if it comes.
	Result *model.Part
	// Decision is a decision about the call with the id Call, of the tool Tool. Approval is what was shown.
	Decision   *model.Decision
	Approval   *model.Approval
	Call, Tool string
	// Reason is why a turn has ended. To is the turn that the conversation went back to the beginning of, for the reason [Rewound].
	Reason string
	To     string
	// Data is the data of a view that [Turn.Views] has recorded, and of a value.
	Data json.RawMessage
}

// itemOf returns the item of an entry, whose message or end has been read. The entry can be damaged or of a newer version; then it has the first fields only.
func itemOf(e *session.Entry, m *model.Message, end *ended) *Item {
	i := &Item{Seq: e.Seq, Time: e.Time, Kind: e.Kind, Run: e.Run, Key: e.Key}
	switch e.Kind {
	case session.KindMessage:
		i.Message, i.Step = m, stepIn(e.Key)
	case session.KindStep:
		var r taskRecord
		if json.Unmarshal(e.Data, &r) == nil {
			if answer, ok := r.answer(r.Call, r.Tool); ok {
				i.Result, i.Step = &answer, r.Step
			}
		}
	case session.KindDecision:
		i.decision(e)
	case session.KindView:
		if !strings.HasSuffix(e.Key, "/response") {
			i.Data = e.Data
			break
		}
		var p piece
		if json.Unmarshal(e.Data, &p) == nil {
			i.Step, i.Part, i.Piece, i.Thinking = stepIn(e.Key), p.Part, p.Text, p.Kind == model.PartThinking
		}
	case session.KindEnd:
		i.Reason, i.To = end.Reason, end.To
	default:
		i.Data = e.Data
	}
	return i
}

func (i *Item) decision(e *session.Entry) {
	var b body
	var r taskRecord
	if json.Unmarshal(e.Data, &b) != nil {
		return
	}
	d, err := decisionOf(b.Decision, b.Record != nil)
	if err != nil {
		return
	}
	i.Decision, i.Call, i.Tool = d, b.Call, b.Tool
	if b.Shown != nil {
		if a := new(model.Approval); json.Unmarshal(b.Shown, a) == nil {
			i.Approval = a
		}
	}
	if json.Unmarshal(b.Record, &r) == nil {
		i.Step = r.Step
	}
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
