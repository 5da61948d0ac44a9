// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"
	plugin "github.com/firebase/genkit/go/plugins/compat_oai/openai"
	"github.com/openai/openai-go"
	"github.com/openai/openai-go/option"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/openaidialect"
	"github.com/ponte-go/ponte/internal/adapter"
)

const hi = `{"id":"c1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`

func TestSettingsAreSent(t *testing.T) {
	e := serve(t, say(200, hi))
	for provider, maxTokens := range map[string]string{"openai": "max_completion_tokens", "groq": "max_tokens"} {
		m, err := openaidialect.New(openaidialect.Config{Name: "m", BaseURL: e.URL, Provider: provider, HTTPClient: client(t)})
		require.NoError(t, err)
		req := hello()
		req.Tools = []model.ToolDef{{Name: "t", Description: "T.", Schema: json.RawMessage(`{"type":"object","maxProperties":9007199254740993}`)}}
		req.ToolChoice = model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "t"}
		req.Output = &model.OutputSchema{Schema: json.RawMessage(`{"z":1,"a":2}`), Strict: true, Description: "D."}
		req.Settings = &model.Settings{
			MaxTokens: 7, Temperature: new(0.0), TopP: new(0.5), Stop: []string{"x"}, Seed: new(int64(-1)), ParallelToolCalls: new(false),
			Thinking: "off", ServiceTier: "flex", ExtraHeaders: map[string]string{"X-Test": "1"}, ExtraBody: map[string]json.RawMessage{"top_p": json.RawMessage("1"), "n_x": json.RawMessage("9007199254740993")},
		}
		msg, err := m.Generate(t.Context(), req, nil)
		require.NoError(t, err)
		require.Equal(t, "hi", msg.Text())
		require.Equal(t, "c1", msg.ResponseID)
		require.Equal(t, "1", e.lastHeader().Get("X-Test"))
		require.JSONEq(t, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],"`+maxTokens+`":7,"temperature":0,"top_p":1,
			"stop":["x"],"seed":-1,"parallel_tool_calls":false,"reasoning_effort":"none","service_tier":"flex","n_x":9007199254740993,
			"tool_choice":{"type":"function","function":{"name":"t"}},
			"response_format":{"type":"json_schema","json_schema":{"name":"output","description":"D.","strict":true,"schema":{"z":1,"a":2}}},
			"tools":[{"type":"function","function":{"name":"t","description":"T.","strict":false,"parameters":{"type":"object","maxProperties":9007199254740993}}}]}`,
			e.lastBody())
		require.Contains(t, e.lastBody(), "9007199254740993", "to the digit")
		require.Empty(t, e.lastHeader().Get("Openai-Organization"))
	}
}

func TestUnsupportedRequestsAreErrors(t *testing.T) {
	e := serve(t, say(200, hi))
	m := newModel(t, e)
	for name, req := range map[string]*model.Request{
		"a level of thinking": {Settings: &model.Settings{Thinking: "deep"}},
		"a path in the body":  {Settings: &model.Settings{ExtraBody: map[string]json.RawMessage{"a.b": json.RawMessage("1")}}},
		"audio":               {Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.Media("audio/wav", []byte("x"))}}}},
		"PDF":                 {Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.Media("application/pdf", []byte("x"))}}}},
	} {
		_, err := m.Generate(t.Context(), req, nil)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
	}
	require.Empty(t, e.sent())
}

func TestToolResultsAreNotJSONInJSON(t *testing.T) {
	e := serve(t, say(200, hi))
	_, err := newModel(t, e).Generate(t.Context(), &model.Request{Messages: []*model.Message{
		model.UserText("go"), model.Response(model.ToolCall("a", "t", `{"n": 9223372036854775807}`), model.ToolCall("b", "t", "")),
		{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("a", "t", `{"n":9223372036854775807}`), model.ToolReturn("b", "t", "rain")}},
	}}, nil)
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"text","text":"go"}]},
		{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{\"n\":9223372036854775807}"}},
			{"id":"b","type":"function","function":{"name":"t","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"a","content":"{\"n\":9223372036854775807}"},{"role":"tool","tool_call_id":"b","content":"\"rain\""}]}`, e.lastBody())
}

