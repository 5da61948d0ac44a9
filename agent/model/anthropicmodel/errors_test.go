// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
)

func wireErrorOf(kind, message string) string {
	return `{"type":"error","error":{"type":` + quote(kind) + `,"message":` + quote(message) + `},"request_id":"req_body"}`
}

func TestErrorKinds(t *testing.T) {
	for name, test := range map[string]struct {
		answer answer
		want   model.APIError
		is     error
	}{
		"key": {
			answer{Status: 401, Body: wireErrorOf("authentication_error", "invalid x-api-key")},
			model.APIError{Status: 401, Type: "authentication_error", Message: "invalid x-api-key", RequestID: "req_body"}, model.ErrAuth,
		},
		"permission": {
			answer{Status: 403, Body: wireErrorOf("permission_error", "no")},
			model.APIError{Status: 403, Type: "permission_error", Message: "no", RequestID: "req_body"}, model.ErrAuth,
		},
		"too long": {
			answer{Status: 400, Body: wireErrorOf("invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum")},
			model.APIError{Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 200001 tokens > 200000 maximum", RequestID: "req_body"},
			model.ErrContextLength,
		},
		"too long with its answer": {
			answer{Status: 400, Body: wireErrorOf("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000")},
			model.APIError{Status: 400, Type: "invalid_request_error", Message: "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", RequestID: "req_body"},
			model.ErrContextLength,
		},
		"money": {
			answer{Status: 402, Body: wireErrorOf("billing_error", "pay")},
			model.APIError{Status: 402, Type: "billing_error", Message: "pay", RequestID: "req_body"}, model.ErrRateLimited,
		},
		"rate": {
			answer{Status: 429, Body: wireErrorOf("rate_limit_error", "slow down"), Header: map[string]string{"Retry-After": "7", "Request-Id": "req_head"}},
			model.APIError{Status: 429, Type: "rate_limit_error", Message: "slow down", RequestID: "req_head", Retryable: true, RetryAfter: 7 * time.Second},
			model.ErrRateLimited,
		},
		"overloaded": {
			answer{Status: 529, Body: wireErrorOf("overloaded_error", "Overloaded")},
			model.APIError{Status: 529, Type: "overloaded_error", Message: "Overloaded", RequestID: "req_body", Retryable: true}, nil,
		},
		"do not retry": {
			answer{Status: 500, Body: wireErrorOf("api_error", "broken"), Header: map[string]string{"X-Should-Retry": "false"}},
			model.APIError{Status: 500, Type: "api_error", Message: "broken", RequestID: "req_body"}, nil,
		},
		"do retry": {
			answer{Status: 400, Body: wireErrorOf("api_error", "broken"), Header: map[string]string{"X-Should-Retry": "true"}},
			model.APIError{Status: 400, Type: "api_error", Message: "broken", RequestID: "req_body", Retryable: true}, nil,
		},
		"too large": {
			answer{Status: 413, Body: wireErrorOf("request_too_large", "32 MB")},
			model.APIError{Status: 413, Type: "request_too_large", Message: "32 MB", RequestID: "req_body"}, model.ErrContextLength,
		},
		"a gateway's page": {
			answer{Status: 502, Body: "<html><title>Bad\nGateway</title>"},
			model.APIError{Status: 502, Message: "an HTML page: Bad\nGateway", Retryable: true}, nil,
		},
		"a string": {
			answer{Status: 400, Body: `{"error":"no such field"}`},
			model.APIError{Status: 400, Message: "no such field"}, nil,
		},
		"no body": {
			answer{Status: 503},
			model.APIError{Status: 503, Message: "an empty body", Retryable: true}, nil,
		},
		"within an answer of status 200": {
			answer{Body: wireErrorOf("overloaded_error", "Overloaded")},
			model.APIError{Status: 529, Type: "overloaded_error", Message: "Overloaded", RequestID: "req_body", Retryable: true}, nil,
		},
		"within a stream": {
			answer{Body: begin() + event(wireErrorOf("rate_limit_error", "slow down")), Header: map[string]string{"Request-Id": "req_head"}},
			model.APIError{Status: 429, Type: "rate_limit_error", Message: "slow down", RequestID: "req_head", Retryable: true}, model.ErrRateLimited,
		},
		"of no type, within a stream": {
			answer{Body: begin() + "event: error\ndata: oops\n\n"},
			model.APIError{Status: 200, Message: "the answer is no message but oops"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
				_, err := newModel(t, serve(t, test.answer).URL).Generate(context.Background(), hello(), sink)
				e := *apiError(t, err)
				for _, id := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength} {
					require.Equal(t, id == test.is, e.Is(id) || e.Err == id, id)
				}
				want := test.want
				want.Provider, want.Model, want.Code, want.Err = "anthropic", "claude-haiku-4-5", want.Type, e.Err
				e.Message, _, _ = strings.Cut(e.Message, " (is Config")
				require.Equal(t, want, e)
			}
		})
	}
}

func TestErrorsDoNotContainKeys(t *testing.T) {
	const token = "token-0123456789"
	body := wireErrorOf("authentication_error "+token, "the key "+testKey+" and "+token+" are wrong")
	for _, a := range []answer{{Status: 401, Body: body}, {Body: begin() + event(strings.Replace(body, `"type":"error"`, `"type":"error"`, 1))}, {Status: 500, Body: testKey + token}} {
		m := newModel(t, serve(t, a).URL, func(c *anthropicmodel.Config) { c.AuthToken = token })
		_, err := m.Generate(context.Background(), hello(), nil)
		e := apiError(t, err)
		require.Contains(t, e.Message, "[redacted]")
		require.NotContains(t, e.Message+e.Type+e.Code, token)
	}
}

func TestMissingKeyIsMentionedInTheError(t *testing.T) {
	m := newModel(t, serve(t, answer{Status: 401, Body: wireErrorOf("authentication_error", "x-api-key header is required")}).URL,
		func(c *anthropicmodel.Config) { c.APIKey = "" })
	_, err := m.Generate(context.Background(), hello(), nil)
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "required (Config.APIKey is not set)")
}

func TestWrongAddressIsExplained(t *testing.T) {
	e := serve(t, answer{})
	e.Close()
	_, err := newModel(t, e.URL).Generate(context.Background(), hello(), nil)
	require.True(t, apiError(t, err).Retryable)
	require.ErrorContains(t, err, "nothing listens at "+e.URL)

	e = serve(t, answer{Status: 302, Header: map[string]string{"Location": "/elsewhere"}})
	_, err = newModel(t, e.URL).Generate(context.Background(), hello(), nil)
	require.ErrorContains(t, err, `redirected to "/elsewhere"`)
	e = serve(t, answer{Status: 404, Body: "404 page not found"})
	_, err = newModel(t, e.URL).Generate(context.Background(), hello(), nil)
	require.ErrorContains(t, err, "404 page not found (is Config.BaseURL right?")
}
