// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

func (m *endpoint) transportError(err error) *model.APIError {
	return adapter.TransportError(m.info, adapter.CleanURL(m.base), err, m.secret.Redact)
}

// maxMessage limits what an error quotes of a response, in bytes.
const maxMessage = 2000

// quoted is what an error quotes of something that should have been a response.
func quoted(data []byte) string { return adapter.Truncate(string(data), 200) }

// errorBody holds error details, with the fields of all servers.
type errorBody struct {
	Error   rawValue `json:"error"`
	Message text     `json:"message"`
	Type    text     `json:"type"`
	Code    text     `json:"code"`
	Status  text     `json:"status"` // Google's name for the type, or Azure's HTTP status
	Detail  rawValue `json:"detail"` // FastAPI
	Object  text     `json:"object"`
	// Errors is used by Cloudflare and Watsonx.
	Errors rawValue `json:"errors"`
	// BaseResp is MiniMax's, also of successful responses, where it has the code 0.
	BaseResp baseResp `json:"base_resp"`
	// Metadata contains the error of the provider that OpenRouter used.
	Metadata struct {
		Raw rawValue `json:"raw"`
	} `json:"metadata"`
}

type baseResp struct {
	Code    text `json:"status_code"`
	Message text `json:"status_msg"`
}

func (b *baseResp) failed() bool { return b.Code != "" && b.Code != "0" }

// parseErrorBody finds message, code and type in the error formats of all dialects:
//
//	{"error":{"message":…,"type":…,"code":…}}  {"error":"…"}  [{"error":{…}}]
//	{"object":"error","message":…,"type":…,"code":…}  {"message":…}  {"detail":…}  {"errors":[{"message":…}]}
//	{"base_resp":{"status_code":…,"status_msg":…}}
//
// It reports false if data has none of these formats.
func parseErrorBody(data []byte) (message, code, kind string, ok bool) {
	return parseErrorWithin(data, 8)
}

// parseErrorWithin is parseErrorBody with a limit on nesting.
func parseErrorWithin(data []byte, depth int) (message, code, kind string, ok bool) {
	data = bytes.TrimSpace(data)
	for ; depth > 0; depth-- {
		switch {
		case len(data) == 0:
			return "", "", "", false
		case data[0] == '"':
			s, err := unquote(data)
			if err != nil {
				return "", "", "", false
			}
			if inner := strings.TrimSpace(s); strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)) {
				data = []byte(inner)
				continue
			}
			return s, "", "", s != ""
		case data[0] == '[':
			var list []rawValue
			if json.Unmarshal(data, &list) != nil || len(list) == 0 || len(list[0]) == 0 {
				return "", "", "", false
			}
			data = bytes.TrimSpace(list[0])
			continue
		case data[0] != '{':
			return "", "", "", false
		}
		var b errorBody
		if err := json.Unmarshal(data, &b); err != nil && !errs.As(err, new(*json.UnmarshalTypeError)) {
			return "", "", "", false
		}
		if len(b.Error) > 0 {
			data = bytes.TrimSpace(b.Error)
			continue
		}
		if len(b.Errors) > 0 && b.Message == "" {
			data = bytes.TrimSpace(b.Errors)
			continue
		}
		message, code, kind = string(b.Message), string(b.Code), cmp.Or(string(b.Type), string(b.Status))
		if b.BaseResp.failed() {
			message, code = cmp.Or(message, string(b.BaseResp.Message)), cmp.Or(code, string(b.BaseResp.Code))
		}
		if message == "" && len(b.Detail) > 0 {
			message = string(b.Detail)
			if s, err := unquote(b.Detail); b.Detail[0] == '"' && err == nil {
				message = s
			}
		}
		if raw := string(b.Metadata.Raw); raw != "" {
			if inner, _, _, ok := parseErrorWithin(b.Metadata.Raw, depth-1); ok {
				raw = inner
			}
			message += ": " + raw
		}
		return message, code, kind, message != "" || code != "" || kind != ""
	}
	return "", "", "", false
}

// errorOf returns the error that a server reported, in a response with the given status or in the
// middle of a stream.
func (m *endpoint) errorOf(resp *http.Response, body []byte) *model.APIError {
	status, header := resp.StatusCode, resp.Header
	e := &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Status: status}
	message, code, kind, ok := parseErrorBody(body)
	if !ok || status < 300 && !bytes.Contains(body, []byte{'{'}) {
		base := adapter.CleanURL(m.base)
		if !strings.HasSuffix(m.base.Path, "/v1") {
			base += ", and often ends in /v1"
		}
		message = adapter.UnknownBody(status, header, body, m.answers, base)
	}
	if message == "" { // a code or a type at most
		message = string(bytes.TrimSpace(body))
	}
	// In a stream, and from servers that always send status 200, a number in the code, type or
	// status of the error is the intended HTTP status.
	for _, name := range []*string{&code, &kind} {
		if n, err := strconv.Atoi(*name); err == nil && n >= 400 && n < 600 {
			if status < 400 {
				e.Status = n
			}
			if n == e.Status {
				*name = ""
			}
		}
	}
	e.Message, e.Code, e.Type = m.secret.Redact(message), m.secret.Redact(code), m.secret.Redact(kind)
	e.RequestID = m.secret.Redact(adapter.RequestID(header))
	e.RetryAfter = adapter.RetryAfter(header, time.Now())
	adapter.Classify(e)
	e.Message = adapter.Truncate(e.Message, maxMessage)
	switch header.Get("X-Should-Retry") { // OpenAI's own advice is better than the status
	case "true":
		e.Retryable = true
	case "false":
		e.Retryable = false
	}
	if e.Status == http.StatusUnauthorized && !m.secret.IsSet {
		e.Message = strings.TrimSpace(e.Message + " (Config.APIKey is not set)")
	}
	return e
}

// brokenResponse returns the error for a response with status 200 that cannot be understood.
func (m *endpoint) brokenResponse(resp *http.Response, cause error, retryable bool) *model.APIError {
	return &model.APIError{
		Provider: m.info.Provider, Model: m.info.Name, Status: resp.StatusCode,
		RequestID: m.secret.Redact(adapter.RequestID(resp.Header)), Retryable: retryable, Err: adapter.Cleaned(cause, m.secret.Redact),
	}
}

// exceeds returns the error for a limit. Not inlined, it keeps programs smaller.
//
//go:noinline
func exceeds(format string, limit int) error { return errs.Errorf(format, limit) }
