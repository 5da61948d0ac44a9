// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrNobody means that there is nobody to ask, or nobody who answers this kind of question.
var ErrNobody = errors.New("nobody can be asked")

// Asker asks the person that a run belongs to, through whatever surface there is: an editor, a terminal, a web page. A run has
// one asker (agent.WithAsker, agent.Config), and the runs inside its tools inherit it.
//
// A run asks one question at a time, the runs inside it included. Several runs that share an Asker may call it at once. Both
// methods block until there is an answer or ctx ends, whose cause they then return. Neither is called on the run's goroutine
// while somebody observes the run.
type Asker interface {
	// Approve decides about a tool call that needs approval. [VerdictDefer] or [ErrNobody] leaves the call pending. Any other
	// error ends the run.
	Approve(ctx context.Context, r ApprovalRequest) (Decision, error)
	// Answer answers a question that a tool asks in the middle of a call. It returns [ErrNobody] if nobody can answer.
	Answer(ctx context.Context, q Question) (Reply, error)
}

// Origin says which tool call a question belongs to.
type Origin struct {
	// Path has the ids of the calls that led to the question, the outermost first. The last one is the call itself. It has
	// more than one element in a run inside a tool of another run.
	Path []string `json:"path"`
	// Agent is the name of the agent that runs, RunID its run and Step the step of it.
	Agent string `json:"agent,omitempty"`
	RunID string `json:"run_id"`
	Step  int    `json:"step"`
	// Tool is the tool's name. Kind and Title describe it to people, as far as it says so.
	Tool  string `json:"tool"`
	Kind  Kind   `json:"kind,omitempty"`
	Title string `json:"title,omitempty"`
}

// CallID returns the id of the call: the last element of Path.
func (o *Origin) CallID() string {
	if len(o.Path) == 0 {
		return ""
	}
	return o.Path[len(o.Path)-1]
}

// ApprovalRequest asks whether a tool call may run.
type ApprovalRequest struct {
	Origin
	// Args are the arguments that the tool would get. They are valid for the tool.
	Args json.RawMessage `json:"args"`
	// Approval says what is to be approved.
	Approval Approval `json:"approval"`
	// Invalid says what was wrong with the arguments of the previous decision about this call, which therefore had no effect.
	// It is empty unless the call is asked about again for that reason.
	Invalid string `json:"invalid,omitempty"`
}

// Question is what a tool asks in the middle of a call: either a form to fill in or an address to visit. It has what an
// elicitation of the Model Context Protocol has.
type Question struct {
	// The run fills in Origin.
	Origin
	// Message says what is asked, and why.
	Message string `json:"message"`
	// Schema is the JSON schema of the answer, an object whose properties are of primitive types; nil if URL is set.
	Schema json.RawMessage `json:"schema,omitempty"`
	// URL is an address that the person should visit; Schema is nil then. ID identifies the visit to whoever asks.
	URL string `json:"url,omitempty"`
	ID  string `json:"id,omitempty"`
	// Meta is the application's own.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// Action is what a person did about a [Question].
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
	// Action is what the person did.
	Action Action `json:"action"`
	// Content is what the person filled in, an object that fits the question's schema. It is set with [ActionAccept] only.
	// The run does not check it.
	Content json.RawMessage `json:"content,omitempty"`
	// Meta is the application's own.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// AskerFuncs makes an [Asker] of functions. Where a function is nil, there is nobody to ask: calls stay pending, and questions
// fail with [ErrNobody]. The zero value asks nobody.
type AskerFuncs struct {
	// OnApprove does the work of Approve, and OnAnswer that of Answer.
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
