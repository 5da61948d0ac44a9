// SPDX-License-Identifier: Apache-2.0

package openaiapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/ponte-go/ponte/webbridge"
)

// apiError is an error in the form of OpenAI: see https://platform.openai.com/docs/guides/error-codes.
type apiError struct {
	status               int
	message, param, code string
	final                bool // trying again would not help, or would do things twice
}

func (e *apiError) Error() string { return "openaiapi: " + e.message }

// kind is the type of the error.
func (e *apiError) kind() string {
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

// body is the error as JSON. What is not known is null.
func (e *apiError) body() map[string]any {
	or := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"message": e.message, "type": e.kind(), "param": or(e.param), "code": or(e.code)}
}

// invalid is an error about a parameter.
func invalid(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...), param: param, code: "invalid_value"}
}

// unsupported is an error about a parameter that this server does not have.
func unsupported(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...), param: param, code: "unsupported_parameter"}
}

// errorOf returns an error of the handler in the form of OpenAI.
func errorOf(e *webbridge.Error) *apiError {
	a := &apiError{status: e.Status, message: e.Message, code: e.Kind}
	switch e.Kind {
	case webbridge.KindUnauthorized:
		a.code = "invalid_api_key"
	case webbridge.KindLimit:
		a.code = "rate_limit_exceeded"
	}
	return a
}

func writeError(w http.ResponseWriter, e *apiError) {
	if e.final {
		w.Header().Set("x-should-retry", "false") // what the SDKs of OpenAI ask
	}
	writeJSON(w, e.status, map[string]any{"error": e.body()})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(jsonOf(v), '\n'))
}

// jsonOf returns a value as JSON. All values here have a JSON form, except for outputs of agents.
func jsonOf(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"error":{"message":"The output has no JSON form.","type":"server_error","param":null,"code":null}}`)
	}
	return data
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
