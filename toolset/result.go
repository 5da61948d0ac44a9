// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/plainjson"
)

// Result is what a tool call gives back. A tool function may return any value: a string is shown to the model as it is,
// anything else as JSON. It returns a Result, or a pointer to one, when it has more to say.
//
// It can be stored as JSON. What earlier versions wrote, with Go's names of the fields, is read as well.
type Result struct {
	// Text is what the model is shown.
	Text string `json:"text,omitempty"`
	// Outcome is empty for success. A function sets another outcome through [Failed] and [Denied].
	Outcome model.Outcome `json:"outcome,omitempty"`
	// Content follows the results of the step as if the user had sent it, an image for example.
	Content []model.Part `json:"content,omitempty"`
	// Meta is kept with the message for the application and never shown to the model.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// RetryError asks the model to correct a tool call. It counts against the tool's retry budget.
type RetryError struct{ Message string }

func (e *RetryError) Error() string { return "retry: " + e.Message }

// Retry returns an error by which a tool asks the model to try again with other arguments. The formatted message tells
// the model why and what to change.
func Retry(format string, args ...any) error {
	return &RetryError{Message: fmt.Sprintf(format, args...)}
}

// FailedError is a failure that the model is told about. It costs no retry.
type FailedError struct{ Message string }

func (e *FailedError) Error() string { return "failed: " + e.Message }

// Failed returns an error by which a tool reports a failure that the model should know of and can work around: a file
// that does not exist, a service that is down.
func Failed(format string, args ...any) error {
	return &FailedError{Message: fmt.Sprintf(format, args...)}
}

// DeniedError is a refusal by a person or a policy that the model is told about. It costs no retry.
type DeniedError struct{ Message string }

func (e *DeniedError) Error() string { return "denied: " + e.Message }

// Denied returns an error by which a tool reports that it was not permitted to act.
func Denied(format string, args ...any) error {
	return &DeniedError{Message: fmt.Sprintf(format, args...)}
}

// ApprovalRequiredError says that a call must be approved before it does anything.
type ApprovalRequiredError struct{ Approval Approval }

func (e *ApprovalRequiredError) Error() string { return "approval required: " + e.Approval.Reason }

// ApprovalRequired returns an error by which a tool asks for approval of the call in progress. It must not have done
// anything yet: once approved, the tool is called again, with [Call.Approved] set.
func ApprovalRequired(a Approval) error { return &ApprovalRequiredError{a} }

// DeferredError says that somebody else will supply the result of a call.
type DeferredError struct{ Meta json.RawMessage }

func (e *DeferredError) Error() string { return "deferred" }

// Deferred returns an error by which a tool says that the result of the call in progress will be supplied from elsewhere,
// later. Meta, which may be nil, goes to whoever supplies it.
func Deferred(meta json.RawMessage) error { return &DeferredError{meta} }

// settle turns what a tool function returned into a result. The error is nil, a *RetryError or one that ends the run.
func settle[Out any](value Out, err error) (Result, error) {
	if err == nil {
		return resultOf(value)
	}
	return outcomeOf(err)
}

// outcomeOf makes results of the errors that stand for one.
func outcomeOf(err error) (Result, error) {
	var failed *FailedError
	if errors.As(err, &failed) {
		return Result{Text: failed.Message, Outcome: model.OutcomeFailed}, nil
	}
	var denied *DeniedError
	if errors.As(err, &denied) {
		return Result{Text: denied.Message, Outcome: model.OutcomeDenied}, nil
	}
	return Result{}, err
}

func resultOf[Out any](value Out) (Result, error) {
	switch v := any(value).(type) {
	case string:
		return Result{Text: v}, nil
	case Result:
		return v, nil
	case *Result:
		if v == nil {
			return Result{}, errors.New("returned a nil *toolset.Result")
		}
		return *v, nil
	case json.RawMessage:
		return Result{Text: string(v)}, nil
	case struct{}:
		return Result{Text: "ok"}, nil
	}
	data, err := plainjson.Marshal(value)
	if err != nil {
		return Result{}, fmt.Errorf("result of type %T cannot be shown to the model: %w", value, err)
	}
	return Result{Text: string(data)}, nil
}
