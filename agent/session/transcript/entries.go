// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// taskRecord is what this package needs to know of a record of a journal.
type taskRecord struct {
	Op       string          `json:"op"`
	Step     int             `json:"step"`
	Call     string          `json:"call"`
	Tool     string          `json:"tool"`
	At       time.Time       `json:"at"`
	Response json.RawMessage `json:"response"`
	Decision json.RawMessage `json:"decision"`
	Approval json.RawMessage `json:"approval"`
	Return   *returned       `json:"return"`
	Inbox    [][]model.Part  `json:"inbox"`
}

// returned is the result of a tool in a record.
type returned struct {
	Text     string          `json:"text"`
	Retry    bool            `json:"retry"`
	Outcome  model.Outcome   `json:"outcome"`
	Content  []model.Part    `json:"content"`
	Meta     json.RawMessage `json:"meta"`
	Keep     string          `json:"keep"`
	Approval json.RawMessage `json:"approval"`
	Deferred bool            `json:"deferred"`
	Pending  json.RawMessage `json:"pending"`
}

// waits reports whether the call has no result yet.
func (r *returned) waits() bool { return r.Approval != nil || r.Deferred || r.Pending != nil }

// answer returns the result of a call as the history has it. It reports false if the record has none.
func (r *taskRecord) answer(call, tool string) (answer model.Part, ok bool) {
	if r.Op != "tool" && r.Op != "check" || r.Return == nil || r.Return.waits() {
		return answer, false
	}
	if r.Return.Retry {
		return model.Retry(call, tool, r.Return.Text), true
	}
	answer = model.ToolReturn(call, tool, r.Return.Text)
	answer.Outcome, answer.Meta, answer.Keep = r.Return.Outcome, r.Return.Meta, r.Return.Keep
	return answer, true
}

// decisionOf reads a decision. A record of a journal has the arguments as a string.
func decisionOf(data json.RawMessage, record bool) (*model.Decision, error) {
	if !record {
		d := new(model.Decision)
		return d, json.Unmarshal(data, d)
	}
	var d struct {
		model.Decision
		Args model.RawArgs `json:"args"`
	}
	err := json.Unmarshal(data, &d)
	d.Decision.Args = json.RawMessage(d.Args)
	return &d.Decision, err
}

// body is the data of the entries of a turn, apart from steps, whose data is the record.
type body struct {
	// Message is the message of a [session.KindMessage].
	Message json.RawMessage `json:"message,omitempty"`
	// Conversation is the id of the conversation, for a message with a Record and for an answer to a pending call: in a fork, that of the session that it was forked from.
	Conversation string `json:"conversation,omitempty"`
	// Decision and Shown are the decision of a [session.KindDecision] about Call, a call of Tool, and what was shown to whoever made it.
	Call     string          `json:"call,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	Shown    json.RawMessage `json:"shown,omitempty"`
	// Result is the result that somebody has supplied, in place of a decision.
	Result json.RawMessage `json:"result,omitempty"`
	// Record is the rest of the record that a message or decision was taken from.
	Record json.RawMessage `json:"record,omitempty"`
}

// piece is a piece of text that was streamed: pieces are the data of entries with the key of the response.
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
	// Keep is how many messages of the history before the turn stay, and Messages are the numbers of the entries with those that follow.
	Keep     int     `json:"keep"`
	Messages []int64 `json:"messages"`
	// To is the run of the turn that the conversation went back to the beginning of.
	To string `json:"to,omitempty"`
	// Settled is a message without an entry that follows them: the results of the calls before a turn that went.
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
	// Refused means that the provider withheld the answer. The history is the one before the turn.
	Refused = "refused"
	// Rewound is the reason of an end that is of no turn: the conversation went back. See [Conversation.Rewind].
	Rewound = "rewound"
)

// Claimed is the key in a message's metadata that says that a client has claimed the message: nothing proves that it was said.
const Claimed = "claimed"

func responseKey(step int) string { return fmt.Sprintf("%d/response", step) }

// split takes the last member out of a record. It reports whether join puts it back byte for byte.
func split(line []byte, member string, value json.RawMessage) (rest json.RawMessage, ok bool) {
	at := bytes.LastIndex(line, []byte(`,"`+member+`":`))
	if at < 0 || value == nil {
		return nil, false
	}
	rest = append(bytes.Clone(line[:at]), '}')
	return rest, json.Valid(rest) && bytes.Equal(join(rest, member, value), line)
}

// join puts a member back at the end of a record.
func join(rest []byte, member string, value json.RawMessage) []byte {
	line := append(bytes.Clone(rest[:len(rest)-1]), `,"`+member+`":`...)
	return append(append(line, value...), '}')
}

// entryOf returns the entry for a record. shown has what was last shown of each call.
func entryOf(conversation, run string, line []byte, top bool, shown map[string]json.RawMessage) (session.Entry, *taskRecord) {
	step := session.Entry{Kind: session.KindStep, Run: run, Data: bytes.Clone(line)}
	var r taskRecord
	if json.Unmarshal(line, &r) != nil || r.Op == "" {
		return step, nil
	}
	step.Time, step.Key = r.At, fmt.Sprintf("%d/%s", r.Step, r.Op)
	if r.Call != "" {
		step.Key += "/" + r.Call
	}
	if r.Op == "ask" {
		shown[r.Call] = r.Approval
	}
	e := session.Entry{Time: r.At, Run: run, Key: step.Key}
	var b body
	var ok bool
	switch {
	case r.Op == "model" && top:
		e.Kind, e.Key, b.Message, b.Conversation = session.KindMessage, responseKey(r.Step), r.Response, conversation
		b.Record, ok = split(line, "response", r.Response)
	case r.Op == "approve":
		e.Kind, b.Decision, b.Call, b.Tool, b.Shown = session.KindDecision, r.Decision, r.Call, r.Tool, shown[r.Call]
		b.Record, ok = split(line, "decision", r.Decision)
	}
	if !ok {
		return step, &r
	}
	var err error
	if e.Data, err = marshal(b); err != nil {
		return step, &r
	}
	return e, &r
}

// marshal writes JSON without escaping what HTML would need, so that raw JSON stays as it is.
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
	switch {
	case json.Unmarshal(e.Data, &b) != nil || b.Record == nil:
		return nil
	case e.Kind == session.KindMessage:
		return join(b.Record, "response", b.Message)
	}
	return join(b.Record, "decision", b.Decision)
}
