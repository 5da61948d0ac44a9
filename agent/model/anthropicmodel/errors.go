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

// maxMessage limits what an error quotes of a response, in bytes.
const maxMessage = 2000

// statuses maps the API's error types to their HTTP statuses, for errors within a stream, whose
// status is 200.
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

// reported returns the error that a server reported, in a response with the given status or in the
// middle of a stream.
func (m *Model) reported(status int, header http.Header, body []byte) *model.APIError {
	e := &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Status: status}
	message, kind, requestID := parseError(body)
	if message == "" && kind == "" {
		message = adapter.UnknownBody(status, header, body, "message", adapter.CleanURL(m.base))
	}
	if meant := statuses[kind]; status < 400 && meant != 0 {
		e.Status = meant
	}
	e.Message, e.Type = m.redact(message), adapter.Truncate(m.redact(kind), 200)
	e.Code = e.Type // the API has no other code
	e.RequestID = adapter.Truncate(m.redact(cmp.Or(adapter.RequestID(header), requestID)), 200)
	e.RetryAfter = adapter.RetryAfter(header, time.Now())
	adapter.Classify(e)
	e.Message = adapter.Truncate(e.Message, maxMessage)
	if kind == "billing_error" {
		e.Retryable, e.Err = false, model.ErrRateLimited
	}
	switch header.Get("X-Should-Retry") { // the API's advice is better than the status
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

// parseError reads {"type":"error","error":{"type":…,"message":…},"request_id":…} and variations
// made by gateways: an error that is a string, or without the outer object.
func parseError(data []byte) (message, kind, requestID string) {
	type fields struct {
		Type      string          `json:"type"`
		Message   string          `json:"message"`
		Detail    string          `json:"detail"`
		RequestID string          `json:"request_id"`
		Error     json.RawMessage `json:"error"`
		// Metadata contains the error of the provider that OpenRouter used.
		Metadata struct {
			Raw string `json:"raw"`
		} `json:"metadata"`
	}
	var outer, inner fields
	_ = json.Unmarshal(data, &outer) // a member of a wrong type does not affect the others
	if inner = outer; len(outer.Error) > 0 {
		inner = fields{}
		if json.Unmarshal(outer.Error, &inner.Message) != nil {
			_ = json.Unmarshal(outer.Error, &inner)
		}
	}
	message = cmp.Or(inner.Message, inner.Detail)
	if raw := inner.Metadata.Raw; raw != "" {
		within, _, _ := parseError([]byte(raw))
		message += ": " + cmp.Or(within, raw)
	}
	return message, inner.Type, outer.RequestID
}

// broken returns the error for a response with status 200 that cannot be understood.
func (m *Model) broken(status int, header http.Header, cause error) *model.APIError {
	return &model.APIError{
		Provider: m.info.Provider, Model: m.info.Name, Status: status,
		RequestID: m.redact(adapter.RequestID(header)), Retryable: errorIsEmpty(cause), Err: adapter.Cleaned(cause, m.redact),
	}
}
