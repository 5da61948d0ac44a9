// SPDX-License-Identifier: Apache-2.0

package openaiapi_test

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
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
	"github.com/ponte-go/ponte/webbridge/openaiapi"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const token = "a token for the tests"

type none struct{}

type object = map[string]any

// server is a handler with the protocol.
type server struct {
	t       *testing.T
	handler *webbridge.Handler
	http    *httptest.Server

	mu   sync.Mutex
	seen []*model.Request
}

type options struct {
	model model.Model
	tools []*toolset.Tool[none]
	host  host.Config[none, string]
	webbridge.Options
	api openaiapi.Options
}

// serve serves an agent whose requests to the model are kept in seen.
func serve(t *testing.T, o options) *server {
	t.Helper()
	s := &server{t: t}
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
		o.host.Agent = agent.Must(agent.New(agent.Config[none, string]{Model: watched, Tools: o.tools, Instructions: "Be brief."}))
	}
	if o.User == nil {
		o.Token = token
	}
	o.Protocols = []webbridge.Protocol{openaiapi.New(o.api)}
	h, err := webbridge.New(webbridge.Config[none, string]{Host: o.host, Options: o.Options})
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
func (s *server) request(ctx context.Context, method, path, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, s.http.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (s *server) send(r *http.Request) (*http.Response, string) {
	s.t.Helper()
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res, string(data)
}

// post sends a request that has to be answered with a status.
func (s *server) post(path, body string, status int) (object, http.Header) {
	s.t.Helper()
	res, text := s.send(s.request(s.t.Context(), "POST", path, body))
	require.Equal(s.t, status, res.StatusCode, "%s\n%s", body, text)
	v := object{}
	require.NoError(s.t, json.Unmarshal([]byte(text), &v), text)
	return v, res.Header
}

// refused returns the error of a request, which has to have all members that clients read.
func (s *server) refused(path, body string, status int) object {
	s.t.Helper()
	v, _ := s.post(path, body, status)
	e := v["error"].(object)
	require.NotEmpty(s.t, e["message"])
	require.NotEmpty(s.t, e["type"])
	require.Contains(s.t, e, "param")
	require.Contains(s.t, e, "code")
	return e
}

// event is an event of a stream.
type event struct {
	name string
	data object
}

// events sends a request that is answered with a stream, and returns its events. done says that the stream ended with [DONE].
func (s *server) events(path, body string) (all []event, done bool) {
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

// content returns the content of a chat completion.
func content(v object) string {
	return v["choices"].([]any)[0].(object)["message"].(object)["content"].(string)
}

// streamed returns the content and the finish reason of a stream of a chat.
func streamed(all []event) (text, reason string) {
	for _, e := range all {
		choices, _ := e.data["choices"].([]any)
		for _, c := range choices {
			delta, _ := c.(object)["delta"].(object)
			piece, _ := delta["content"].(string)
			text += piece
			if r, _ := c.(object)["finish_reason"].(string); r != "" {
				reason = r
			}
		}
	}
	return text, reason
}

const chatPath, responsesPath = "/v1/chat/completions", "/v1/responses"

// chatOf is the body of a request for a chat completion with one message.
func chatOf(text string) string {
	return string(must(json.Marshal(object{"model": "agent", "messages": []object{{"role": "user", "content": text}}})))
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

type payment struct {
	To string `json:"to"`
}

// pay is a tool that needs approval.
func pay(paid chan<- string) *toolset.Tool[none] {
	return toolset.Func("pay", "Pay.", func(_ context.Context, _ *toolset.RunContext[none], in payment) (string, error) {
		paid <- in.To
		return "paid " + in.To, nil
	}, toolset.OfKind(toolset.KindEdit, "Pay"), toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
		text := "paid"
		return &toolset.Approval{Title: "Pay " + in.To, Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "account", New: &text}}}}, nil
	}))
}

// paying says something, pays Ada, and answers.
func paying() model.Model {
	return modeltest.Script(modeltest.Say(model.Text("I will pay."), model.ToolCall("a", "pay", `{"to":"Ada"}`)), modeltest.SayText("All done."))
}

// serveHandler serves a handler that a test has made.
func serveHandler(t *testing.T, h *webbridge.Handler) *server {
	s := &server{t: t, handler: h, http: httptest.NewServer(h)}
	t.Cleanup(func() {
		_ = h.Shutdown(context.Background())
		s.http.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}
