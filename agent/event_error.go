// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/ponte-go/ponte/agent/engine"

// ErrorKind classifies the error that ended a run or a call, for programs that cannot see its Go type. Later versions may add
// kinds; treat unknown ones like [ErrorOther].
type ErrorKind = engine.ErrorKind

// The kinds of errors.
const (
	// ErrorPending is a [*PendingError]: the run waits for approvals or results. The run has not failed.
	ErrorPending = engine.ErrorPending
	// ErrorStopped is [ErrStopped]: the range over the events stopped early.
	ErrorStopped = engine.ErrorStopped
	// ErrorCancelled means that the context was cancelled, and ErrorTimeout that its deadline passed.
	ErrorCancelled = engine.ErrorCancelled
	ErrorTimeout   = engine.ErrorTimeout
	// ErrorLimit is a [*LimitError], ErrorPrice a [*PriceError] and ErrorBudget a [*BudgetError].
	ErrorLimit  = engine.ErrorLimit
	ErrorPrice  = engine.ErrorPrice
	ErrorBudget = engine.ErrorBudget
	// ErrorPanic is a [*PanicError].
	ErrorPanic = engine.ErrorPanic
	// ErrorAPI is a [*model.APIError]: the provider gave no usable answer. [EventError.Status] has the HTTP status.
	ErrorAPI = engine.ErrorAPI
	// ErrorTokenLimit is [ErrTokenLimit], ErrorContentFilter is [ErrContentFilter], ErrorRefused is [ErrRefused],
	// ErrorResponseFailed is [ErrResponseFailed], and ErrorIncompleteToolCall is [ErrIncompleteToolCall].
	ErrorTokenLimit         = engine.ErrorTokenLimit
	ErrorContentFilter      = engine.ErrorContentFilter
	ErrorRefused            = engine.ErrorRefused
	ErrorResponseFailed     = engine.ErrorResponseFailed
	ErrorIncompleteToolCall = engine.ErrorIncompleteToolCall
	// ErrorJournal is a [*journal.Error]: the run's journal could not be read or written, or does not fit the run.
	ErrorJournal = engine.ErrorJournal
	// ErrorUsage is a mistake in the use of the agent or its model: [ErrNoModel], [ErrNoPrompt],
	// [ErrUnprocessedCalls], [ErrResults], [ErrInboxInUse], [model.ErrUnsupported] or [model.ErrRequestsForbidden].
	ErrorUsage = engine.ErrorUsage
	// ErrorOther is any other error.
	ErrorOther = engine.ErrorOther
)

// EventError describes an error in the JSON form of an [Event], and replaces the error in an event
// that was read from JSON. [DescribeError] makes one.
//
// [errors.Is] finds in it [ErrStopped], [ErrTokenLimit], [ErrContentFilter], [ErrRefused], [ErrResponseFailed],
// [ErrIncompleteToolCall], [context.Canceled] and [context.DeadlineExceeded], and for ErrorAPI [model.ErrAuth], [model.ErrRateLimited] and [model.ErrContextLength].
type EventError = engine.EventError

// DescribeError describes an error for programs that cannot see its Go type. It returns nil for nil.
func DescribeError(err error) *EventError { return engine.DescribeError(err) }
