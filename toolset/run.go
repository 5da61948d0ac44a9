// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
)

// RunContext is what a tool, an instruction or a toolset may know of the run it serves. It is data: cancellation comes
// with the context.Context that stands beside it. A RunContext is valid until the function it was given to returns,
// and is only read.
//
// The zero value with Deps set is enough to call a tool function from a unit test.
type RunContext[D any] struct {
	// Deps is what the caller of the agent passed in.
	Deps D
	RunInfo
	// Call is the tool call in progress; zero outside of tools.
	Call Call
	// Host is what [RunContext.Emit], [RunContext.Ask] and [RunContext.Generate] turn to. It is nil where there is nobody: for
	// example while instructions are made, and in a unit test that sets none.
	Host Host
}

// RunInfo describes a run in progress.
type RunInfo struct {
	// Agent is the name of the agent that runs.
	Agent string
	// Model describes the model that answers.
	Model *model.Info
	// RunID is fresh for every run, ConversationID the same for all runs over one history.
	RunID, ConversationID string
	// Step counts the model requests of the run, beginning with 1.
	Step int
	// Messages is the history up to the request of the step, oldest first: within a tool it does not hold the response that
	// called it. It is shared: it must not be changed.
	Messages []*model.Message
	// Usage is what the run had used when the step began, with the runs inside it.
	Usage Usage
	// Meter counts the run's usage and has its limits. A tool that runs another agent passes it on.
	Meter *Meter
}

// Call describes a tool call in progress.
type Call struct {
	// ID is the call's id as the model gave it: unique within a response, not across responses.
	ID string
	// Tool is the name by which the tool was defined.
	Tool string
	// Args are the call's arguments as JSON: what the model wrote, repaired if that was not JSON, or what a person put in its
	// place. They are shared and must not be changed.
	Args model.RawArgs
	// Attempt is 0 at first and counts the retries so far; MaxRetries is how many the model has.
	Attempt, MaxRetries int
	// Approved says that the call has been approved, by whoever may. Approval is what was approved, as it was shown, or nil if
	// that is not known: a tool can compare [Approval.Basis] at the moment it acts, and ask again with [ApprovalRequired].
	Approved bool
	Approval *Approval
	// Decision is the decision that approved the call, or nil.
	Decision *Decision
	// Resume is set if the call ended with [Pending] before, and goes on now.
	Resume *Resume
}

// IdempotencyKey names the call in progress, or the output that is being made: no two calls have the same, and the same call
// has the same when a run that has a journal resumes. A tool whose effects must not happen twice passes it on to
// whoever it acts on. It is made of the ids of run, step and call.
func (r *RunContext[D]) IdempotencyKey() string {
	return r.RunID + "/" + strconv.Itoa(r.Step) + "/" + r.Call.ID
}
