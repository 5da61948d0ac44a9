// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// maxMessage bounds what an error quotes of an answer, in bytes.
const maxMessage = 2000

// statuses are those that the API answers with for its types of errors; within a stream, whose status is 200, they are
// what was meant.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      529,
}

// reported makes an error of what a server reported, in an answer of that status or in the middle of a stream.
func (m *Model) reported(status int, header http.Header, body []byte) *model.APIError {
	e := &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Status: status}
	message, kind, requestID := parseError(body)
	if message == "" && kind == "" {
		message = adapter.UnknownBody(status, header, body, "message", adapter.CleanURL(m.base))
	}
	if meant := statuses[kind]; status < 400 && meant != 0 {
		e.Status = meant
	}
	e.Message, e.Type = adapter.Truncate(m.redact(message), maxMessage), adapter.Truncate(m.redact(kind), 200)
	e.Code = e.Type // the API has no other code
	e.RequestID = adapter.Truncate(m.redact(cmp.Or(adapter.RequestID(header), requestID)), 200)
	e.RetryAfter = adapter.RetryAfter(header, time.Now())
	adapter.Classify(e)
	if kind == "billing_error" {
		e.Retryable, e.Err = false, model.ErrRateLimited
	}
	if e.Status == http.StatusBadRequest && strings.Contains(e.Message, "exceed context limit") { // the prompt with max_tokens
		e.Err = model.ErrContextLength
	}
	switch header.Get("X-Should-Retry") { // the API knows better than the status
	case "true":
		e.Retryable = true
	case "false":
		e.Retryable = false
	}
	if e.Status == http.StatusUnauthorized && !m.hasKey {
		e.Message = strings.TrimSpace(e.Message + " (Config.APIKey is not set)")
	}
	return e
}

// parseError reads {"type":"error","error":{"type":…,"message":…},"request_id":…} and what gateways make of it: an error that
// is a string, or one without the wrapping.
func parseError(data []byte) (message, kind, requestID string) {
	type fields struct {
		Type      string          `json:"type"`
		Message   string          `json:"message"`
		Detail    string          `json:"detail"`
		RequestID string          `json:"request_id"`
		Error     json.RawMessage `json:"error"`
	}
	var outer, inner fields
	_ = json.Unmarshal(data, &outer) // a member of another type leaves the others
	if inner = outer; len(outer.Error) > 0 {
		inner = fields{}
		if json.Unmarshal(outer.Error, &inner.Message) != nil {
			_ = json.Unmarshal(outer.Error, &inner)
		}
	}
	return cmp.Or(inner.Message, inner.Detail), inner.Type, outer.RequestID
}

// broken is the error for an answer of status 200 that cannot be understood.
func (m *Model) broken(status int, header http.Header, cause error) *model.APIError {
	return &model.APIError{
		Provider: m.info.Provider, Model: m.info.Name, Status: status,
		RequestID: m.redact(adapter.RequestID(header)), Retryable: errorIsEmpty(cause), Err: adapter.Cleaned(cause, m.redact),
	}
}
