// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/decision"
	"github.com/ponte-go/ponte/toolset"
)

// The operations of records. All except the first belong to a step.
const (
	opStart   = "start"   // the run: always the first record
	opHistory = "history" // a history that was processed
	opInbox   = "inbox"   // messages that came in
	opInboxAt = "inbox_at_end"
	opModel   = "model"
	opTool    = "tool"
	opCheck   = "check" // what a tool's own check says of a call
	opAsk     = "ask"   // that a call needs approval
	opApprove = "approve"
	opOutput  = "output"
	opLost    = "lost" // what a task without a result has used
)

var ops = [...]string{engine.OpModel: opModel, engine.OpTool: opTool, engine.OpOutput: opOutput, engine.OpApprove: opApprove, engine.OpInbox: opInbox}

// key identifies the task of a record.
type key struct {
	op   string
	step int
	call string
	// approved tells the second execution of a tool that had asked for approval from the first.
	approved bool
	// n numbers the keys of a step that agree in all of this, in the order in which the loop
	// reaches them.
	n int
}

func (j *Journal) keyOf(t *engine.Task) key {
	k := key{op: ops[t.Op], step: t.Info.Step}
	switch {
	case t.Op == engine.OpInbox && t.AtEnd:
		k.op = opInboxAt
	case t.Call != nil:
		k.call, k.approved = t.Call.ID, t.Call.Approved
	}
	j.enter(t.Info.Step)
	return j.numbered(k)
}

// enter says in which step the loop is.
func (j *Journal) enter(step int) {
	if step != j.step {
		clear(j.numbers)
		clear(j.asked)
		j.step = step
	}
}

// numbered distinguishes a key from equal keys of the same step.
func (j *Journal) numbered(k key) key {
	n := j.numbers[k]
	j.numbers[k] = n + 1
	k.n = n
	return k
}

// record is one record of a journal. Which of the fields behind At are set depends on Op.
type record struct {
	Op       string `json:"op"`
	Step     int    `json:"step,omitempty"`
	Call     string `json:"call,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Approved bool   `json:"approved,omitempty"`
	N        int    `json:"n,omitempty"`
	// At is when the result was there.
	At time.Time `json:"at"`
	// Used is the task's usage on the run's meter. The loop counts the tool calls.
	Used *toolset.Usage `json:"used,omitempty"`

	Start *start `json:"start,omitempty"`
	// Messages is how many messages a request or the history before processing had; Instructions what
	// a request said, if the one before did not say the same.
	Messages     int               `json:"messages,omitempty"`
	Instructions *string           `json:"instructions,omitempty"`
	Response     *model.Message    `json:"response,omitempty"`
	Return       *returned         `json:"return,omitempty"`
	Decision     *decision.Record  `json:"decision,omitempty"`
	Inbox        [][]model.Part    `json:"inbox,omitempty"`
	Approval     *toolset.Approval `json:"approval,omitempty"`
	History      []span            `json:"history,omitempty"`
	Output       json.RawMessage   `json:"output,omitempty"`
	OutputType   string            `json:"output_type,omitempty"`
	HandOver     *engine.HandOver  `json:"hand_over,omitempty"`
	// None means that a call needs no approval, or is valid. It is recorded if the call was
	// previewed or checked before, or if that took requests.
	None bool `json:"none,omitempty"`
	// Again means that the output cannot be stored as JSON and must be made again.
	Again bool `json:"again,omitempty"`
	// Left are the ids of runs that outlive the call. Adopted has the usage of those whose result the
	// call got. Used does not include it.
	Left    []string                 `json:"left,omitempty"`
	Adopted map[string]toolset.Usage `json:"adopted,omitempty"`

	seq int
}

func (r *record) key() key { return key{r.Op, r.Step, r.Call, r.Approved, r.N} }

// usedOf returns nil for nothing.
func usedOf(u *toolset.Usage) *toolset.Usage {
	if *u == (toolset.Usage{}) {
		return nil
	}
	return u
}

// returned is an [engine.Return] in a record. The cause is its text.
type returned struct {
	engine.Return
	Cause string `json:"cause,omitempty"`
}

func returnOf(r *engine.Return) *returned {
	made := &returned{Return: *r}
	if r.Cause != nil {
		made.Cause = r.Cause.Error()
	}
	return made
}

func (r *returned) loop() engine.Return {
	made := r.Return
	if retry := (&toolset.RetryError{Message: r.Text}); r.Cause == retry.Error() {
		made.Cause = retry
	} else if r.Cause != "" {
		made.Cause = errors.New(r.Cause)
	}
	return made
}

// take sets the result of a task.
func (r *record) take(done *engine.Done, codec Codec) {
	if done.Used != nil {
		r.Used = usedOf(done.Used)
	}
	r.HandOver = done.HandOver
	switch {
	case r.Op == opModel:
		resp := *done.Response
		resp.Kind = model.KindResponse
		r.Response = &resp
	case r.Op == opTool, r.Op == opOutput && (done.Return.Retry || done.HandOver != nil && done.HandOver.Back || done.Return.Pending != nil):
		r.Return = returnOf(&done.Return)
	case r.Op == opOutput:
		var ok bool
		r.OutputType, r.Output, ok = codec.Encode(done.Output)
		r.Again = !ok
	case r.Op == opApprove:
		r.Decision = decision.Of(done.Decision)
	default:
		r.Inbox = done.Inbox
	}
}

// done returns the result of the task.
func (r *record) done(codec Codec) (*engine.Done, error) {
	done := &engine.Done{Response: r.Response, Inbox: r.Inbox, HandOver: r.HandOver, At: engine.TimeOf(r.At)}
	if r.Return != nil {
		done.Return = r.Return.loop()
	}
	if r.Decision != nil {
		done.Decision = r.Decision.Decision()
	}
	if r.Output == nil {
		return done, nil
	}
	var err error
	done.Output, err = codec.Decode(r.OutputType, r.Output)
	return done, err
}

// complete reports whether a stored record has the result of its task.
func (r *record) complete() bool {
	switch r.Op {
	case opStart:
		return r.Start != nil
	case opModel:
		return r.Response != nil
	case opTool:
		return r.Return != nil
	case opCheck:
		return r.Return != nil || r.None
	case opOutput:
		return r.Return != nil || r.Output != nil || r.Again
	case opApprove:
		return r.Decision != nil
	case opAsk:
		return r.Approval != nil || r.None
	case opLost:
		return r.Used != nil
	case opHistory, opInbox, opInboxAt:
		return true
	}
	return false
}

func decodeRecord(line []byte) (*record, error) {
	r := new(record)
	if err := json.Unmarshal(line, r); err != nil {
		if errors.Is(err, model.ErrMessageVersion) {
			return nil, fmt.Errorf("%w: %w", journal.ErrVersion, err)
		}
		return nil, fmt.Errorf("%w: %w", journal.ErrCorrupt, err)
	}
	if !r.complete() {
		return nil, fmt.Errorf("%w: a record about %q says nothing", journal.ErrCorrupt, r.Op)
	}
	return r, nil
}
