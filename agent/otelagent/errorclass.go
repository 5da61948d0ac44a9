// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
)

// Classes of errors, the values of error.type. There are also the names of limits behind errLimit,
// and the status of a provider's HTTP answer. The package documentation lists them.
const (
	errPanic      = "panic"
	errTimeout    = "timeout"
	errCanceled   = "canceled"
	errBudget     = "budget"
	errLimit      = "limit_"
	errToolFailed = "tool_failed"
	errNoAnswer   = "no_answer"
	errBadAnswer  = "invalid_answer"
	errOther      = "_OTHER"
)

// classes maps sentinel errors to their classes.
var classes = []struct {
	err   error
	class string
}{
	{model.ErrRateLimited, "rate_limited"},
	{model.ErrAuth, "auth"},
	{model.ErrContextLength, "context_length"},
	{model.ErrUnsupported, "unsupported"},
	{model.ErrRequestsForbidden, "requests_forbidden"},
	{agent.ErrStopped, "stopped"},
	{agent.ErrTokenLimit, "token_limit"},
	{agent.ErrRefused, "refused"}, // which wraps the next one
	{agent.ErrContentFilter, "content_filter"},
	{agent.ErrResponseFailed, "response_failed"},
	{agent.ErrIncompleteToolCall, "incomplete_tool_call"},
	{agent.ErrNoModel, "no_model"},
	{model.ErrNoPrice, "no_price"},
	{model.ErrNoUsage, "no_usage"},
	{agent.ErrNoPrompt, "no_prompt"},
	{agent.ErrUnprocessedCalls, "unprocessed_calls"},
	{agent.ErrResults, "results"},
	{context.Canceled, errCanceled},
	{context.DeadlineExceeded, errTimeout},
}

// classOf returns the class of an error, or "" for nil. For an unclassified error it uses the cause
// of ctx, which may be any error.
func classOf(ctx context.Context, err error) string {
	if err == nil {
		return ""
	}
	var limit *agent.LimitError
	var own interface{ ErrorType() string } // as go.opentelemetry.io/otel/semconv has it
	switch {
	case errors.As(err, new(*agent.PanicError)):
		return errPanic
	case errors.As(err, &limit):
		return errLimit + strings.ReplaceAll(string(limit.Limit), " ", "_")
	case errors.As(err, new(*agent.BudgetError)):
		return errBudget
	case errors.As(err, &own) && own.ErrorType() != "":
		return own.ErrorType()
	}
	for i := range classes {
		if errors.Is(err, classes[i].err) {
			return classes[i].class
		}
	}
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return classOf(context.Background(), ctx.Err())
	case errors.As(err, &timeout) && timeout.Timeout():
		return errTimeout
	}
	return answerClass(err)
}

// answerClass returns the class of an answer that is not a response.
func answerClass(err error) string {
	var failed *model.APIError
	switch {
	case !errors.As(err, &failed):
		return errOther
	case failed.Status == 0:
		return errNoAnswer
	case failed.Status < http.StatusBadRequest:
		return errBadAnswer
	}
	return strconv.Itoa(failed.Status)
}

// fail marks a span that ended in an error of a class, and what a policy has refused. The text of
// the error may hold content, so the span records only if it may.
func (h *hooks) fail(span trace.Span, class string, err error) {
	var refused *agent.PolicyError
	if errors.As(err, &refused) {
		span.SetAttributes(keyPolicy.String(refused.Policy))
	}
	if class == "" {
		return
	}
	span.SetAttributes(keyErrorType.String(class))
	text := ""
	if h.content.on && err != nil {
		text = h.content.text(err.Error())
	}
	span.SetStatus(codes.Error, text)
}
