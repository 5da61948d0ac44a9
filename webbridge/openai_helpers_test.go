// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

const openaiToken = "a token for the tests"

type openaiNone struct{}

type openaiObject = map[string]any

// openaiServer is a handler with the protocol.
type openaiServer struct {
	t       *testing.T
	handler *webbridge.Handler
	http    *httptest.Server

	mu   sync.Mutex
	seen []*model.Request
}

type openaiOptions struct {
	model model.Model
	tools []*toolset.Tool[openaiNone]
	host  host.Config[openaiNone, string]
	webbridge.Options
	api webbridge.OpenAIOptions
}

// openaiServe serves an agent whose requests to the model are kept in seen.
func openaiServe(t *testing.T, o openaiOptions) *openaiServer {
	t.Helper()
	s := &openaiServer{t: t}
	if o.model == nil {
		o.model = modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			m := model.Response(model.Text("Hello there."))
			m.Usage = model.Usage{InputTokens: 7, OutputTokens: 3, CacheReadTokens: 2, ReasoningTokens: 1}
			return m, nil
		})
	}
	inner := o.model
	watched := model.Func(model.Info{Provider: "test", Name: "test", Media: []string{"image/png"}}, func(ctx context.Context, r *model.Request, sink model.Sink) (*model.Message, error) {
		s.mu.Lock()
		s.seen = append(s.seen, r)
		s.mu.Unlock()
		return inner.Generate(ctx, r, sink)
	})
	if o.host.Agent == nil {
		o.host.Agent = agent.Must(agent.New(agent.Config[openaiNone, string]{Model: watched, Tools: o.tools, Instructions: "Be brief."}))
	}
	if o.User == nil {
		o.Token = openaiToken
	}
	o.Protocols = []webbridge.Protocol{webbridge.OpenAI(o.api)}
	h, err := webbridge.New(webbridge.Config[openaiNone, string]{Host: o.host, Options: o.Options})
	require.NoError(t, err)
	s.handler, s.http = h, httptest.NewServer(h)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Shutdown(ctx)
		s.http.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// request makes a request with a body of JSON.
func (s *openaiServer) request(ctx context.Context, method, path, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, s.http.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+openaiToken)
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (s *openaiServer) send(r *http.Request) (*http.Response, string) {
	s.t.Helper()
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res, string(data)
}

// post sends a request that has to be answered with a status.
func (s *openaiServer) post(path, body string, status int) (openaiObject, http.Header) {
	s.t.Helper()
	res, text := s.send(s.request(s.t.Context(), "POST", path, body))
	require.Equal(s.t, status, res.StatusCode, "%s\n%s", body, text)
	v := openaiObject{}
	require.NoError(s.t, json.Unmarshal([]byte(text), &v), text)
	return v, res.Header
}

// refused returns the error of a request, which has to have all members that clients read.
func (s *openaiServer) refused(path, body string, status int) openaiObject {
	s.t.Helper()
	v, _ := s.post(path, body, status)
	e := v["error"].(openaiObject)
	require.NotEmpty(s.t, e["message"])
	require.NotEmpty(s.t, e["type"])
	require.Contains(s.t, e, "param")
	require.Contains(s.t, e, "code")
	return e
}

// event is an event of a stream.
type event struct {
	name string
	data openaiObject
}

// events sends a request that is answered with a stream, and returns its events. done says that the stream ended with [DONE].
func (s *openaiServer) events(path, body string) (all []event, done bool) {
	s.t.Helper()
	res, text := s.send(s.request(s.t.Context(), "POST", path, body))
	require.Equal(s.t, 200, res.StatusCode, text)
	require.Equal(s.t, "text/event-stream", res.Header.Get("Content-Type"))
	return parsed(s.t, text)
}

func parsed(t *testing.T, text string) (all []event, done bool) {
	t.Helper()
	e := event{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			e.name = value
		case "data":
			if value == "[DONE]" {
				done = true
				continue
			}
			require.NoError(t, json.Unmarshal([]byte(value), &e.data), value)
			all = append(all, e)
			e = event{}
		}
	}
	return all, done
}

// openaiContent returns the content of a chat completion.
func openaiContent(v openaiObject) string {
	return v["choices"].([]any)[0].(openaiObject)["message"].(openaiObject)["content"].(string)
}

// streamed returns the content and the finish reason of a stream of a chat.
func streamed(all []event) (text, reason string) {
	for _, e := range all {
		choices, _ := e.data["choices"].([]any)
		for _, c := range choices {
			delta, _ := c.(openaiObject)["delta"].(openaiObject)
			piece, _ := delta["content"].(string)
			text += piece
			if r, _ := c.(openaiObject)["finish_reason"].(string); r != "" {
				reason = r
			}
		}
	}
	return text, reason
}

const chatPath, responsesPath = "/v1/chat/completions", "/v1/responses"

// chatOf is the body of a request for a chat completion with one message.
func chatOf(text string) string {
	return string(must(json.Marshal(openaiObject{"model": "agent", "messages": []openaiObject{{"role": "user", "content": text}}})))
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

type openaiPayment struct {
	To string `json:"to"`
}

// openaiPay is a tool that needs approval.
func openaiPay(paid chan<- string) *toolset.Tool[openaiNone] {
	return toolset.Func("pay", "Pay.", func(_ context.Context, _ *toolset.RunContext[openaiNone], in openaiPayment) (string, error) {
		paid <- in.To
		return "paid " + in.To, nil
	}, toolset.OfKind(toolset.KindEdit, "Pay"), toolset.Approve(func(_ context.Context, _ *toolset.RunContext[openaiNone], in openaiPayment) (*toolset.Approval, error) {
		text := "paid"
		return &toolset.Approval{Title: "Pay " + in.To, Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "account", New: &text}}}}, nil
	}))
}

// openaiPaying says something, pays Ada, and answers.
func openaiPaying() model.Model {
	return modeltest.Script(modeltest.Say(model.Text("I will pay."), model.ToolCall("a", "pay", `{"to":"Ada"}`)), modeltest.SayText("All done."))
}

// serveHandler serves a handler that a test has made.
func serveHandler(t *testing.T, h *webbridge.Handler) *openaiServer {
	s := &openaiServer{t: t, handler: h, http: httptest.NewServer(h)}
	t.Cleanup(func() {
		_ = h.Shutdown(context.Background())
		s.http.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}
