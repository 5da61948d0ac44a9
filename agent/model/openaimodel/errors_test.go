// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// errorCases lists error responses of servers and the resulting errors.
var errorCases = []struct {
	name, body string
	status     int // sent by the server
	want       int // of the error, if different
	message    string
	code, kind string
	is         error
	retryable  bool
}{
	{
		name: "OpenAI: wrong key", status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + testKey + `.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
		message: "Incorrect API key provided: [redacted].", code: "invalid_api_key", kind: "invalid_request_error", is: model.ErrAuth,
	},
	{
		name: "OpenAI: rate limit", status: 429, body: `{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		message: "Rate limit reached", code: "rate_limit_exceeded", kind: "tokens", is: model.ErrRateLimited, retryable: true,
	},
	{
		name: "OpenAI: quota", status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
		message: "You exceeded your current quota", code: "insufficient_quota", kind: "insufficient_quota", is: model.ErrRateLimited,
	},
	{
		name: "OpenAI: context", status: 400, body: `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		message: "This model's maximum context length is 8192 tokens.", code: "context_length_exceeded", kind: "invalid_request_error", is: model.ErrContextLength,
	},
	{
		name: "OpenAI: server", status: 500, body: `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`,
		message: "The server had an error", kind: "server_error", retryable: true,
	},
	{
		name: "Azure: a filtered prompt", status: 400, body: `{"error":{"message":"The prompt was filtered.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`,
		message: "The prompt was filtered.", code: "content_filter",
	},
	{
		name: "Azure: a filtered prompt, from a gateway with status 200", status: 200, want: 400, body: `{"error":{"message":"The prompt was filtered.","type":null,"code":"content_filter","status":400}}`,
		message: "The prompt was filtered.", code: "content_filter",
	},
	{
		name: "OpenRouter: credits", status: 402, body: `{"error":{"message":"Insufficient credits","code":402},"user_id":"u"}`,
		message: "Insufficient credits", is: model.ErrRateLimited,
	},
	{
		name: "OpenRouter: the provider behind it", status: 502, body: `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"message\":\"upstream is down\"}}","provider_name":"X"}}}`,
		message: "Provider returned error: upstream is down", retryable: true,
	},
	{
		name: "OpenRouter: an error with status 200", status: 200, want: 429, body: `{"error":{"message":"Rate limited","code":429}}`,
		message: "Rate limited", is: model.ErrRateLimited, retryable: true,
	},
	{
		name: "OpenRouter: an error in the choice", status: 200, want: 502, body: `{"id":"x","choices":[{"index":0,"message":{"content":""},"finish_reason":"error","error":{"code":502,"message":"Upstream failed"}}]}`,
		message: "Upstream failed", retryable: true,
	},
	{
		name: "vLLM: context, old", status: 400, body: `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000.","type":"BadRequestError","param":null,"code":400}`,
		message: "This model's maximum context length is 4096 tokens. However, you requested 5000.", kind: "BadRequestError", is: model.ErrContextLength,
	},
	{
		name: "vLLM: unknown model", status: 404, body: `{"error":{"message":"The model x does not exist.","type":"NotFoundError","param":null,"code":404}}`,
		message: "The model x does not exist.", kind: "NotFoundError",
	},
	{
		name: "llama.cpp: context", status: 400, body: `{"error":{"code":400,"message":"request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9412,"n_ctx":8192}}`,
		message: "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it", kind: "exceed_context_size_error", is: model.ErrContextLength,
	},
	{
		name: "llama.cpp: loading", status: 503, body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`,
		message: "Loading model", kind: "unavailable_error", retryable: true,
	},
	{
		name: "llama.cpp: cannot", status: 501, body: `{"error":{"code":501,"message":"This server does not support tools","type":"not_supported_error"}}`,
		message: "This server does not support tools", kind: "not_supported_error",
	},
	{
		name: "Ollama: unknown model", status: 404, body: `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`,
		message: `model "x" not found, try pulling it first`, kind: "api_error",
	},
	{
		name: "Ollama: native shape", status: 400, body: `{"error":"model is required"}`, message: "model is required",
	},
	{
		name: "Ollama: context", status: 400, body: `{"error":{"message":"prompt too long; exceeded max context length by 7 tokens","type":"invalid_request_error","param":null,"code":null}}`,
		message: "prompt too long; exceeded max context length by 7 tokens", kind: "invalid_request_error", is: model.ErrContextLength,
	},
	{
		name: "LM Studio: a string", status: 400, body: `{"error":"Invalid tool_choice type: 'object'."}`, message: "Invalid tool_choice type: 'object'.",
	},
	{
		name: "LM Studio: an unknown endpoint with status 200", status: 200, body: `{"error":"Unexpected endpoint or method. (POST /x)"}`,
		message: "Unexpected endpoint or method. (POST /x)",
	},
	{
		name: "DeepSeek: balance", status: 402, body: `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`,
		message: "Insufficient Balance", code: "invalid_request_error", kind: "unknown_error", is: model.ErrRateLimited,
	},
	{
		name: "Google: a list", status: 400, body: `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`,
		message: "API key not valid.", kind: "INVALID_ARGUMENT",
	},
	{name: "FastAPI", status: 422, body: `{"detail":"Field required"}`, message: "Field required"},
	{name: "FastAPI: a list", status: 422, body: `{"detail":[{"loc":["body"],"msg":"bad"}]}`, message: `[{"loc":["body"],"msg":"bad"}]`},
	{name: "a proxy's page", status: 502, body: "<html><head><title>502 Bad\nGateway</title></head><body>x</body></html>", message: "an HTML page: 502 Bad\nGateway", retryable: true},
	{name: "a page with status 200", status: 200, body: "<!DOCTYPE html><title>Welcome</title>", message: "the answer is no chat completion but an HTML page: Welcome"},
	{name: "plain text", status: 404, body: "404 page not found\n", message: "404 page not found (is Config.BaseURL right?"},
	{name: "the longest message", status: 400, body: strings.Repeat("m", 2000), message: strings.Repeat("m", 2000)},
	{name: "a message that is too long", status: 400, body: strings.Repeat("m", 2001), message: strings.Repeat("m", 2000) + "…"},
	{name: "the longest body", status: 400, body: sized(64 << 10), message: "m"},
	{name: "a body that is too long", status: 400, body: sized(64<<10 + 1), message: `{"message":"m"`},
	{name: "nothing", status: 529, body: "", message: "an empty body", retryable: true},
	{name: "conflict", status: 409, body: `{"message":"try again"}`, message: "try again", retryable: true},
}

// sized returns an error of so many bytes.
func sized(n int) string {
	const head, tail = `{"message":"m","x":"`, `"}`
	return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
}

func TestErrorsOfAllDialects(t *testing.T) {
	for _, test := range errorCases {
		t.Run(test.name, func(t *testing.T) {
			m := newModel(t, serve(t, answer{Status: test.status, Body: test.body, Header: map[string]string{"X-Request-Id": "req-1"}}).URL, "")
			_, err := m.Generate(context.Background(), hello(), nil)
			e := apiError(t, err)
			if test.want == 0 {
				test.want = test.status
			}
			require.Equal(t, test.want, e.Status)
			require.True(t, strings.HasPrefix(e.Message, test.message), e.Message)
			require.Equal(t, test.code, e.Code)
			require.Equal(t, test.kind, e.Type)
			require.Equal(t, "req-1", e.RequestID)
			require.Equal(t, test.retryable, e.Retryable)
			require.Equal(t, "test-model", e.Model)
			for _, identity := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength} {
				require.Equal(t, test.is == identity, errors.Is(err, identity), "%v", identity)
			}
		})
	}
}

func TestErrorWithinAStreamEndsIt(t *testing.T) {
	for name, tail := range map[string]string{
		"a chunk":        events(`{"id":"x","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":"server_error","message":"Provider disconnected"}}`),
		"an object":      events(`{"error":{"message":"Provider disconnected","type":"server_error","code":null}}`),
		"an event":       "event: error\ndata: {\"message\":\"Provider disconnected\",\"type\":\"server_error\"}\n\n",
		"an error field": "error: {\"code\":500,\"message\":\"Provider disconnected\",\"type\":\"server_error\"}\n\n",
		"the old vLLM":   events(`{"object":"error","message":"Provider disconnected","type":"InternalServerError","code":500}`),
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, answer{Body: openEvents(delta(`{"content":"par"}`)) + tail})
			m := newModel(t, e.URL, "vllm", func(c *openaimodel.Config) { c.Retry = model.RetryPolicy{Attempts: 3} })
			_, err := stream(t, m, hello())
			got := apiError(t, err)
			require.Equal(t, "Provider disconnected", got.Message)
			require.True(t, got.Retryable)
			require.Equal(t, 1, e.Count(), "no retry after a delta")
		})
	}
}

func TestResponseWithoutMessageIsAnError(t *testing.T) {
	for _, body := range []string{
		`{"id":"x","choices":[]}`, `{"id":"x","choices":null}`, `{}`, `[]`, `{"choices":[{"index":0,"message":null,"finish_reason":"stop"}]}`,
		`{"choices":"none"}`, "data: [DONE]\n\n", events(`{"choices":[],"usage":{"prompt_tokens":1}}`), `{"choices":[{"index":1,"message":{"content":"x"}}]}`,
		`{"choices":`, "data: {\"choices\"\n\ndata: [DONE]\n\n", "", "\n \n", "hello",
	} {
		msg, err := newModel(t, serve(t, answer{Body: body}).URL, "").Generate(context.Background(), hello(), nil)
		require.Nil(t, msg)
		require.Equal(t, 200, apiError(t, err).Status, body)
	}
}

func TestTruncatedResponseIsRetryable(t *testing.T) {
	for name, a := range map[string]answer{
		"the stream ends":                   {Body: openEvents(delta(`{"content":"x"}`))},
		"the stream ends in an event":       {Body: openEvents(delta(`{"content":"x"}`)) + `data: {"choices":[{"ind`},
		"the connection breaks in a stream": {Body: openEvents(delta(`{"content":"x"}`)), Cut: true},
		"the connection breaks in a body":   {Body: `{"choices":[{"index":0,"message":{"content":"x`, Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stream(t, newModel(t, serve(t, a).URL, ""), hello())
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.True(t, apiError(t, err).Retryable)
		})
	}
}

func TestStreamMayEndAfterItsFinishReason(t *testing.T) {
	for _, a := range []answer{
		{Body: openEvents(delta(`{"content":"x"}`), finish("length"))},
		{Body: openEvents(delta(`{"content":"x"}`), finish("length")), Cut: true},
		{Body: openEvents(delta(`{"content":"x"}`), finish("length")) + `data: {"usage`},
	} {
		msg, err := stream(t, newModel(t, serve(t, a).URL, ""), hello())
		require.NoError(t, err)
		require.Equal(t, "x", msg.Text())
		require.Equal(t, model.FinishLength, msg.Finish)
	}
}

func TestUnreachableEndpointErrorHasAdvice(t *testing.T) {
	const closed = "127.0.0.1:1" // a port that was free a moment ago may be somebody's
	_, err := newModel(t, "http://user:secret@"+closed, "").Generate(context.Background(), hello(), nil)
	e := apiError(t, err)
	require.True(t, e.Retryable)
	require.Zero(t, e.Status)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.Contains(t, err.Error(), closed+"/v1")
	require.Contains(t, err.Error(), "start the server")
	require.NotContains(t, err.Error(), "secret")
}

func TestSinkErrorIsReturnedUnwrapped(t *testing.T) {
	mine := errors.New("mine")
	for _, body := range []string{
		events(delta(`{"content":"a"}`), delta(`{"content":"b"}`), finish("stop")),
		`{"choices":[{"message":{"content":"a","tool_calls":[{"id":"1","function":{"name":"f"}}]}}]}`,
		events(fragment(0, "a", "f", ""), finish("stop")),
	} {
		calls := 0
		e := serve(t, answer{Body: body})
		m := newModel(t, e.URL, "", func(c *openaimodel.Config) { c.Retry.Attempts = 3 })
		msg, err := m.Generate(context.Background(), hello(), func(model.Delta) error { calls++; return mine })
		require.Nil(t, msg)
		require.True(t, err == mine, "%v", err) //nolint:errorlint // it must not be wrapped
		require.Equal(t, 1, calls)
		require.Equal(t, 1, e.Count())
	}
}

func TestForbiddenRequestsAreNotSent(t *testing.T) {
	restore := model.ForbidRequests()
	defer restore()
	e := serve(t, answer{Body: "{}"})
	m := newModel(t, e.URL, "")
	_, err := m.Generate(context.Background(), hello(), nil)
	require.ErrorIs(t, err, model.ErrRequestsForbidden)
	_, err = m.Models(context.Background())
	require.ErrorIs(t, err, model.ErrRequestsForbidden)
	require.Zero(t, e.Count())
}

func TestModelsListsNames(t *testing.T) {
	e := serve(t, answer{Body: `{"object":"list","data":[{"id":"qwen3:8b","object":"model"},{"id":"gemma"}]}`}, answer{Body: `{"object":"list","data":null}`}, answer{Status: 401, Body: `{"error":"no"}`})
	m := newModel(t, e.URL+"/custom/v9/", "")
	names, err := m.Models(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"qwen3:8b", "gemma"}, names)
	require.Equal(t, "/custom/v9/models", e.Requests[0].URL.Path)
	require.Equal(t, "Bearer "+testKey, e.Requests[0].Header.Get("Authorization"))
	names, err = m.Models(context.Background())
	require.NoError(t, err)
	require.Empty(t, names)
	_, err = m.Models(context.Background())
	require.ErrorIs(t, err, model.ErrAuth)

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(os.ErrClosed)
	_, err = m.Models(ctx)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestRetryAfterForms(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"Retry-After: 7": 7 * time.Second, "Retry-After: 1.5": 1500 * time.Millisecond, "Retry-After-Ms: 250": 250 * time.Millisecond,
		"Retry-After: -1": 0, "Retry-After: soon": 0, "Retry-After: NaN": 0, "Retry-After: 1e300": 365 * 24 * time.Hour,
		"Retry-After: Wed, 21 Oct 2015 07:28:00 GMT": 0,
	} {
		name, value, _ := strings.Cut(header, ": ")
		m := newModel(t, serve(t, answer{Status: 429, Body: "{}", Header: map[string]string{name: value}}).URL, "")
		_, err := m.Generate(context.Background(), hello(), nil)
		require.Equal(t, want, apiError(t, err).RetryAfter, header)
	}
	in := time.Now().Add(90 * time.Second).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	m := newModel(t, serve(t, answer{Status: 503, Body: "{}", Header: map[string]string{"Retry-After": in}}).URL, "")
	_, err := m.Generate(context.Background(), hello(), nil)
	require.InDelta(t, 90, apiError(t, err).RetryAfter.Seconds(), 5)
}

func TestNestedErrorsHaveADepthLimit(t *testing.T) {
	body := `{"message":"inner"}`
	for range 2000 {
		body = `{"message":"m","metadata":{"raw":` + body + `}}`
	}
	message, _, _, ok := openaimodel.ParseErrorBody([]byte(body))
	require.True(t, ok)
	require.True(t, strings.HasPrefix(message, "m: m: "))
	require.Less(t, strings.Count(message, "m: "), 10)
}

func TestServerAdviceOnRetriesWins(t *testing.T) {
	for advice, status := range map[string]int{"true": 400, "false": 500} {
		m := newModel(t, serve(t, answer{Status: status, Body: "{}", Header: map[string]string{"X-Should-Retry": advice}}).URL, "openai")
		_, err := m.Generate(context.Background(), hello(), nil)
		require.Equal(t, advice, fmt.Sprint(apiError(t, err).Retryable))
	}
}
