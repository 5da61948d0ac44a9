// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// PendingCall is a tool call that waits for somebody outside of the run.
type PendingCall = model.PendingCall

// DeferredResults are the answers to pending calls, by [PendingCall.Key]: for a call of the run itself that is its id. Every
// pending call needs an entry in one of the maps. It can be stored as JSON.
type DeferredResults struct {
	// Decisions are about calls that wait for approval. A call that waits for a result can be denied.
	Decisions map[string]Decision `json:"decisions,omitempty"`
	// Results are those of external and deferred calls. They can also stand in for calls that wait for approval.
	Results map[string]Result `json:"results,omitempty"`
}

// Decide records the decision about a pending call, by its key.
func (r *DeferredResults) Decide(key string, d Decision) {
	if r.Decisions == nil {
		r.Decisions = map[string]Decision{}
	}
	r.Decisions[key] = d
}

// Supply records the result of a pending call, by its key.
func (r *DeferredResults) Supply(key string, res Result) {
	if r.Results == nil {
		r.Results = map[string]Result{}
	}
	r.Results[key] = res
}

// PendingError says that a tool call has begun, and that calls inside it wait for somebody outside of the run.
type PendingError struct {
	// Calls are the pending calls inside the tool call. Path is relative to the tool call: it is empty for the calls of an agent
	// that the tool runs, and set for those of agents further down. Within a tool call the keys are unique.
	Calls []PendingCall
	// State is what the tool needs to go on, as JSON. It is kept in the history.
	State json.RawMessage
}

func (e *PendingError) Error() string {
	keys := make([]string, len(e.Calls))
	for i := range e.Calls {
		keys[i] = fmt.Sprintf("%q (%s)", e.Calls[i].Tool, e.Calls[i].Key())
	}
	return "waiting for calls inside the tool: " + strings.Join(keys, ", ")
}

// Pending returns an error by which a tool that runs another agent says that calls of that agent are pending. The run that the
// tool is called in is then pending, too, with these calls among its own. When they have been answered, the tool is called again
// with the same arguments, and with state and the answers in [Call.Resume]. There must be at least one call. State is JSON, or nil.
//
// A tool made with agent.AsTool does this itself.
func Pending(state json.RawMessage, calls ...PendingCall) error {
	return &PendingError{Calls: calls, State: state}
}

// Resume is what a tool call that ended with [Pending] is called again with.
type Resume struct {
	// State is what was given to [Pending].
	State json.RawMessage
	// Results are the answers, by the keys of the calls that were given to [Pending]. It is nil if the run is resumed without
	// answers: then the calls are still pending, unless there is an asker now who answers.
	Results *DeferredResults
}
