// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Done is the result of a task. Which fields are set depends on the task's Op.
type Done struct {
	// Response is the result of an OpModel.
	Response *model.Message
	// Return is the result of an OpTool, and that of an OpOutput that made no output.
	Return Return
	// Output is the result of an OpOutput. Repaired is the JSON that the text was read as, if it had to be repaired.
	Output   any
	Repaired []byte
	// Decision is the result of an OpApprove.
	Decision *toolset.Decision
	// Inbox is the result of an OpInbox: the parts of each message, in order.
	Inbox [][]model.Part
	// Used is what the task has counted on the run's meter, if the worker knows. Nil does not mean nothing.
	Used *toolset.Usage
	// Err ends the run. The other fields mean nothing then.
	Err error
}

// Return is how a tool call ended. Without Retry, Approval, Deferred and Pending, it is the call's result.
type Return struct {
	toolset.Result
	// Retry asks the model to try again, with Text as the reason. Cause is the error behind it.
	Retry bool
	Cause error
	// Approval says that the tool wants to be approved before it does anything.
	Approval *toolset.Approval
	// Deferred says that the result will be supplied from elsewhere. Meta goes with it.
	Deferred bool
	// Pending says that calls inside the call, or inside the output, wait for answers.
	Pending *toolset.PendingError
}
