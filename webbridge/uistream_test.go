// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

type uiNone struct{}

type uiObject = map[string]any

// uiServer is a handler that speaks the protocol.
type uiServer struct {
	*httptest.Server
	t    *testing.T
	h    *webbridge.Handler
	user string
}

func uiServe(t *testing.T, m model.Model, o webbridge.UIStreamOptions, tools ...*toolset.Tool[uiNone]) *uiServer {
	t.Helper()
	return serveOn(t, m, o, nil, tools...)
}

func serveOn(t *testing.T, m model.Model, o webbridge.UIStreamOptions, store session.Store, tools ...*toolset.Tool[uiNone]) *uiServer {
	t.Helper()
	h, err := webbridge.New(webbridge.Config[uiNone, string]{
		Host: host.Config[uiNone, string]{Agent: agent.Must(agent.New(agent.Config[uiNone, string]{Model: m, Tools: tools})), Store: store, Logger: slog.New(slog.DiscardHandler)},
		Options: webbridge.Options{
			User:      func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil },
			Protocols: []webbridge.Protocol{webbridge.UIStream(o)},
			Limits:    webbridge.Limits{Prompt: 256 << 10},
		},
	})
	require.NoError(t, err)
	return uiListen(t, h)
}

// alone serves one user, who has the token.
func alone(t *testing.T, m model.Model, tools ...*toolset.Tool[uiNone]) *uiServer {
	t.Helper()
	h, err := webbridge.New(webbridge.Config[uiNone, string]{
		Host:    host.Config[uiNone, string]{Agent: agent.Must(agent.New(agent.Config[uiNone, string]{Model: m, Tools: tools})), Logger: slog.New(slog.DiscardHandler)},
		Options: webbridge.Options{Token: uiToken, Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{})}},
	})
	require.NoError(t, err)
	return uiListen(t, h)
}

const uiToken = "a token for the tests"

func uiListen(t *testing.T, h *webbridge.Handler) *uiServer {
	s := &uiServer{httptest.NewServer(h), t, h, "ada"}
	t.Cleanup(s.stop)
	return s
}

func (s *uiServer) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.h.Shutdown(ctx)
	s.Close()
	http.DefaultClient.CloseIdleConnections()
}

func (s *uiServer) open(method, path string, body any) *http.Response {
	s.t.Helper()
	data, err := json.Marshal(body)
	require.NoError(s.t, err)
	if raw, ok := body.(string); ok {
		data = []byte(raw)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, bytes.NewReader(data))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-User", s.user)
	r.Header.Set("Authorization", "Bearer "+uiToken)
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	return res
}

// get returns the status and the body of an answer.
func (s *uiServer) get(method, path string, body any) (int, string) {
	s.t.Helper()
	res := s.open(method, path, body)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, string(data)
}

// uiChat is what a client has of a chat.
type uiChat struct {
	*uiServer
	id       string
	messages []uiObject
}

func (s *uiServer) chat(id string) *uiChat { return &uiChat{uiServer: s, id: id} }

// say sends a message of the user, and returns the stream.
func (c *uiChat) say(text string) []uiObject {
	c.t.Helper()
	c.messages = append(c.messages, uiObject{"id": "m-" + text, "role": "user", "parts": []uiObject{{"type": "text", "text": text}}})
	return c.send(uiObject{"trigger": "submit-message"})
}

// send sends what the client has, and returns the stream.
func (c *uiChat) send(more uiObject) []uiObject {
	c.t.Helper()
	body := uiObject{"id": c.id, "messages": c.messages}
	for k, v := range more {
		body[k] = v
	}
	res := c.open("POST", "/api/chat", body)
	return c.read(res)
}

// read reads a stream to its end.
func (c *uiChat) read(res *http.Response) []uiObject {
	c.t.Helper()
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != 200 {
		data, _ := io.ReadAll(res.Body)
		require.Equal(c.t, 200, res.StatusCode, string(data))
	}
	require.Equal(c.t, "v1", res.Header.Get("X-Vercel-AI-UI-Message-Stream"))
	require.Equal(c.t, "text/event-stream", res.Header.Get("Content-Type"))
	var all []uiObject
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return all
		}
		v := uiObject{}
		require.NoError(c.t, json.Unmarshal([]byte(data), &v), data)
		all = append(all, v)
	}
	require.Fail(c.t, "the stream has no end", "%v", all)
	return nil
}

// list returns the messages of the chat as the server has them.
func (c *uiChat) list() []uiObject {
	c.t.Helper()
	status, text := c.get("GET", "/api/chat/"+c.id+"/messages", nil)
	require.Equal(c.t, 200, status, text)
	var all []uiObject
	require.NoError(c.t, json.Unmarshal([]byte(text), &all))
	return all
}

