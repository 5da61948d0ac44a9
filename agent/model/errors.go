// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/hide"
)

// Errors from providers. An [*APIError] matches the one that applies with errors.Is.
var (
	// ErrAuth means that the key is missing, invalid or not allowed to use the model.
	ErrAuth = errors.New("authentication failed")
	// ErrRateLimited means that there were too many requests, or that the account's quota is used
	// up.
	ErrRateLimited = errors.New("rate limited")
	// ErrContextLength means that the conversation is longer than the model accepts.
	ErrContextLength = errors.New("context length exceeded")
	// ErrUnsupported means that the adapter or the provider does not support what the request asks
	// for.
	ErrUnsupported = errors.New("not supported by the model")
	// ErrRequestsForbidden means that [ForbidRequests] is in effect.
	ErrRequestsForbidden = errors.New("real model requests are forbidden in this process")
)

// APIError reports that a provider returned an error, or a response that cannot be understood.
type APIError struct {
	// Provider and Model identify the model that was asked.
	Provider, Model string
	// Status is the HTTP status, or 0 if there was no answer.
	Status int
	// Code and Type are the provider's own classification, if it sent one.
	Code, Type string
	// Message is the provider's explanation for people.
	Message string
	// RequestID identifies the request to the provider's support.
	RequestID string
	// Retryable reports that the same request may succeed later.
	Retryable bool
	// RetryAfter is how long the provider asked to wait, or 0.
	RetryAfter time.Duration
	// Err is the cause, or nil.
	Err error
}

// Error implements error. It returns a single line and leaves out unknown details. Characters that
// control terminals or are invisible become U+FFFD.
func (e *APIError) Error() string {
	status := ""
	if e.Status != 0 {
		status = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))) // some have no name, such as 529
	}
	if e.Code != "" {
		status = strings.TrimSpace(status + " (" + e.Code + ")")
	}
	what := e.Message
	switch {
	case what == "" && e.Err != nil:
		what = e.Err.Error()
	case what == "" && status == "":
		what = "no usable response"
	case what == "" && e.Status/100 == 2:
		what = "no usable response: check the base URL"
	}
	text := "model"
	for _, s := range []string{e.Provider + " " + e.Model, status, what} {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			text += ": " + s
		}
	}
	return hide.Controls(text)
}

// Unwrap returns the cause.
func (e *APIError) Unwrap() error { return e.Err }

// Is reports whether e matches [ErrAuth], [ErrRateLimited] or [ErrContextLength].
func (e *APIError) Is(target error) bool {
	switch target {
	case ErrAuth:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	case ErrRateLimited:
		return e.Status == http.StatusTooManyRequests
	case ErrContextLength:
		return e.Code == "context_length_exceeded" || e.Type == "exceed_context_size_error"
	}
	return false
}
