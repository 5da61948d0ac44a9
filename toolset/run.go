// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
)

// RunContext describes a run to the tools, instructions and toolsets that serve it. It holds data only: cancellation
// comes with the context.Context passed next to it. A RunContext must not be modified, and is valid until the function it
// was passed to returns.
//
// To call a tool function from a unit test, the zero value with Deps set is enough.
type RunContext[D any] struct {
	// Deps is the value the caller passed to the agent.
	Deps D
	RunInfo
	// Call is the tool call in progress. It is zero outside of tools.
	Call Call
	// Host serves [RunContext.Emit], [RunContext.Ask] and [RunContext.Generate]. It is nil without
	// a host, for example while instructions are made, or in a unit test that sets none.
	Host Host
}

// RunInfo describes a run in progress.
type RunInfo struct {
	// Agent is the name of the running agent.
	Agent string `json:"agent,omitempty"`
	// Model describes the run's model.
	Model *model.Info `json:"model,omitempty"`
	// RunID is new for every run. ConversationID is the same for all runs over one history.
	RunID          string `json:"run_id,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	// Step counts the model requests of the run, starting at 1.
	Step int `json:"step,omitempty"`
	// Messages is the history up to and including the step's request, oldest first. It does not include the response that
	// called the tool. It is shared and must not be changed.
	Messages []*model.Message `json:"messages,omitempty"`
	// Usage is the usage of the run, and of the runs inside it, at the start of the step.
	Usage Usage `json:"usage,omitzero"`
	// Meter counts the run's usage and holds its limits. A tool that runs another agent passes it on.
	Meter *Meter `json:"-"`
}

// Call describes a tool call in progress.
type Call struct {
	// ID is the call id given by the model. It is unique within a response, but not across responses.
	ID string `json:"id,omitempty"`
	// Tool is the name the tool was defined with.
	Tool string `json:"tool"`
	// Args holds the call's arguments as JSON: as the model wrote them, as repaired if that was not valid JSON, or as
	// changed by a person. They are shared and must not be changed.
	Args model.RawArgs `json:"args,omitzero"`
	// RunID and Step identify the response that made the call, if that was a response of an earlier
	// run. Otherwise they are zero, and the call is one of the run's own.
	RunID string `json:"run_id,omitempty"`
	Step  int    `json:"step,omitempty"`
	// Attempt counts the retries so far. It is 0 for the first attempt. MaxRetries is the number of retries allowed.
	Attempt    int `json:"attempt,omitempty"`
	MaxRetries int `json:"max_retries,omitempty"`
	// Approved reports whether the call has been approved. Approval is the approved question, as it
	// was shown, or nil if that is not known. A tool can check [Approval.Basis] just before it
	// acts, and ask again with [ApprovalRequired].
	Approved bool      `json:"approved,omitempty"`
	Approval *Approval `json:"approval,omitempty"`
	// Decision is the decision that approved the call, or nil.
	Decision *Decision `json:"-"`
	// Resume is set if the call ended with [Pending] before and is now resumed.
	Resume *Resume `json:"-"`
}

// IdempotencyKey identifies the call in progress, or the output being made. The key is different for every call. It stays
// the same whenever the call is made again: by a run with a journal that is resumed, or by any later run that resumes a history
// with the call. A tool whose effects must not happen twice passes the key to the service it calls. The key is made of the
// run and the step of the response that made the call, and of the id of the call as [model.EscapeID] returns it.
func (r *RunContext[D]) IdempotencyKey() string {
	id, run, step := r.Call.ID, r.RunID, r.Step
	if r.Call.RunID != "" {
		run, step = r.Call.RunID, r.Call.Step
	}
	return run + "/" + strconv.Itoa(step) + "/" + model.EscapeID(id)
}