// answers returns the last message with the answers to its approval requests.
func (c *uiChat) answer(approved ...bool) uiObject {
	c.t.Helper()
	all := c.list()
	last := all[len(all)-1]
	for _, p := range last["parts"].([]any) {
		p := p.(uiObject)
		if p["state"] == "approval-requested" {
			p["state"] = "approval-responded"
			p["approval"].(uiObject)["approved"] = approved[0]
			approved = approved[1:]
		}
	}
	c.messages = all
	return last
}

func find(all []uiObject, kind string) uiObject {
	for _, c := range all {
		if c["type"] == kind {
			return c
		}
	}
	return nil
}

var uiRandom = regexp.MustCompile(`[A-Z2-7]{26}|[0-9a-f]{64}|chat-[a-z2-7]{32}`)

// uiGolden compares text with a file. Ids that are made anew each time are numbered.
func uiGolden(t *testing.T, name, got string) {
	t.Helper()
	ids := map[string]string{}
	got = uiRandom.ReplaceAllStringFunc(got, func(id string) string {
		if ids[id] == "" {
			ids[id] = "ID" + string(rune('A'+len(ids)))
		}
		return ids[id]
	})
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// uiLines returns chunks as JSON, one a line. Deltas are joined, and what may come at any time is left out.
func uiLines(all []uiObject) string {
	var b strings.Builder
	var last uiObject
	flush := func() {
		if last != nil {
			data, _ := json.Marshal(last)
			b.Write(append(data, '\n'))
		}
	}
	for _, c := range all {
		switch {
		case c["type"] == "data-session":
		case last != nil && c["delta"] != nil && last["delta"] != nil && c["id"] == last["id"]:
			last["delta"] = last["delta"].(string) + c["delta"].(string)
		default:
			flush()
			last = maps.Clone(c)
		}
	}
	flush()
	return b.String()
}

type uiPayment struct {
	To string `json:"to"`
}

func uiPay(paid chan<- string) *toolset.Tool[uiNone] {
	return toolset.Func("pay", "Pay.", func(_ context.Context, _ *toolset.RunContext[uiNone], in uiPayment) (string, error) {
		paid <- in.To
		return "paid " + in.To, nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[uiNone], in uiPayment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To}, nil
	}))
}

func look() *toolset.Tool[uiNone] {
	return toolset.Func("look", "Look.", func(_ context.Context, _ *toolset.RunContext[uiNone], in uiPayment) (string, error) {
		if in.To == "nowhere" {
			return "", errors.New("there is nothing")
		}
		return "seen " + in.To, nil
	})
}

// returns counts the results of tools after the last prompt, and returns the prompt.
func returns(req *model.Request) (n int, prompt string) {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case model.PartUser:
				n, prompt = 0, p.Text
			case model.PartToolReturn, model.PartRetry:
				n++
			}
		}
	}
	return n, prompt
}

// uiPaying looks, pays Ada and Bob, and says so.
func uiPaying() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		switch n, prompt := returns(req); {
		case prompt == "fail":
			return nil, errors.New("the provider is away")
		case prompt == "pay one" && n == 1:
			return model.Response(model.ToolCall("a", "pay", `{"to":"Ada"}`)), nil
		case prompt == "pay one" && n == 2:
			return model.Response(model.ToolCall("b", "pay", `{"to":"Bob"}`)), nil
		case prompt != "pay" && prompt != "pay one":
			return model.Response(model.Text("You said " + prompt)), nil
		case n == 0:
			return model.Response(model.Thinking("Who is it?"), model.Text("I look."), model.ToolCall("l", "look", `{"to":"Ada"}`)), nil
		case n == 1:
			return model.Response(model.ToolCall("a", "pay", `{"to":"Ada"}`), model.ToolCall("b", "pay", `{"to":"Bob"}`)), nil
		}
		return model.Response(model.Text("All done.")), nil
	})
}

func TestAnswerWithToolsAndApprovals(t *testing.T) {
	paid := make(chan string, 4)
	s := alone(t, uiPaying(), uiPay(paid), look())
	c := s.chat("one")
	first := c.say("pay one")
	require.Empty(t, paid, "nobody has allowed it")
	second := c.send(uiObject{"messageId": c.answer(true)["id"]})
	require.Equal(t, "Ada", <-paid)
	third := c.send(uiObject{"messageId": c.answer(false)["id"]})
	require.Empty(t, paid)
	uiGolden(t, "approvals.jsonl", uiLines(first)+"\n"+uiLines(second)+"\n"+uiLines(third))
	data, err := json.MarshalIndent(c.list(), "", " ")
	require.NoError(t, err)
	uiGolden(t, "approvals.json", string(data)+"\n")
}
