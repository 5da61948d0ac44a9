// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Op is the kind of a task.
type Op uint8

const (
	// OpModel sends Request to the model.
	OpModel Op = iota + 1
	// OpTool runs Call.
	OpTool
	// OpOutput makes the run's output: from Call if it is set, otherwise from Media and Text, or
	// from Text alone.
	OpOutput
	// OpApprove requests a decision about Call. It is used only if the run has an asker.
	OpApprove
	// OpInbox takes the messages that were sent into the run: urgent ones, or all of them if AtEnd is set.
	OpInbox
	// OpPrepare makes what the next request offers the model, or what the calls of a response that a history ends with were
	// offered by. If Process is set, history processors run first.
	OpPrepare
	// OpCheck decodes and checks the arguments of calls: see Checks.
	OpCheck
	// OpPreview finds out whether Call needs approval, and describes the approval. It is used only
	// for tools with [Tool.Asks].
	OpPreview
	// OpStep combines OpPrepare, OpModel and OpCheck, for engines that ask for it with
	// Beginning.Fuse. Its result combines their results up to the first failure: without an Offer,
	// preparing failed; without a Response, the request did. Checks are calls that name the tools
	// whose last calls failed, with their Attempt.
	OpStep
)

// String returns the operation's name, such as "model".
func (o Op) String() string {
	if int(o) < len(opNames) && opNames[o] != "" {
		return opNames[o]
	}
	return "op(" + strconv.Itoa(int(o)) + ")"
}

var opNames = [...]string{
	OpModel: "model", OpTool: "tool", OpOutput: "output", OpApprove: "approve", OpInbox: "inbox",
	OpPrepare: "prepare", OpCheck: "check", OpPreview: "preview", OpStep: "step",
}

// Task is one piece of work for a [Worker]. Its fields say all that another process needs to do it, apart from Call.Decoded,
// which saves this process a second decoding. Which fields are set depends on Op.
type Task struct {
	// Op is the kind of the task.
	Op Op `json:"-"`
	// Process belongs to OpPrepare: history processors run first.
	Process bool `json:"process,omitempty"`
	// Stream is set if the run is watched. Deltas of an OpModel and events of user code then go to
	// the listener.
	Stream bool `json:"stream,omitempty"`
	// Complete belongs to OpOutput: the model had finished Text.
	Complete bool `json:"complete,omitempty"`
	// AtEnd belongs to OpInbox: the run is about to end.
	AtEnd bool `json:"at_end,omitempty"`
	// Emits is set if the worker may call the listener from other goroutines. The engine must then
	// not execute the task on the run's goroutine, which is where the listener is called.
	Emits bool `json:"emits,omitempty"`
	// Beside is how many calls of the step may be executed at the same time from now on, this one
	// included. It is zero for a call that is executed alone.
	Beside uint16 `json:"-"`
	// Info describes the run as of the step's OpPrepare. Its Messages are the history up to the request. It is shared and must not
	// be changed. It does not change before the next step.
	Info *toolset.RunInfo `json:"-"`
	// Options are the options of the run that are data. They are set if the run has its own engine.
	Options *Options `json:"-"`
	// Request is the request of an OpModel.
	Request *model.Request `json:"-"`
	// Checks are the calls of an OpCheck, in the order in which the model made them.
	Checks []Check `json:"-"`
	// Call is the tool call of an OpTool, OpPreview or OpApprove, and of an OpOutput that is made by a call.
	Call *Call `json:"-"`
	// Approval is the approval that an OpApprove requests.
	Approval *toolset.Approval `json:"approval,omitempty"`
	// grant is nil if the task has the whole room under the limits of the run.
	grant *grant
	// Text and Media are the input of an OpOutput without a call. In an OpApprove, Text describes
	// the invalid arguments of the last decision, if any.
	Text  string       `json:"text,omitempty"`
	Media []model.Part `json:"media,omitempty"`
}

// Count counts what a task has used elsewhere on the meter of the run. An engine calls it on the run's goroutine for each result that
// was not made under that meter: because it comes from another process, or because it was recorded.
func (t *Task) Count(d *Done) {
	if d.Used != nil && t.Info != nil && t.Info.Meter != nil {
		t.Info.Meter.Add(*d.Used)
	}
}

// Key identifies the task within its run: it is the same when the run is repeated. It has the id of the call as [model.EscapeID] returns
// it. Tasks that agree in operation, step and call, such as
// the second preview of a call, have the same key. They are never under way at the same time, so the engine can number them in the
// order in which they are started.
func (t *Task) Key() string {
	key := fmt.Sprintf("%d/%s", stepOf(t), t.Op)
	switch {
	case t.Op == OpInbox && t.AtEnd:
		key += "/end"
	case t.Op == OpTool && t.Call.Approved:
		key += "/" + model.EscapeID(t.Call.ID) + "/approved"
	case t.Call != nil:
		key += "/" + model.EscapeID(t.Call.ID)
	}
	return key
}

// Call is a tool call that is to be executed.
type Call struct {
	toolset.Call
	// Decoded are the decoded arguments, or nil. It never leaves the process: a worker that has none decodes Args.
	Decoded any
}

// Check is a call whose arguments are to be decoded. The worker sets Decoded of the call if they are valid.
type Check struct {
	// Call is the call. Its arguments come from the model or from a person.
	Call *Call `json:"-"`
	// Complete is set if the model had finished the arguments. Missing ends may then be added.
	Complete bool `json:"complete,omitempty"`
	// Own is set if the tool's own check runs as well ([Tool.Checks]).
	Own bool `json:"own,omitempty"`
}
