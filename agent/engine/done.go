// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Done is the result of a task. Which fields are set depends on the task's Op.
type Done struct {
	// Response is the result of an OpModel.
	Response *model.Message `json:"response,omitempty"`
	// Return is the result of an OpTool, and that of an OpOutput that made no output. An OpPreview sets its Approval if the call
	// needs approval.
	Return Return `json:"-"`
	// Offer is the result of an OpPrepare.
	Offer *Offer `json:"-"`
	// Checked is the result of an OpCheck, one for each call, or nil if all arguments are valid as they are.
	Checked []Checked `json:"-"`
	// Output is the result of an OpOutput. Repaired is the JSON that the text was read as, if it had to be repaired.
	Output   any           `json:"-"`
	Repaired model.RawArgs `json:"repaired,omitzero"`
	// HandOver is set for an OpOutput that hands over to another agent, whatever became of the task.
	HandOver *HandOver `json:"hand_over,omitempty"`
	// Decision is the result of an OpApprove.
	Decision *toolset.Decision `json:"-"`
	// Inbox is the result of an OpInbox: the parts of each message, in order.
	Inbox [][]model.Part `json:"inbox,omitempty"`
	// Used is what the task has counted on the run's meter: of an OpModel or OpStep, the requests that were sent, with those of hooks; of
	// an OpPrepare, what history processors have used. Nil does not mean nothing.
	Used *toolset.Usage `json:"used,omitempty"`
	// Err ends the run. The other fields mean nothing then, except HandOver.
	Err error `json:"-"`
}

// Return is how a tool call ended. Without Retry, Approval, Deferred and Pending, it is the call's result.
type Return struct {
	toolset.Result
	// Retry asks the model to try again, with Text as the reason. Cause is the error behind it.
	Retry bool `json:"retry,omitempty"`
	// Deferred says that the result will be supplied from elsewhere. Meta goes with it.
	Deferred bool  `json:"deferred,omitempty"`
	Cause    error `json:"-"`
	// Approval says that the tool wants to be approved before it does anything.
	Approval *toolset.Approval `json:"approval,omitempty"`
	// Pending says that calls inside the call, or inside the output, wait for answers.
	Pending *toolset.PendingError `json:"pending,omitempty"`
}

// Checked is what became of one call of an OpCheck.
type Checked struct {
	// Repaired are the arguments if they had to be repaired.
	Repaired model.RawArgs `json:"repaired,omitzero"`
	// Return answers the call if its arguments are not valid.
	Return *Return `json:"-"`
	// Own says that Return is the result of the tool's own check: the arguments can be decoded.
	Own bool `json:"own,omitempty"`
	// Err is an error of the tool's own check. It ends the run. The checks of the calls behind were not made.
	Err error `json:"-"`
}

// HandOver is what an agent that a run was handed over to leaves beside the result of the task.
type HandOver struct {
	// Told is what the agent has told the user, as the history of the run will have it.
	Told []*model.Message `json:"told,omitempty"`
	// Back says that the agent hands the conversation back, for the given reason. Then there is no output.
	Back   bool   `json:"back,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Cut says why the output is not whole, if it is not.
	Cut model.FinishReason `json:"cut,omitempty"`
}
