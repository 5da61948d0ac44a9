// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/engine"
)

// body is the data of the entries of a turn, apart from steps, whose data is the record.
type body struct {
	// Message is the message of a [session.KindMessage].
	Message json.RawMessage `json:"message,omitempty"`
	// Conversation is the id of the conversation, for a message with a Record and for an answer to
	// a pending call. A fork has the id of its parent.
	Conversation string `json:"conversation,omitempty"`
	// Decision and Shown are the decision of a [session.KindDecision] about Call, a call of Tool,
	// and the text that the person saw.
	Call     string          `json:"call,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	Shown    json.RawMessage `json:"shown,omitempty"`
	// Result is a result that was supplied instead of a decision.
	Result json.RawMessage `json:"result,omitempty"`
	// Record is the rest of the record that a message or decision was taken from.
	Record json.RawMessage `json:"record,omitempty"`
}

// piece is a piece of text that was streamed: pieces are the data of entries with the key of the
// response.
type piece struct {
	Part int            `json:"part"`
	Kind model.PartKind `json:"kind"`
	Text string         `json:"text"`
}

// ended is the data of a [session.KindEnd].
type ended struct {
	Version int `json:"v"`
	// Reason is why the turn has ended: see the constants.
	Reason string `json:"reason"`
	// Keep is how many messages of the history before the turn stay, and Messages are the numbers
	// of the entries with those that follow. A negative number counts from the number of the end.
	Keep     int     `json:"keep"`
	Messages []int64 `json:"messages"`
	// To is the run of the turn that the conversation went back to the beginning of.
	To string `json:"to,omitempty"`
	// Settled is a message without an entry that follows them: the results of the calls before a
	// turn that went.
	Settled *model.Message `json:"settled,omitempty"`
}

// endVersion is the version of [ended] that this package writes.
const endVersion = 1

// Why a turn has ended.
const (
	// Done means that the run has an output.
	Done = "done"
	// Pending means that the run waits for answers.
	Pending = "pending"
	// Cancelled means that the run's context has ended.
	Cancelled = "cancelled"
	// Failed means that the run has failed.
	Failed = "failed"
	// Interrupted means that the process ended before the turn did.
	Interrupted = "interrupted"
	// Refused means that the provider withheld the answer. See [Turn.Finish] for the history.
	Refused = "refused"
	// Rewound is the reason of an end that is of no turn: the conversation went back. See
	// [Conversation.Rewind].
	Rewound = "rewound"
)

// Claimed is the key in a message's metadata that marks the message as a client's claim: nothing
// proves that it was said.
const Claimed = "claimed"

func responseKey(step int) string { return fmt.Sprintf("%d/response", step) }

// entryOf returns the entry for a record. shown has what was last shown of each call.
func entryOf(
	conversation, run string, line []byte, top bool, shown map[string]*model.Approval,
) (session.Entry, *engine.Record) {
	step := session.Entry{Kind: session.KindStep, Run: run, Data: bytes.Clone(line)}
	r := engine.ReadRecord(line)
	if r == nil {
		return step, nil
	}
	step.Time, step.Key = r.At, fmt.Sprintf("%d/%s", r.Step, r.Op)
	if r.Call != "" {
		step.Key += "/" + r.Call
	}
	if r.Op == engine.RecordAsk {
		shown[r.Call] = r.Approval
	}
	if r.Op == engine.RecordModel && !top {
		return step, r
	}
	value, rest, ok := engine.SplitRecord(r, line)
	if !ok {
		return step, r
	}
	e, b := session.Entry{Kind: session.KindDecision, Time: r.At, Run: run, Key: step.Key}, body{Record: rest}
	if r.Op == engine.RecordModel {
		e.Kind, e.Key, b.Message, b.Conversation = session.KindMessage, responseKey(r.Step), value, conversation
	} else {
		b.Decision, b.Call, b.Tool, b.Shown = value, r.Call, r.Tool, encodedApproval(shown[r.Call])
	}
	var err error
	if e.Data, err = marshal(b); err != nil {
		return step, r
	}
	return e, r
}

func encodedApproval(a *model.Approval) json.RawMessage {
	if a == nil {
		return nil
	}
	return encoded(a)
}

// marshal writes JSON without the escapes for HTML, which keeps raw JSON unchanged.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// recordOf returns the record that an entry was made of, or nil.
func recordOf(e *session.Entry) []byte {
	if e.Kind == session.KindStep {
		return e.Data
	}
	if e.Kind != session.KindMessage && e.Kind != session.KindDecision {
		return nil
	}
	var b body
	if json.Unmarshal(e.Data, &b) != nil || b.Record == nil {
		return nil
	}
	r := engine.ReadRecord(b.Record)
	switch {
	case r == nil:
		return nil
	case e.Kind == session.KindMessage:
		return engine.JoinRecord(r, b.Record, b.Message)
	}
	return engine.JoinRecord(r, b.Record, b.Decision)
}
