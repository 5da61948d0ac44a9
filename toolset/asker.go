// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrNobody is returned if there is no asker, or none that can answer this kind of question.
var ErrNobody = errors.New("there is no one to ask")

// Asker asks the person a run belongs to, for example in an editor, a terminal or a web page. A run has one asker, set
// with agent.WithAsker or in agent.Config. Runs inside its tools inherit it.
//
// A run, including the runs inside it, asks one question at a time. An Asker shared by several runs must be safe for
// concurrent use. Both methods block until there is an answer or ctx is done, and then return the cause of ctx. While the
// run is observed, neither is called on the run's goroutine.
type Asker interface {
	// Approve decides whether a tool call that needs approval may run. If it returns [VerdictDefer] or [ErrNobody], the
	// call stays pending. Any other error ends the run.
	Approve(ctx context.Context, r ApprovalRequest) (Decision, error)
	// Answer answers a question that a tool asks during a call. It returns [ErrNobody] if the
	// question cannot be answered.
	Answer(ctx context.Context, q Question) (Reply, error)
}

// Origin identifies the tool call a question comes from.
type Origin struct {
	// Path holds the ids of the calls that led to the question, outermost first. The last one is the call itself. Path
	// has more than one element if the question comes from a run inside a tool of another run.
	Path []string `json:"path"`
	// Agent is the name of the running agent, RunID its run and Step the step within that run.
	Agent string `json:"agent,omitempty"`
	RunID string `json:"run_id"`
	Step  int    `json:"step"`
	// Tool is the tool's name. Kind and Title describe it to people and may be empty.
	Tool  string `json:"tool"`
	Kind  Kind   `json:"kind,omitempty"`
	Title string `json:"title,omitempty"`
}

// CallID returns the id of the call, which is the last element of Path.
func (o *Origin) CallID() string {
	if len(o.Path) == 0 {
		return ""
	}
	return o.Path[len(o.Path)-1]
}

// ApprovalRequest asks whether a tool call may run.
type ApprovalRequest struct {
	Origin
	// Args are the arguments the tool would get. They have been validated.
	Args json.RawMessage `json:"args"`
	// Approval describes the action that needs approval.
	Approval Approval `json:"approval"`
	// Invalid is set if the call is asked about again because the previous decision changed its arguments to invalid
	// ones. It describes the problem. That decision had no effect.
	Invalid string `json:"invalid,omitempty"`
	// Once is set if a policy, or the Approval, wants a person asked every time. No rule may then allow the call, and an "always"
	// decision to allow is not remembered and should not be offered.
	Once bool `json:"once,omitempty"`
	// Lasting is set if a decision may hold in later sessions of the project too
	// ([Decision].Lasting).
	Lasting bool `json:"lasting,omitempty"`
}

// Question is a question that a tool asks during a call: either a form to fill in or a URL to visit. Its fields
// correspond to an elicitation of the Model Context Protocol.
type Question struct {
	// Origin is filled in by the run.
	Origin
	// Message states the question and the reason for it.
	Message string `json:"message"`
	// Schema is the JSON schema of the answer, an object whose properties are strings, numbers,
	// integers, booleans and lists of choices. It is nil if URL is set. A schema with keywords
	// that restrict answers in other ways is an error.
	Schema json.RawMessage `json:"schema,omitempty"`
	// URL is an address for the person to visit. Schema is then nil. ID identifies the visit to the tool that asks.
	URL string `json:"url,omitempty"`
	ID  string `json:"id,omitempty"`
	// Deferrable is set by a tool that defers its call ([Deferred]) if the question cannot be
	// answered. An asker for which a call that waits is expensive returns [ErrNobody] then, such as
	// that of package agent/engine/temporalengine.
	Deferrable bool `json:"deferrable,omitempty"`
	// Meta is for the application's use.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// Action is a person's reaction to a [Question].
type Action string

const (
	// ActionAccept means that the person answered, or agreed to visit the address.
	ActionAccept Action = "accept"
	// ActionDecline means that the person refused to answer.
	ActionDecline Action = "decline"
	// ActionCancel means that the person dismissed the question without a choice.
	ActionCancel Action = "cancel"
)

// Reply is the answer to a [Question].
type Reply struct {
	// Action tells what the person did.
	Action Action `json:"action"`
	// Content holds the values the person entered, an object that matches the question's schema. It is set with
	// [ActionAccept] only. The run does not check it.
	Content json.RawMessage `json:"content,omitempty"`
	// Meta is for the application's use.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// AskerFuncs is an [Asker] made of functions. With a nil function, no one is asked: calls stay
// pending, and questions fail with [ErrNobody]. The zero value asks no one.
type AskerFuncs struct {
	// OnApprove implements Approve, and OnAnswer implements Answer.
	OnApprove func(ctx context.Context, r ApprovalRequest) (Decision, error)
	OnAnswer  func(ctx context.Context, q Question) (Reply, error)
}

// Approve implements [Asker].
func (f AskerFuncs) Approve(ctx context.Context, r ApprovalRequest) (Decision, error) {
	if f.OnApprove == nil {
		return Defer(), nil
	}
	return f.OnApprove(ctx, r)
}

// Answer implements [Asker].
func (f AskerFuncs) Answer(ctx context.Context, q Question) (Reply, error) {
	if f.OnAnswer == nil {
		return Reply{}, ErrNobody
	}
	return f.OnAnswer(ctx, q)
}
