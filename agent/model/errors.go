// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Identities of what can go wrong with a provider. An [*APIError] matches the one that fits with errors.Is.
var (
	// ErrAuth means that the key is missing, wrong or not allowed to use the model.
	ErrAuth = errors.New("authentication failed")
	// ErrRateLimited means too many requests, or that the account's quota is used up.
	ErrRateLimited = errors.New("rate limited")
	// ErrContextLength means that the conversation is longer than the model can take.
	ErrContextLength = errors.New("context length exceeded")
	// ErrUnsupported means that the adapter or the provider cannot do what the request asks.
	ErrUnsupported = errors.New("not supported by the model")
	// ErrRequestsForbidden means that [ForbidRequests] is in force.
	ErrRequestsForbidden = errors.New("real model requests are forbidden in this process")
)

// APIError is a provider's answer that is not a response, or a response that cannot be understood.
type APIError struct {
	// Provider and Model say whose error it is.
	Provider, Model string
	// Status is the HTTP status, or 0 if there was no answer at all.
	Status int
	// Code and Type are the provider's own classification, if it gave one.
	Code, Type string
	// Message is the provider's explanation, for people.
	Message string
	// RequestID helps the provider's support to find the request.
	RequestID string
	// Retryable says that the same request may succeed later.
	Retryable bool
	// RetryAfter is how long the provider asks to wait, or 0.
	RetryAfter time.Duration
	// Err is the cause, if there is one.
	Err error
}

// Error implements error, on one line. What is not known is left out.
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
		what = "no usable answer"
	}
	text := "model"
	for _, s := range []string{e.Provider + " " + e.Model, status, what} {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			text += ": " + s
		}
	}
	return text
}

// Unwrap returns the cause.
func (e *APIError) Unwrap() error { return e.Err }

// Is matches [ErrAuth], [ErrRateLimited] and [ErrContextLength].
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
