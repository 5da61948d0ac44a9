package openaimodel

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// maxMessage bounds what an error quotes of an answer, in bytes.
const maxMessage = 2000

// errorBody is what the servers say about an error, with the fields of all of them.
type errorBody struct {
	Error   rawValue `json:"error"`
	Message text     `json:"message"`
	Type    text     `json:"type"`
	Code    text     `json:"code"`
	Status  text     `json:"status"` // Google's name of the type
	Detail  rawValue `json:"detail"` // FastAPI
	Object  text     `json:"object"`
	// Metadata is where OpenRouter quotes the provider behind it.
	Metadata struct {
		Raw rawValue `json:"raw"`
	} `json:"metadata"`
}

// parseErrorBody finds message, code and type in the error shapes of the dialects:
//
//	{"error":{"message":…,"type":…,"code":…}}  {"error":"…"}  [{"error":{…}}]
//	{"object":"error","message":…,"type":…,"code":…}  {"message":…}  {"detail":…}
//
// It reports false if data is nothing of the kind.
func parseErrorBody(data []byte) (message, code, kind string, ok bool) {
	data = bytes.TrimSpace(data)
	for range 4 { // how deep errors are wrapped at most
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
		if err := json.Unmarshal(data, &b); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
			return "", "", "", false
		}
		if len(b.Error) > 0 {
			data = bytes.TrimSpace(b.Error)
			continue
		}
		message, code, kind = string(b.Message), string(b.Code), firstNonEmpty(string(b.Type), string(b.Status))
		if message == "" && len(b.Detail) > 0 {
			message = string(b.Detail)
			if s, err := unquote(b.Detail); b.Detail[0] == '"' && err == nil {
				message = s
			}
		}
		if raw := string(b.Metadata.Raw); raw != "" {
			if inner, _, _, ok := parseErrorBody(b.Metadata.Raw); ok {
				raw = inner
			}
			message += ": " + raw
		}
		return message, code, kind, message != "" || code != "" || kind != ""
	}
	return "", "", "", false
}

// reportedError makes an error of what a server reported, in an answer of that status or in the middle of a stream.
func (m *Model) reportedError(status int, header http.Header, body []byte) *model.APIError {
	e := &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Status: status}
	message, code, kind, ok := parseErrorBody(body)
	if !ok {
		message = m.describeUnknownBody(status, header, body)
	}
	// In a stream, and from servers that answer everything with 200, the code in the error is the status that was meant.
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		if status < 400 {
			e.Status = n
		}
		if n == e.Status {
			code = ""
		}
	}
	e.Message, e.Code, e.Type = m.secret.redact(truncate(message, maxMessage)), m.secret.redact(code), m.secret.redact(kind)
	e.RequestID = m.secret.redact(requestID(header))
	e.RetryAfter = retryAfter(header, time.Now())
	classify(e)
	switch header.Get("X-Should-Retry") { // OpenAI knows better than the status
	case "true":
		e.Retryable = true
	case "false":
		e.Retryable = false
	}
	if e.Status == http.StatusUnauthorized && !m.secret.isSet {
		e.Message = strings.TrimSpace(e.Message + " (Config.APIKey is not set)")
	}
	return e
}

func requestID(h http.Header) string {
	return firstNonEmpty(h.Get("X-Request-Id"), h.Get("Request-Id"), h.Get("X-Generation-Id"), h.Get("Cf-Ray"))
}

