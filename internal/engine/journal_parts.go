// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/decision"
)

// Record is a record of a journal, for package transcript, which keeps records as entries of a session.
type Record = record

// The operations of records that package transcript has to tell apart: see [Record].Op.
const (
	RecordModel   = opModel
	RecordTool    = opTool
	RecordCheck   = opCheck
	RecordAsk     = opAsk
	RecordApprove = opApprove
	// RecordAnswer is a decision made while a run waits. The run does not write it: once it learns
	// of the decision, it records its own. See [NewAnswer].
	RecordAnswer = "answer"
)

// NewAnswer returns a record of a decision that the run has not heard of yet.
func NewAnswer(step int, call, tool string, at time.Time, d *model.Decision) *Record {
	return &record{Op: RecordAnswer, Step: step, Call: call, Tool: tool, At: at, Decision: decision.Of(d)}
}

// ReadRecord reads as much of a record as it can. It returns nil if that is nothing.
func ReadRecord(line []byte) *Record {
	r := new(record)
	_ = json.Unmarshal(line, r) // of a record by a newer version, what comes before the message that it cannot read
	if r.Op == "" {
		return nil
	}
	return r
}

// Answer returns the result of the call, as the history has it. It reports false if the record has none.
func (r *record) Answer() (answer model.Part, ok bool) {
	ret := r.Return
	if r.Op != opTool && r.Op != opCheck || ret == nil || waits(&ret.Return) {
		return answer, false
	}
	if ret.Retry {
		return model.Retry(r.Call, r.Tool, ret.Text), true
	}
	answer = model.ToolReturn(r.Call, r.Tool, ret.Text)
	answer.Outcome, answer.Meta, answer.Keep = ret.Outcome, ret.Meta, ret.Keep
	return answer, true
}

func waits(r *engine.Return) bool { return r.Approval != nil || r.Deferred || r.Pending != nil }

// Decided returns the decision of the record, nil if there is none.
func (r *record) Decided() *model.Decision {
	return r.Decision.Decision()
}

// member returns the member of a record that is kept apart from it: the message of a response, or a decision.
func (r *record) member() string {
	switch r.Op {
	case opModel:
		return "response"
	case opApprove:
		return "decision"
	}
	return ""
}

// SplitRecord takes the response or the decision out of a record. It reports whether [JoinRecord] puts it back byte for
// byte.
func SplitRecord(r *Record, line []byte) (value, rest json.RawMessage, ok bool) {
	var members map[string]json.RawMessage
	name := r.member()
	if name == "" || json.Unmarshal(line, &members) != nil {
		return nil, nil, false
	}
	value = members[name]
	at := bytes.LastIndex(line, []byte(`,"`+name+`":`))
	if at < 0 || value == nil {
		return nil, nil, false
	}
	rest = append(bytes.Clone(line[:at]), '}')
	return value, rest, json.Valid(rest) && bytes.Equal(JoinRecord(r, rest, value), line)
}

// JoinRecord puts back what [SplitRecord] has taken out. r may be read from the rest.
func JoinRecord(r *Record, rest, value json.RawMessage) []byte {
	line := append(bytes.Clone(rest[:len(rest)-1]), `,"`+r.member()+`":`...)
	return append(append(line, value...), '}')
}
