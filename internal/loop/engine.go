// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Engine executes the tasks of a run: model requests, tool calls, outputs. It is the loop's one seam to the world.
type Engine interface {
	// Start takes on a task. It does not block; the task runs at the latest when it is waited for.
	Start(ctx context.Context, t *Task) Future
	// WaitAny blocks until one of the futures is done and returns its index. It calls l, on its own goroutine and one call
	// at a time, for what running tasks have to say. A running task is never given up: it ends when its context does.
	WaitAny(futures []Future, l Listener) int
	// Stamp sets the message's time to now, the same at every replay of the run.
	Stamp(m *model.Message)
	// NewID returns a fresh identifier, the same at every replay of the run.
	NewID() string
}

// Future is a task that was started.
type Future interface {
	// Done returns the result, or nil if there is none yet.
	Done() *Done
}

// Op says what a task does.
type Op uint8

const (
	// OpModel sends Request to the model.
	OpModel Op = iota + 1
	// OpTool runs Call.
	OpTool
	// OpOutput makes the run's output of Call or, if that is nil, of Media and Text, or of Text alone.
	OpOutput
	// OpApprove asks somebody about Call. It is only used if there is somebody.
	OpApprove
	// OpInbox takes what was sent into the run: what is urgent, and all of it if AtEnd is set.
	OpInbox
)

// Task is one piece of work for the world outside the loop. Its fields say all that another process would need to do
// it, but for Call.Decoded, which spares this process a second decoding.
type Task struct {
	Op   Op
	Step int
	// Request and Stream belong to OpModel.
	Request *model.Request
	Stream  bool
	// Call belongs to all others, Approval to OpApprove, Text and Media to OpOutput.
	Call     *Call
	Approval *toolset.Approval
	Text     string
	Media    []model.Part
	// Complete says, with Text, that the model had finished it.
	Complete bool
	// AtEnd belongs to OpInbox.
	AtEnd bool
	// Emits says that the task may call the listener from goroutines of its own. The engine must not run it on the run's
	// goroutine then, because that is where the listener is called.
	Emits bool
}

// Call is a tool call that is to be run.
type Call struct {
	ID, Tool string
	Args     model.RawArgs
	Decoded  any
	// Attempt counts the retries so far, MaxRetries how many the model has.
	Attempt, MaxRetries int
	// Approved says that somebody who may has allowed the call, by Decision. Approval is what was shown, if it is known.
	Approved bool
	Approval *toolset.Approval
	Decision *toolset.Decision
	// Resume is set if the call has begun before, and waited for calls inside it.
	Resume *Resume
}

// Resume is what a call goes on with that waited for calls inside it.
type Resume struct {
	State json.RawMessage
	// Answers are those to the calls inside it, by the keys that the tool knows them by; nil if the run has no answers.
	Answers []Answer
}

// Done is what became of a task.
type Done struct {
	// Response is set for OpModel.
	Response *model.Message
	// Return is set for OpTool and, if it asks for a retry, for OpOutput.
	Return Return
	// Output is set for OpOutput. Repaired is the JSON that Text was read as, if it had to be repaired.
	Output   any
	Repaired []byte
	// Decision is set for OpApprove, unless there is an error.
	Decision *toolset.Decision
	// Inbox is set for OpInbox: the parts of each message, in order.
	Inbox [][]model.Part
	// Used is what the task has counted on the run's meter itself, if the worker knows.
	Used *toolset.Usage
	// Err ends the run.
	Err error
}

// Return is how a tool call ended.
type Return struct {
	// Text is what the model is shown, or why it should try again.
	Text string
	// Retry asks the model to try again.
	Retry   bool
	Outcome model.Outcome
	Content []model.Part
	Meta    json.RawMessage
	// Cause is, with Retry, the error behind it.
	Cause error
	// Approval says that the tool wants to be approved before it does anything.
	Approval *toolset.Approval
	// Deferred says that the result will be supplied from elsewhere.
	Deferred bool
	// Pending is set, also for OpOutput, if calls inside the call wait. It is no part of an answer, of which journals keep hashes.
	Pending *toolset.PendingError `json:"-"`
}

// Listener takes what running tasks have to say. An error means that the run has been stopped.
type Listener interface {
	// Sink returns what takes the deltas of a streaming OpModel. It is a function because there are thousands of deltas, which
	// then go straight to the run.
	Sink() model.Sink
	// Custom takes an event of a tool's own, from the call in progress.
	Custom(c *Call, value any) error
}

// Worker does the tasks that an engine executes. It turns panics into errors.
type Worker interface {
	// Do blocks until the task is done or ctx has ended. It may call l until it returns, from several goroutines if
	// the task's Emits is set; an error of l means that the run has been stopped.
	// The result goes to done, which is zero before.
	Do(ctx context.Context, t *Task, l Listener, done *Done)
}
