// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// ErrorKind classifies the error that ended a run or a call, for programs that cannot see its Go type. Later versions may add
// kinds; treat unknown ones like [ErrorOther].
type ErrorKind string

// The kinds of errors.
const (
	// ErrorPending is a [*PendingError]: the run waits for approvals or results. The run has not failed.
	ErrorPending ErrorKind = "pending"
	// ErrorStopped is [ErrStopped]: the range over the events stopped early.
	ErrorStopped ErrorKind = "stopped"
	// ErrorCancelled means that the context was cancelled, and ErrorTimeout that its deadline passed.
	ErrorCancelled ErrorKind = "cancelled"
	ErrorTimeout   ErrorKind = "timeout"
	// ErrorLimit is a [*toolset.LimitError], ErrorPrice a [*toolset.PriceError] and ErrorBudget a [*BudgetError].
	ErrorLimit  ErrorKind = "limit"
	ErrorPrice  ErrorKind = "price"
	ErrorBudget ErrorKind = "budget"
	// ErrorPanic is a [*PanicError].
	ErrorPanic ErrorKind = "panic"
	// ErrorAPI is a [*model.APIError]: the provider gave no usable answer. [EventError.Status] has the HTTP status.
	ErrorAPI ErrorKind = "api"
	// ErrorTokenLimit is [ErrTokenLimit], ErrorContentFilter is [ErrContentFilter], ErrorRefused is [ErrRefused],
	// ErrorResponseFailed is [ErrResponseFailed], and ErrorIncompleteToolCall is [ErrIncompleteToolCall].
	ErrorTokenLimit         ErrorKind = "token_limit"
	ErrorContentFilter      ErrorKind = "content_filter"
	ErrorRefused            ErrorKind = "refused"
	ErrorResponseFailed     ErrorKind = "response_failed"
	ErrorIncompleteToolCall ErrorKind = "incomplete_tool_call"
	// ErrorJournal is a [*journal.Error]: the run's journal could not be read or written, or does not fit the run.
	ErrorJournal ErrorKind = "journal"
	// ErrorUsage is a mistake in the use of the agent or its model: [ErrNoModel], [ErrNoPrompt],
	// [ErrUnprocessedCalls], [ErrResults], [ErrInboxInUse], [model.ErrUnsupported] or [model.ErrRequestsForbidden].
	ErrorUsage ErrorKind = "usage"
	// ErrorOther is any other error.
	ErrorOther ErrorKind = "other"
)

// EventError describes an error in the JSON form of an [Event], and is the error of an event that
// was read from JSON. [DescribeError] makes one.
//
// [errors.Is] finds in it [ErrStopped], [ErrTokenLimit], [ErrContentFilter], [ErrRefused],
// [ErrResponseFailed], [ErrIncompleteToolCall], [context.Canceled] and [context.DeadlineExceeded],
// and for ErrorAPI [model.ErrAuth], [model.ErrRateLimited] and [model.ErrContextLength].
type EventError struct {
	// Kind classifies the error for programs.
	Kind ErrorKind `json:"kind"`
	// Text is the error's text. It may contain output of models and tools.
	Text string `json:"text"`
	// Stage, Tool, CallID and Attempt locate the failure: see [RunError].
	Stage   Stage  `json:"stage,omitempty"`
	Tool    string `json:"tool,omitempty"`
	CallID  string `json:"call_id,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Limit names the limit that was reached, for ErrorLimit: see [toolset.LimitError].
	Limit toolset.LimitName `json:"limit,omitempty"`
	// Status is the HTTP status of an ErrorAPI, or 0 if there was no answer. Code is the provider's
	// own code, and Retryable is set if the same request may succeed later.
	Status    int    `json:"status,omitempty"`
	Code      string `json:"code,omitempty"`
	Retryable bool   `json:"retryable,omitempty"`
}

// Error implements error. It returns the text.
func (e *EventError) Error() string { return e.Text }

// errorIdentities maps sentinel errors to kinds. [EventError] matches the first error of its kind.
var errorIdentities = []struct {
	err  error
	kind ErrorKind
}{
	{ErrStopped, ErrorStopped},
	{ErrTokenLimit, ErrorTokenLimit},
	{ErrRefused, ErrorRefused}, // which wraps the next one
	{ErrContentFilter, ErrorContentFilter},
	{ErrResponseFailed, ErrorResponseFailed},
	{ErrIncompleteToolCall, ErrorIncompleteToolCall},
	{context.DeadlineExceeded, ErrorTimeout},
	{context.Canceled, ErrorCancelled},
	{ErrNoModel, ErrorUsage},
	{ErrNoPrompt, ErrorUsage},
	{ErrUnprocessedCalls, ErrorUsage},
	{ErrResults, ErrorUsage},
	{ErrInboxInUse, ErrorUsage},
	{model.ErrUnsupported, ErrorUsage},
	{model.ErrRequestsForbidden, ErrorUsage},
}

// Is matches the errors that the description identifies.
func (e *EventError) Is(target error) bool {
	for i := range errorIdentities {
		if known := &errorIdentities[i]; known.err == target {
			return known.kind == e.Kind && e.Kind != ErrorUsage || target == ErrContentFilter && e.Kind == ErrorRefused
		}
	}
	return e.Kind == ErrorAPI && (&model.APIError{Status: e.Status, Code: e.Code}).Is(target)
}

// DescribeError describes an error for programs that cannot see its Go type. It returns nil for nil.
func DescribeError(err error) *EventError {
	if err == nil {
		return nil
	}
	e := new(EventError)
	if known := e; errs.As(err, &known) {
		*e = *known
		e.Text = err.Error()
		return e
	}
	e.Text = err.Error()
	var run *RunError
	if errs.As(err, &run) {
		e.Stage, e.Tool, e.CallID, e.Attempt = run.Stage, run.Tool, run.CallID, run.Attempt
	}
	e.Kind = e.kindOf(err, run)
	return e
}

// kindOf returns the kind of an error and sets the fields of that kind.
func (e *EventError) kindOf(err error, run *RunError) ErrorKind {
	var limit *toolset.LimitError
	var api *model.APIError
	switch {
	case errs.As(err, new(*PendingError)):
		return ErrorPending
	case errors.Is(err, ErrStopped):
		return ErrorStopped
	case run != nil && run.Ended == context.DeadlineExceeded:
		return ErrorTimeout
	case run != nil && run.Ended != nil:
		return ErrorCancelled
	case errs.As(err, new(*PanicError)):
		return ErrorPanic
	case errs.As(err, &limit):
		e.Limit = limit.Limit
		return ErrorLimit
	case errs.As(err, new(*toolset.PriceError)):
		return ErrorPrice
	case errs.As(err, new(*BudgetError)):
		return ErrorBudget
	case errs.As(err, new(*journal.Error)):
		return ErrorJournal
	}
	for i := range errorIdentities {
		if errors.Is(err, errorIdentities[i].err) {
			return errorIdentities[i].kind
		}
	}
	if errs.As(err, &api) {
		e.Status, e.Code, e.Retryable = api.Status, api.Code, api.Retryable
		return ErrorAPI
	}
	return ErrorOther
}
