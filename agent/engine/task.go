// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Op says what a task does.
type Op uint8

const (
	// OpModel sends Request to the model.
	OpModel Op = iota + 1
	// OpTool runs Call.
	OpTool
	// OpOutput makes the run's output: of Call, or of Media and Text if there is no call, or of Text alone.
	OpOutput
	// OpApprove asks somebody about Call. It is used only if there is somebody to ask.
	OpApprove
	// OpInbox takes the messages that were sent into the run: urgent ones, or all of them if AtEnd is set.
	OpInbox
)

// Task is one piece of work for a [Worker]. Its fields say all that another process needs to do it, apart from Call.Decoded,
// which saves this process a second decoding. Which fields are set depends on Op.
type Task struct {
	// Op says what the task does.
	Op Op
	// Step is the step of the run, counted from 1.
	Step int
	// Request is the request of an OpModel. Stream says that deltas go to the listener.
	Request *model.Request
	Stream  bool
	// Call is the tool call of an OpTool or OpApprove, and of an OpOutput that is made by a call. An OpApprove also has what is
	// to be approved, and in Text what was wrong with the arguments of the last decision.
	Call     *Call
	Approval *toolset.Approval
	// Text and Media are what an OpOutput without a call is made of. Complete says that the model had finished the text.
	Text     string
	Media    []model.Part
	Complete bool
	// AtEnd belongs to OpInbox.
	AtEnd bool
	// Emits says that the worker may call the listener from goroutines of its own. The engine must not execute the task on the
	// run's goroutine then, because that is where the listener is called.
	Emits bool
}

// Call is a tool call that is to be executed.
type Call struct {
	toolset.Call
	// Decoded are the decoded arguments, or nil. It never leaves the process: a worker that has none decodes Args.
	Decoded any
}
