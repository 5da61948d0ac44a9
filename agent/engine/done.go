// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Done is the result of a task. Which fields are set depends on the task's Op.
type Done struct {
	// Response is the result of an OpModel.
	Response *model.Message `json:"response,omitempty"`
	// Return is the result of an OpTool, or of an OpOutput that made no output. An OpPreview sets
	// its Approval if the call needs approval.
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
	// Used is the task's usage on the run's meter. For an OpModel or OpStep, it counts the requests
	// sent, including those sent by hooks, and for an OpCheck or OpStep those of the tools' own
	// checks. For an OpPrepare, it counts the usage of history processors. Nil does not mean zero.
	Used *toolset.Usage `json:"used,omitempty"`
	// At is when the result was there, in UTC. The engine sets it where the task is executed, and
	// returns it again when the run is repeated. Messages have the time of the latest result
	// before them. No message is made of an OpPrepare, OpCheck or OpPreview: they need no time.
	At Time `json:"at,omitzero"`
	// Err ends the run. The other fields mean nothing then, except HandOver.
	Err error `json:"-"`
}

// Settle reports whether d, which a worker has made of t with ctx, may be recorded as the task's
// result. Errors may not, because a run that is repeated should try again. Neither may a result
// that the end of ctx has shaped, such as a response that was cut off or the words of a tool that
// gave up: everything that follows would be recorded, too. Settle replaces it by the cause of
// that end.
//
// An engine whose platform records whatever a step returns has it record that there is no result,
// and executes the task again, as another step, when it meets that record.
func (d *Done) Settle(ctx context.Context, t *Task) (record bool) {
	switch {
	case d.Err != nil:
		return false
	case ctx.Err() != nil && !d.whole(t):
		*d = Done{At: d.At, Err: context.Cause(ctx)}
		return false
	}
	return true
}

// whole reports whether the end of a context has not shaped the result.
func (d *Done) whole(t *Task) bool {
	switch t.Op {
	case OpModel:
		return d.Response != nil && !d.Response.Interrupted
	case OpStep, OpCheck:
		for i := range d.Checked {
			if d.Checked[i].Own {
				return false
			}
		}
		return t.Op == OpCheck || d.Response != nil && !d.Response.Interrupted
	case OpApprove:
		return d.Decision != nil && d.Decision.Verdict == toolset.VerdictAllow
	}
	return !d.Return.Retry && d.Return.Outcome == model.OutcomeSuccess
}

// Return is how a tool call ended. Without Retry, Approval, Deferred and Pending, it is the call's result.
type Return struct {
	toolset.Result
	// Retry asks the model to try again, with Text as the reason. Cause is the underlying error.
	Retry bool `json:"retry,omitempty"`
	// Deferred is set if the result will be supplied from elsewhere. Meta goes with it.
	Deferred bool  `json:"deferred,omitempty"`
	Cause    error `json:"-"`
	// Denied is the decision of the policy that has denied the call, or nil.
	Denied *toolset.Decision `json:"denied,omitempty"`
	// Approval is set if the tool asks for approval before it acts.
	Approval *toolset.Approval `json:"approval,omitempty"`
	// Pending is set if calls inside the call, or inside the output, wait for answers.
	Pending *toolset.PendingError `json:"pending,omitempty"`
}

// Checked is the outcome of an OpCheck for one call.
type Checked struct {
	// Repaired are the arguments if they had to be repaired.
	Repaired model.RawArgs `json:"repaired,omitzero"`
	// Return answers the call if its arguments are not valid.
	Return *Return `json:"-"`
	// Own is set if Return comes from the tool's own check, which means that the arguments can be
	// decoded.
	Own bool `json:"own,omitempty"`
	// Err is an error of the tool's own check. It ends the run. The checks of the calls behind were not made.
	Err error `json:"-"`
}

// HandOver describes what the other agent did, in addition to the task's result.
type HandOver struct {
	// Told holds the messages of the other agent to the user, as they will appear in the run's
	// history.
	Told []*model.Message `json:"told,omitempty"`
	// Back is set if the agent hands the conversation back, for the given reason. It has then made
	// no output.
	Back   bool   `json:"back,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Cut says why the output is not whole, if it is not.
	Cut model.FinishReason `json:"cut,omitempty"`
}
