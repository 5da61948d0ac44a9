// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// maxMessage limits what an error quotes of a response, in bytes.
const maxMessage = 2000

// wireError is Google's error object (google.rpc.Status), with the details that programs can use.
type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []struct {
		Reason     string `json:"reason"`     // ErrorInfo
		RetryDelay string `json:"retryDelay"` // RetryInfo
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"` // QuotaFailure
	} `json:"details"`
}

// parseError finds Google's error object in {"error":{…}} and [{"error":{…}}]. Proxies also send
// {"error":"…"}.
func parseError(data []byte) (e wireError, ok bool) {
	data = bytes.TrimSpace(data)
	var wrapped []struct {
		Error json.RawMessage `json:"error"`
	}
	if !bytes.HasPrefix(data, []byte{'['}) {
		data = append(append([]byte{'['}, data...), ']')
	}
	if json.Unmarshal(data, &wrapped) != nil || len(wrapped) == 0 {
		return e, false
	}
	for _, w := range wrapped {
		if len(w.Error) == 0 {
			continue
		}
		if json.Unmarshal(w.Error, &e.Message) == nil {
			return e, e.Message != ""
		}
		// Members of a wrong type are left out, because the rest may be sufficient.
		if err := json.Unmarshal(w.Error, &e); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
			return e, false
		}
		return e, e.Message != "" || e.Status != "" || e.Code != 0
	}
	return e, false
}

// statusOf maps google.rpc.Code to HTTP statuses, for errors in streams without a number.
var statusOf = map[string]int{
	"INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "NOT_FOUND": 404,
	"ABORTED": 409, "RESOURCE_EXHAUSTED": 429, "CANCELLED": 499, "INTERNAL": 500, "UNKNOWN": 500, "UNIMPLEMENTED": 501,
	"UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504,
}

// reportedError returns the error that the endpoint reported, in a response with the given status
// or in the middle of a stream, where the error contains its own status.
func (m *Model) reportedError(status int, header http.Header, body []byte) *model.APIError {
	e := &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Status: status}
	reported, ok := parseError(body)
	if !ok {
		reported.Message = adapter.UnknownBody(status, header, body, "response of Gemini's", m.where)
	}
	if status < 400 {
		if reported.Code < 400 || reported.Code > 599 {
			reported.Code = statusOf[reported.Status]
		}
		e.Status = cmp.Or(reported.Code, status)
	}
	redact := m.secret.Redact
	e.Message, e.Code = redact(reported.Message), redact(reported.Status)
	e.RequestID = redact(adapter.RequestID(header))
	e.RetryAfter = adapter.RetryAfter(header, time.Now())
	usedUp := false
	for _, d := range reported.Details {
		e.Type = redact(cmp.Or(e.Type, d.Reason))
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && e.RetryAfter == 0 {
			e.RetryAfter = max(wait, 0)
		}
		for _, v := range d.Violations {
			usedUp = usedUp || strings.Contains(v.QuotaID, "PerDay")
		}
	}
	adapter.Classify(e)
	e.Message = adapter.Truncate(e.Message, maxMessage)
	switch {
	case usedUp:
		e.Retryable, e.Err = false, model.ErrRateLimited
	case e.Type == "API_KEY_INVALID": // sent with status 400
		e.Retryable, e.Err = false, model.ErrAuth
	}
	return e
}

// failure returns the error for an invalid or missing response. resp may be nil.
func (m *Model) failure(resp *http.Response, cause error, retryable bool) *model.APIError {
	e := &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Retryable: retryable, Err: adapter.Cleaned(cause, m.secret.Redact)}
	if resp != nil {
		e.Status, e.RequestID = resp.StatusCode, m.secret.Redact(adapter.RequestID(resp.Header))
	}
	return e
}

// notSent returns the error for a request without a response.
func (m *Model) notSent(err error) error {
	if denied := (*credentialsError)(nil); errors.As(err, &denied) {
		e := &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Message: m.secret.Redact(denied.Error()), Err: adapter.Cleaned(denied, m.secret.Redact)}
		if e.Retryable = denied.mayPass(); !e.Retryable {
			e.Err = fmt.Errorf("%w: %w", model.ErrAuth, denied)
		}
		return e
	}
	return adapter.TransportError(m.info, m.where, err, m.secret.Redact)
}
