// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// PendingCall is a tool call that waits for an answer from outside the run.
type PendingCall = model.PendingCall

// DeferredResults holds the answers to pending calls, by [PendingCall.Key], which for calls of the run itself is the call
// id. Every pending call needs an entry in one of the maps. DeferredResults can be stored as JSON.
type DeferredResults struct {
	// Decisions holds decisions about calls that wait for approval. A call that waits for a result can be denied here.
	Decisions map[string]Decision `json:"decisions,omitempty"`
	// Results holds the results of external and deferred calls. A call that waits for approval can be given a result
	// instead.
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

// PendingError reports that a tool call has started, and that calls inside it are pending.
type PendingError struct {
	// Calls lists the pending calls inside the tool call. Path is relative to the tool call: it is empty for calls of an
	// agent that the tool runs, and set for calls of agents further inside. Keys are unique within a tool call.
	Calls []PendingCall `json:"calls"`
	// State holds the data that the tool needs to resume, as JSON. It is stored in the history.
	State json.RawMessage `json:"state,omitempty"`
}

func (e *PendingError) Error() string {
	keys := make([]string, len(e.Calls))
	for i := range e.Calls {
		keys[i] = fmt.Sprintf("%q (%s)", e.Calls[i].Tool, e.Calls[i].Key())
	}
	return "waiting for calls inside the tool: " + strings.Join(keys, ", ")
}

// Pending returns an error for a tool that runs another agent whose calls are pending. It makes the outer run pending
// too, with these calls among its own. After they have been answered, the tool is called again with the same arguments,
// and with state and the answers in [Call.Resume]. There must be at least one call. State is JSON or nil.
//
// Tools made with agent.AsTool do this themselves.
func Pending(state json.RawMessage, calls ...PendingCall) error {
	return &PendingError{Calls: calls, State: state}
}

// Resume is passed to a tool call that ended with [Pending] and is resumed.
type Resume struct {
	// State is the value passed to [Pending].
	State json.RawMessage
	// Results holds the answers, by the keys of the calls passed to [Pending]. It is nil if the run is resumed without
	// answers: the calls are then still pending, unless an asker answers them now.
	Results *DeferredResults
	// Prompt is the user's message to the agent inside. Only hand-overs have it (agent.HandOver).
	Prompt []model.Part
	// Stays reports that no call is pending: the conversation has stayed with the agent of a hand-over.
	Stays bool
}
