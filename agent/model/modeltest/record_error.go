// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// recordedError is an error in a file: its message, the sentinels that errors.Is finds in it, and
// the fields of an [*model.APIError].
type recordedError struct {
	Message string    `json:"message"`
	Is      []string  `json:"is,omitempty"`
	API     *apiError `json:"api,omitempty"`
}

type apiError struct {
	Provider   string `json:"provider,omitempty"`
	Model      string `json:"model,omitempty"`
	Status     int    `json:"status,omitempty"`
	Code       string `json:"code,omitempty"`
	Type       string `json:"type,omitempty"`
	Message    string `json:"message,omitempty"`
	RequestID  string `json:"request_id,omitempty"`
	Retryable  bool   `json:"retryable,omitempty"`
	RetryAfter string `json:"retry_after,omitempty"`
	// Cause is the message of the wrapped error, if any.
	Cause string `json:"cause,omitempty"`
}

// identities lists the sentinel errors that a recording preserves.
var identities = []struct {
	name string
	err  error
}{
	{"auth", model.ErrAuth},
	{"rate_limited", model.ErrRateLimited},
	{"context_length", model.ErrContextLength},
	{"unsupported", model.ErrUnsupported},
	{"canceled", context.Canceled},
	{"deadline_exceeded", context.DeadlineExceeded},
	{"io_deadline_exceeded", os.ErrDeadlineExceeded},
	{"eof", io.EOF},
	{"unexpected_eof", io.ErrUnexpectedEOF},
}

func recordError(err error) *recordedError {
	r := &recordedError{Message: err.Error()}
	for _, id := range identities {
		if errors.Is(err, id.err) {
			r.Is = append(r.Is, id.name)
		}
	}
	var api *model.APIError
	if errors.As(err, &api) {
		r.API = &apiError{
			Provider: api.Provider, Model: api.Model, Status: api.Status, Code: api.Code, Type: api.Type,
			Message: api.Message, RequestID: api.RequestID, Retryable: api.Retryable,
		}
		if api.RetryAfter != 0 {
			r.API.RetryAfter = api.RetryAfter.String()
		}
		if api.Err != nil {
			r.API.Cause = api.Err.Error()
		}
	}
	return r
}

// replayedError replaces an error of another process.
type replayedError struct {
	message string
	causes  []error
}

func (e *replayedError) Error() string   { return e.message }
func (e *replayedError) Unwrap() []error { return e.causes }

// replay returns an error with the same message and properties.
func (r *recordedError) replay() error {
	var causes []error
	for _, name := range r.Is {
		for _, id := range identities {
			if id.name == name {
				causes = append(causes, id.err)
			}
		}
	}
	if r.API == nil {
		return &replayedError{r.Message, causes}
	}
	api := &model.APIError{
		Provider: r.API.Provider, Model: r.API.Model, Status: r.API.Status, Code: r.API.Code, Type: r.API.Type,
		Message: r.API.Message, RequestID: r.API.RequestID, Retryable: r.API.Retryable,
	}
	api.RetryAfter, _ = time.ParseDuration(r.API.RetryAfter)
	if r.API.Cause != "" {
		api.Err = &replayedError{r.API.Cause, causes}
	}
	if api.Error() == r.Message {
		return api
	}
	return &replayedError{r.Message, append(causes, api)}
}

// check finds errors that cannot be replayed.
func (r *recordedError) check() error {
	if r.API != nil && r.API.RetryAfter != "" {
		if _, err := time.ParseDuration(r.API.RetryAfter); err != nil {
			return fmt.Errorf("error: %w", err)
		}
	}
	return nil
}