func TestSDKErrorsAreRead(t *testing.T) {
	for name, test := range map[string]struct {
		answer    func() *endpoint
		want      model.APIError
		is        error
		streaming bool
	}{
		"an error": {
			answer: func() *endpoint {
				return serve(t, say(429, `{"error":{"message":"slow down","code":"rate_limit_exceeded","type":"requests"}}`, "Retry-After", "3", "X-Request-Id", "r1"))
			},
			want: model.APIError{Status: 429, Code: "rate_limit_exceeded", Type: "requests", Message: "slow down", RetryAfter: 3 * time.Second, RequestID: "r1", Retryable: true},
			is:   model.ErrRateLimited,
		},
		"an error that is text": {
			answer: func() *endpoint { return serve(t, say(503, `{"error":"no worker"}`, "Retry-After-Ms", "20")) },
			want:   model.APIError{Status: 503, Message: "no worker", RetryAfter: 20 * time.Millisecond, Retryable: true},
		},
		"a page of a proxy": {
			answer: func() *endpoint { return serve(t, say(502, "<html>bad gateway</html>\n", "X-Request-Id", "r1")) },
			want:   model.APIError{Status: 502, Message: "<html>bad gateway</html>", RequestID: "r1", Retryable: true},
		},
		"an error that quotes the key": {
			answer: func() *endpoint { return serve(t, say(401, `{"error":{"message":"no such key: `+testKey+`"}}`)) },
			want:   model.APIError{Status: 401, Message: "no such key: [redacted]"}, is: model.ErrAuth,
		},
		"an error with status 200": {
			answer: func() *endpoint { return serve(t, say(200, `{"error":{"message":"busy","type":"server_error"}}`)) },
			want:   model.APIError{Type: "server_error", Message: "busy", Retryable: true},
		},
		"an error with a status within a stream": {
			answer: func() *endpoint {
				return serve(t, say(200, openEvents(delta(`{"content":"a"}`), `{"error":{"message":"gone","code":502}}`)))
			},
			want: model.APIError{Status: 502, Message: "gone", Retryable: true}, streaming: true,
		},
		"an HTML page": {
			answer: func() *endpoint { return serve(t, say(200, "<html>", "Content-Type", "application/json")) },
			want:   model.APIError{Status: 200, Retryable: true}, is: io.ErrUnexpectedEOF,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sink model.Sink
			if test.streaming {
				sink = func(model.Delta) error { return nil }
			}
			_, err := newModel(t, test.answer()).Generate(t.Context(), hello(), sink)
			var e *model.APIError
			require.ErrorAs(t, err, &e)
			got := *e
			got.Err, got.Provider, got.Model = nil, "", ""
			if test.want.Message == "" {
				got.Message = ""
			}
			require.Equal(t, test.want, got)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
		})
	}
}

// A server that cannot be reached has answered nothing that could break off.
func TestUnreachableServerIsNoBrokenAnswer(t *testing.T) {
	e := serve(t, say(200, ""))
	m := newModel(t, e)
	e.Close()
	_, err := m.Generate(t.Context(), hello(), nil)
	var failed *model.APIError
	require.ErrorAs(t, err, &failed)
	require.Zero(t, failed.Status)
	require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NotContains(t, err.Error(), "breaks off")
	require.ErrorContains(t, err, "connect")
}

func TestSDKErrorIsWrapped(t *testing.T) {
	_, err := newModel(t, serve(t, say(400, `{"error":{"message":"no","param":"p"}}`))).Generate(t.Context(), hello(), nil)
	var e *openai.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "p", e.Param)
}

func TestNothingIsRetried(t *testing.T) {
	e := serve(t, say(500, `{"error":{"message":"no"}}`))
	_, err := newModel(t, e).Generate(t.Context(), hello(), nil)
	require.Error(t, err)
	require.Len(t, e.headers, 1)
}

func TestTapRestoresWhatThePluginLoses(t *testing.T) {
	call := func(index int, id, name, args string) string {
		return delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"function":{"name":%q,"arguments":%q}}]}`, index, id, name, args))
	}
	for name, test := range map[string]struct {
		body string
		want []model.Part
	}{
		"interleaved calls": {
			events(call(0, "a", "t", ""), call(1, "b", "u", ""), call(0, "", "", `{"n":`), call(1, "", "", `{ }`), call(0, "", "", `9223372036854775807}`), finish("tool_calls")),
			[]model.Part{model.ToolCall("a", "t", `{"n":9223372036854775807}`), model.ToolCall("b", "u", `{ }`)},
		},
		"calls at one index": {
			events(call(0, "a", "t", "{}"), call(0, "b", "t", "{}"), finish("tool_calls")),
			[]model.Part{model.ToolCall("a", "t", "{}"), model.ToolCall("b", "t", "{}")},
		},
		"another id in each chunk": {
			events(`{"id":"1","choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"id":"2","choices":[{"index":0,"delta":{"content":"b"}}]}`, `{"id":"3","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
			[]model.Part{model.Text("ab")},
		},
		"reasoning": {
			events(delta(`{"reasoning_content":"h"}`), delta(`{"reasoning":"m"}`), delta(`{"content":"a"}`), finish("stop")),
			[]model.Part{{Kind: model.PartThinking, Text: "hm", Provider: "openai"}, model.Text("a")},
		},
		"no call": {events(call(0, "", "", "{"), finish("stop")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[int]string{}
			msg, err := newModel(t, serve(t, say(200, test.body))).Generate(t.Context(), hello(), func(d model.Delta) error {
				got[d.Part] += d.CallID + d.Tool + d.Text
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, test.want, msg.Parts)
			for i, p := range msg.Parts {
				require.Equal(t, p.CallID+p.Tool+p.Text+string(p.Args), got[i])
			}
		})
	}
}

