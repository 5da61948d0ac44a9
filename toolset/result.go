// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/schema"
)

// Result is the result of a tool call. A tool function may return any value: a string is shown to the model as is,
// anything else as JSON. It returns a Result, or a pointer to one, if it has more to say.
//
// A Result can be stored as JSON.
type Result struct {
	// Text is shown to the model.
	Text string `json:"text,omitempty"`
	// Outcome is empty for success. Functions set other outcomes with [Failed] and [Denied].
	Outcome model.Outcome `json:"outcome,omitempty"`
	// Content follows the results of the step as if the user had sent it, for example an image.
	Content []model.Part `json:"content,omitempty"`
	// Meta is stored with the message for the application. It is never shown to the model.
	Meta json.RawMessage `json:"meta,omitempty"`
	// Keep names what Meta holds for the tool's later use, for example "plan". Such Meta stays in the history when a summary or another
	// history processor takes the message out, until the tool returns another result with the same Keep. [model.Kept] reads it.
	Keep string `json:"keep,omitempty"`
}

// RetryError asks the model to correct a tool call. It counts against the tool's retry budget.
type RetryError struct{ Message string }

func (e *RetryError) Error() string { return "retry: " + e.Message }

// Retry returns an error that asks the model to try again with other arguments. The message tells the model what was
// wrong and what to change.
func Retry(format string, args ...any) error {
	return &RetryError{Message: fmt.Sprintf(format, args...)}
}

// FailedError is a failure that is reported to the model. It does not count against the retry budget.
type FailedError struct{ Message string }

func (e *FailedError) Error() string { return "failed: " + e.Message }

// Failed returns an error for a failure that the model should know about and can work around, for example a file that
// does not exist or a service that is down.
func Failed(format string, args ...any) error {
	return &FailedError{Message: fmt.Sprintf(format, args...)}
}

// DeniedError reports to the model that a person or a policy denied a call. It does not count against the retry budget.
type DeniedError struct {
	// Message tells the model why.
	Message string
	// Decision is the decision that has denied the call, or nil. It is recorded with the result.
	Decision *Decision `json:",omitempty"`
}

func (e *DeniedError) Error() string { return "denied: " + e.Message }

// Denied returns an error that reports that the tool was not permitted to act.
func Denied(format string, args ...any) error {
	return &DeniedError{Message: fmt.Sprintf(format, args...)}
}

// ApprovalRequiredError reports that a call must be approved before it does anything.
type ApprovalRequiredError struct{ Approval Approval }

func (e *ApprovalRequiredError) Error() string { return "approval required: " + e.Approval.Reason }

// ApprovalRequired returns an error that requests approval of the call in progress. The tool must not have done anything
// yet: after the approval it is called again, with [Call.Approved] set.
func ApprovalRequired(a Approval) error { return &ApprovalRequiredError{a} }

// DeferredError reports that the result of a call will be supplied from elsewhere.
type DeferredError struct{ Meta json.RawMessage }

func (e *DeferredError) Error() string { return "deferred" }

// Deferred returns an error that leaves the call in progress pending. Its result will be supplied
// later, from elsewhere. Meta, which may be nil, is passed to the supplier of the result.
func Deferred(meta json.RawMessage) error { return &DeferredError{meta} }

// settle turns the return values of a tool function into a result. The error is nil, a *RetryError, or an error that ends
// the run.
func settle[Out any](value Out, err error) (Result, error) {
	if err == nil {
		return resultOf(value)
	}
	return outcomeOf(err)
}

// outcomeOf converts errors that represent an outcome to results.
func outcomeOf(err error) (Result, error) {
	switch outcome := Outcome(err).(type) {
	case *FailedError:
		return Result{Text: outcome.Message, Outcome: model.OutcomeFailed}, nil
	case *DeniedError:
		return Result{Text: outcome.Message, Outcome: model.OutcomeDenied}, nil
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
	data, err := schema.Marshal(value)
	if err != nil {
		return Result{}, errs.Errorf("result of type %T cannot be encoded for the model: %w", value, err)
	}
	return Result{Text: string(data)}, nil
}
