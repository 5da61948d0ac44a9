// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// openaiAPIError is an error in the form of OpenAI: see https://platform.openai.com/docs/guides/error-codes.
type openaiAPIError struct {
	status               int
	message, param, code string
	final                bool // trying again would not help, or would do things twice
}

func (e *openaiAPIError) Error() string { return "webbridge: " + e.message }

// kind is the type of the error.
func (e *openaiAPIError) kind() string {
	switch {
	case e.status == http.StatusUnauthorized:
		return "authentication_error"
	case e.status == http.StatusForbidden:
		return "permission_error"
	case e.status == http.StatusTooManyRequests && e.final:
		return "insufficient_quota"
	case e.status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case e.status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// body is the error as JSON. Unknown fields are null.
func (e *openaiAPIError) body() map[string]any {
	or := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"message": e.message, "type": e.kind(), "param": or(e.param), "code": or(e.code)}
}

// openaiInvalid is an error about a parameter.
func openaiInvalid(param, format string, args ...any) *openaiAPIError {
	return &openaiAPIError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...), param: param, code: "invalid_value"}
}

// openaiUnsupported is an error about a parameter that this server does not have.
func openaiUnsupported(param, format string, args ...any) *openaiAPIError {
	return &openaiAPIError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...), param: param, code: "unsupported_parameter"}
}

// openaiErrorOf returns an error of the handler in the form of OpenAI.
func openaiErrorOf(e *Error) *openaiAPIError {
	a := &openaiAPIError{status: e.Status, message: e.Message, code: e.Kind}
	switch e.Kind {
	case KindUnauthorized:
		a.code = "invalid_api_key"
	case KindLimit:
		a.code = "rate_limit_exceeded"
	}
	return a
}

func openaiWriteError(w http.ResponseWriter, e *openaiAPIError) {
	if e.final {
		w.Header().Set("x-should-retry", "false") // what the SDKs of OpenAI ask
	}
	openaiWriteJSON(w, e.status, map[string]any{"error": e.body()})
}

func openaiWriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(openaiJsonOf(v), '\n'))
}

// openaiJsonOf returns a value as JSON. All values here have a JSON form, except for outputs of agents.
func openaiJsonOf(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"error":{"message":"The output has no JSON form.","type":"server_error","param":null,"code":null}}`)
	}
	return data
}

func openaiSorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