// Without the options, a program gets what the plugin makes of a response.
func TestPluginWithoutOptions(t *testing.T) {
	open := func(t *testing.T, e *endpoint, options ...option.RequestOption) *genkitmodel.Model {
		p := &plugin.OpenAI{APIKey: testKey, Opts: append(options, option.WithBaseURL(e.URL+"/v1/"), option.WithHTTPClient(client(t)), option.WithMaxRetries(0))}
		p.Init(t.Context())
		m, err := genkitmodel.New(p.ResolveAction(api.ActionTypeModel, "m").(ai.Model), genkitmodel.Config{Name: "m", Provider: "openai", Dialect: openaidialect.Dialect()})
		require.NoError(t, err)
		return m
	}
	body := events(delta(`{"content":"a"}`), delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"{\"n\": "}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`), finish("tool_calls"))
	e := serve(t, say(200, body))
	var deltas []model.Delta
	msg, err := open(t, e).Generate(t.Context(), hello(), func(d model.Delta) error {
		deltas = append(deltas, d)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []model.Part{model.Text("a"), model.ToolCall("c", "t", `{"n":1}`)}, msg.Parts)
	require.Equal(t, []model.Delta{
		{Kind: model.PartText, Text: "a"}, {Part: 1, Kind: model.PartToolCall, CallID: "c", Tool: "t", Text: `{"n":1}`},
	}, deltas)

	req := hello()
	req.Settings = &model.Settings{ExtraHeaders: map[string]string{"X-Test": "1"}}
	_, err = open(t, e).Generate(t.Context(), req, func(model.Delta) error { return nil })
	require.ErrorIs(t, err, model.ErrUnsupported)
	_, err = open(t, e, openaidialect.Options()...).Generate(t.Context(), req, func(model.Delta) error { return nil })
	require.NoError(t, err)
}

func TestInvalidConfigsAreErrors(t *testing.T) {
	for says, config := range map[string]openaidialect.Config{
		"Config.Name is empty":          {},
		"Config.APIKey is empty":        {Name: "m"},
		"white space":                   {Name: "m", APIKey: "sk-1\n"},
		"must start with http":          {Name: "m", APIKey: "k", BaseURL: "localhost:1"},
		"must not have a query":         {Name: "m", APIKey: "k", BaseURL: "http://h/v1?a=b"},
		"not in lower case":             {Name: "m", APIKey: "k", Provider: "OpenAI"},
		"Config.ContextWindow is negat": {Name: "m", APIKey: "k", ContextWindow: -1},
	} {
		_, err := openaidialect.New(config)
		require.ErrorContains(t, err, says)
	}
	_, err := openaidialect.New(openaidialect.Config{Name: "m"})
	require.ErrorIs(t, err, model.ErrAuth)
}

func TestKeyIsNotPrinted(t *testing.T) {
	config := openaidialect.Config{Name: "m", APIKey: testKey, BaseURL: "http://user:pass@host/v1/chat/completions/"}
	text, err := json.Marshal(config)
	require.NoError(t, err)
	m, err := openaidialect.New(config)
	require.NoError(t, err)
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s", config, config, config, config), config.LogValue().String(), string(text), fmt.Sprintf("%+v %#v", m, m)} {
		require.NotContains(t, s, testKey)
		require.NotContains(t, s, "pass@")
	}
	require.Equal(t, "openaidialect.Config(m at http://host/v1/, key set)", fmt.Sprint(config))
	require.Equal(t, "openaidialect.Config( at invalid base URL, no key)", fmt.Sprint(openaidialect.Config{BaseURL: ":"}))
}

func TestRedirectDoesNotForwardTheConversation(t *testing.T) {
	t.Cleanup(adapter.SharedClient().CloseIdleConnections)
	elsewhere := serve(t, say(200, `{}`))
	to := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	e := serve(t, say(http.StatusTemporaryRedirect, "", "Location", to))
	m, err := openaidialect.New(openaidialect.Config{Name: "m", APIKey: testKey, BaseURL: e.URL})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), hello(), nil)
	require.ErrorContains(t, err, "HTTP 307")
	require.Empty(t, elsewhere.sent())
}