// describeUnknownBody says in words what came instead of an error object.
func (m *Model) describeUnknownBody(status int, header http.Header, body []byte) string {
	quoted := strings.TrimSpace(string(body))
	if strings.HasPrefix(quoted, "<") {
		quoted = "an HTML page"
		if title := htmlTitle.FindSubmatch(body); title != nil {
			quoted += ": " + strings.TrimSpace(string(title[1]))
		}
	}
	if quoted == "" {
		quoted = "an empty body"
	}
	switch {
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return fmt.Sprintf("%s (is Config.BaseURL right? it is %s, and often ends in /v1)", quoted, m.base.Redacted())
	case status < 300:
		return fmt.Sprintf("the answer is no chat completion but %s (is Config.BaseURL right? it is %s)", quoted, m.base.Redacted())
	case status < 400:
		return fmt.Sprintf("redirected to %q (Config.BaseURL is %s)", header.Get("Location"), m.base.Redacted())
	}
	return quoted
}

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// classify sets Retryable, and Err to the identity of the error where the status does not tell it.
func classify(e *model.APIError) {
	code, kind := strings.ToLower(e.Code), strings.ToLower(e.Type)
	is := func(names ...string) bool {
		for _, name := range names {
			if code == name || kind == name {
				return true
			}
		}
		return false
	}
	outOfQuota := e.Status == http.StatusPaymentRequired || is("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance")
	switch {
	case e.Status >= 400:
		e.Retryable = retryableStatus(e.Status)
	case is("invalid_request_error", "badrequesterror"):
	default: // in the middle of a stream
		e.Retryable = is("server_error", "internal_error", "internal_server_error", "internalservererror", "api_error",
			"overloaded", "overloaded_error", "rate_limit_exceeded", "rate_limit_error", "unavailable_error",
			"service_unavailable", "timeout", "server_overloaded")
	}
	switch {
	case outOfQuota:
		e.Retryable = false
		e.Err = model.ErrRateLimited
	case is("rate_limit_exceeded", "rate_limit_error"):
		e.Err = model.ErrRateLimited
	case is("invalid_api_key", "authentication_error"):
		e.Err = model.ErrAuth
	case is("context_length_exceeded", "exceed_context_size_error") || saysContextLength(e):
		e.Retryable = false
		e.Err = model.ErrContextLength
	}
}

func retryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return status >= 500
}

// contextLengthPhrases are how servers without a code for it say that the conversation is too long: vLLM and DeepSeek,
// llama.cpp, Ollama, LM Studio (twice), and some behind OpenRouter.
var contextLengthPhrases = []string{
	"maximum context length", "available context size", "max context length", "context length of only",
	"greater than the context length", "prompt is too long", "input is too long", "exceeds the context window",
}

func saysContextLength(e *model.APIError) bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	message := strings.ToLower(e.Message)
	for _, phrase := range contextLengthPhrases {
		if strings.Contains(message, phrase) {
			return true
		}
	}
	return false
}

// brokenResponse is the error for an answer of status 200 that cannot be understood.
func (m *Model) brokenResponse(resp *http.Response, cause error, retryable bool) *model.APIError {
	return &model.APIError{
		Provider: m.info.Provider, Model: m.info.Name, Status: resp.StatusCode,
		RequestID: m.secret.redact(requestID(resp.Header)), Retryable: retryable, Err: cause,
	}
}

// transportError is the error for a request that was not answered.
func (m *Model) transportError(err error) *model.APIError {
	// A *url.Error would name the URL again.
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	e := &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Err: err, Retryable: true}
	why := m.secret.redact(err.Error())
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = fmt.Sprintf("nothing listens at %s: start the server, or correct Config.BaseURL (%s)", m.base.Redacted(), why)
	case errors.As(err, &dns):
		e.Retryable = !dns.IsNotFound
		e.Message = fmt.Sprintf("the host of %s cannot be resolved: check Config.BaseURL and the network (%s)", m.base.Redacted(), why)
	case errors.As(err, &certificate):
		e.Retryable = false
		e.Message = fmt.Sprintf("the certificate of %s cannot be verified (%s)", m.base.Redacted(), why)
	default:
		e.Message = fmt.Sprintf("no answer from %s (%s)", m.base.Redacted(), why)
	}
	return e
}

// cancelled is the error for a call whose context has ended. It wraps the context's cause, and the context's own error
// too if that is another one; last is why the call was not finished before that, or nil.
func (m *Model) cancelled(ctx context.Context, last error) error {
	cause, prefix := context.Cause(ctx), "openaimodel: "+m.info.Provider+" "+m.info.Name
	err := fmt.Errorf("%s: request cancelled: %w", prefix, cause)
	if !errors.Is(cause, ctx.Err()) {
		err = fmt.Errorf("%s: request cancelled: %w (%w)", prefix, cause, ctx.Err())
	}
	if last != nil {
		err = fmt.Errorf("%w; before that: %w", err, last)
	}
	return err
}
