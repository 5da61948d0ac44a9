// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/openaidialect"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update, and read what it writes")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}

// tell tells all of a message or an error.
func tell(t testing.TB, msg *model.Message, err error) string {
	if err == nil {
		return "message " + jsonOf(t, msg) + "\n"
	}
	require.Nil(t, msg)
	var b strings.Builder
	fmt.Fprintf(&b, "error %s\n", err)
	var e *model.APIError
	if errors.As(err, &e) {
		fmt.Fprintf(&b, "  status %d code %q type %q id %q retryable %t after %s\n", e.Status, e.Code, e.Type, e.RequestID, e.Retryable, e.RetryAfter)
	}
	for _, is := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength, model.ErrUnsupported, io.ErrUnexpectedEOF} {
		if errors.Is(err, is) {
			fmt.Fprintf(&b, "  is %s\n", is)
		}
	}
	return b.String()
}

var madeUp = regexp.MustCompile(`call_[A-Z2-7]{26}`)

// respond returns a transport that answers with a status, a body and headers.
func respond(status int, body string, header ...string) adaptertest.Transport {
	answer := adaptertest.Failing(status, body, header...)
	return func(r *http.Request) (*http.Response, error) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		return answer(r)
	}
}

// testdata/answers.txt has answers of endpoints, in the form that openaimodel's tests describe.
func TestEverythingThatIsToldOfAnswers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "answers.txt"))
	require.NoError(t, err)
	var told strings.Builder
	for _, block := range strings.Split("\n"+strings.ReplaceAll(string(text), "\r\n", "\n"), "\n== ")[1:] {
		head, body, _ := strings.Cut(strings.TrimRight(block, "\n"), "\n")
		fmt.Fprintf(&told, "== %s\n%s", head, tellAnswer(t, head, body))
	}
	golden(t, "told.txt", madeUp.ReplaceAllString(told.String(), "call_MADEUP"))
}

func tellAnswer(t *testing.T, head, body string) string {
	_, list, _ := strings.Cut(head, ": ")
	status, header, provider, whole := 200, []string{"Content-Type", "text/event-stream; charset=utf-8"}, "", false
	for _, setting := range strings.Fields(list) {
		switch name, value, _ := strings.Cut(setting, "="); {
		case name == "status":
			_, err := fmt.Sscan(value, &status)
			require.NoError(t, err)
		case name == "provider":
			provider = value
		case name == "whole":
			whole = true
		case name[0] >= 'A' && name[0] <= 'Z':
			header = append(header, name, value)
		}
	}
	if whole {
		header = append(header, "Content-Type", "application/json")
	} else {
		body = eventsOf(body)
	}
	m, err := openaidialect.New(openaidialect.Config{
		Name: "test-model", BaseURL: "http://answers.test", Provider: provider, APIKey: testKey, HTTPClient: respond(status, body, header...).Client(),
	})
	require.NoError(t, err)
	req := hello()
	req.Tools = []model.ToolDef{{Name: "weather"}, {Name: "time"}, {Name: "f"}, {Name: "g"}}
	var told strings.Builder
	sink := func(d model.Delta) error {
		told.WriteString("delta " + jsonOf(t, d) + "\n")
		return nil
	}
	if whole {
		sink = nil
	}
	msg, err := m.Generate(t.Context(), req, sink)
	told.WriteString(tell(t, msg, err))
	for n := range strings.Count(told.String(), "delta ") {
		failed, calls := errors.New("sink"), 0
		msg, err := m.Generate(t.Context(), req, func(model.Delta) error {
			if calls++; calls == n+1 {
				return failed
			}
			return nil
		})
		require.Nil(t, msg)
		require.Same(t, failed, err, "%s, call %d", head, n+1)
	}
	return told.String()
}

// eventsOf makes a stream of the lines of an answer.
func eventsOf(lines string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(lines, "\n") {
		switch {
		case strings.HasPrefix(line, "~{"):
			line = delta(line[1:])
		case strings.HasPrefix(line, "~"):
			line = finish(line[1:])
		case strings.HasPrefix(line, "|"):
			b.WriteString(line[1:] + "\n")
			continue
		case strings.HasPrefix(line, "@"):
			name, data, _ := strings.Cut(line[1:], " ")
			b.WriteString("event: " + name + "\n")
			line = data
		}
		b.WriteString("data: " + line + "\n\n")
	}
	return b.String()
}

// Each request is a body, or an error before anything is sent.
func TestBodiesOfRequests(t *testing.T) {
	set := func(s model.Settings) *model.Request { return &model.Request{Settings: &s} }
	tools := []model.ToolDef{{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "b"}}
	choose := func(mode model.ToolChoiceMode, tool string) *model.Request {
		return &model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: mode, Tool: tool}}
	}
	var told strings.Builder
	for _, test := range []struct {
		name string
		req  *model.Request
	}{
		{"a conversation", &model.Request{Instructions: "I", Messages: []*model.Message{
			model.UserText("a"), model.Response(model.Thinking("hm"), model.Text("b"), model.ToolCall("c", "f", `{"x":1}`), model.Media("image/png", []byte("png"))),
			adaptertest.Request(model.ToolReturn("c", "f", "r"), model.System("s"), model.User("u"), model.Media("image/png", []byte("png")), model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://x.test"}),
		}}},
		{"tokens", set(model.Settings{MaxTokens: 1})}, {"temperature", set(model.Settings{Temperature: new(0.0)})}, {"top p", set(model.Settings{TopP: new(0.25)})}, {"stop", set(model.Settings{Stop: []string{"x", "y"}})},
		{"seed", set(model.Settings{Seed: new(int64(0))})}, {"parallel calls without tools", set(model.Settings{ParallelToolCalls: new(true)})}, {"parallel calls", &model.Request{Tools: tools, Settings: &model.Settings{ParallelToolCalls: new(false)}}},
		{"off", set(model.Settings{Thinking: "off"})}, {"minimal", set(model.Settings{Thinking: "minimal"})}, {"low", set(model.Settings{Thinking: "low"})}, {"medium", set(model.Settings{Thinking: "medium"})}, {"high", set(model.Settings{Thinking: "high"})}, {"another level", set(model.Settings{Thinking: "own"})},
		{"tier", set(model.Settings{ServiceTier: "flex"})}, {"body", set(model.Settings{ExtraBody: map[string]json.RawMessage{"top_k": json.RawMessage("1"), "model": json.RawMessage(`"own"`)}})}, {"a path", set(model.Settings{ExtraBody: map[string]json.RawMessage{"a.b": json.RawMessage("1")}})},
		{"tools", choose("", "")}, {"none", choose(model.ToolChoiceNone, "")}, {"required", choose(model.ToolChoiceRequired, "")}, {"a tool", choose(model.ToolChoiceTool, "b")}, {"none of none", &model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone}}},
		{"output", &model.Request{Output: &model.OutputSchema{Name: "n", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: true}}}, {"output without a name", &model.Request{Output: &model.OutputSchema{Schema: json.RawMessage(`{}`)}}},
		{"a document", &model.Request{Messages: []*model.Message{adaptertest.Request(model.Media("application/pdf", []byte("x")))}}},
	} {
		if len(test.req.Messages) == 0 {
			test.req.Messages = []*model.Message{model.UserText("hi")}
		}
		fmt.Fprintf(&told, "== %s\n", test.name)
		for _, provider := range []string{"", "groq"} {
			for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
				var sent string
				m, err := openaidialect.New(openaidialect.Config{
					Name: "m", BaseURL: "http://x.test", Provider: provider, Settings: &model.Settings{ExtraHeaders: map[string]string{"X-Extra": "e"}},
					HTTPClient: adaptertest.Transport(func(r *http.Request) (*http.Response, error) {
						body, err := io.ReadAll(r.Body)
						require.NoError(t, err)
						sent = fmt.Sprintf("%s %s %s %s\n  %s\n", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("X-Extra"), body)
						return adaptertest.Respond(r, 418, adaptertest.Text(`{"error":{"message":"no"}}`)), nil
					}).Client(),
				})
				require.NoError(t, err)
				_, err = m.Generate(t.Context(), test.req, sink)
				require.Error(t, err)
				if sent == "" {
					sent = tell(t, nil, err)
				}
				told.WriteString(sent)
			}
		}
	}
	golden(t, "sent.txt", told.String())
}

func TestConfigs(t *testing.T) {
	var told strings.Builder
	for _, c := range []openaidialect.Config{
		{}, {Name: "m"}, {Name: "m", APIKey: "a b"}, {Name: "m", APIKey: testKey}, {Name: "m", BaseURL: "http://x.test"}, {Name: "m", BaseURL: "http://x.test/"}, {Name: "m", BaseURL: "http://x.test/v2/"},
		{Name: "m", BaseURL: "http://u:p@x.test/v1/chat/completions/"}, {Name: "m", BaseURL: "http://x.test?key=1"}, {Name: "m", BaseURL: "x.test"}, {Name: "m", APIKey: testKey, Provider: "Groq"},
		{Name: "m", APIKey: testKey, Provider: "groq", ContextWindow: 5}, {Name: "m", APIKey: testKey, ContextWindow: -1}, {Name: "m", APIKey: testKey, Settings: &model.Settings{MaxTokens: -1}},
	} {
		m, err := openaidialect.New(c)
		if err != nil {
			require.Nil(t, m)
			fmt.Fprintf(&told, "%s\n  %s", c, tell(t, nil, err))
			continue
		}
		text, err := c.MarshalText()
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprint(c), fmt.Sprint(c)}, []string{string(text), c.LogValue().String()})
		fmt.Fprintf(&told, "%s\n  %s %s\n", c, m, jsonOf(t, m.Info()))
	}
	golden(t, "configs.txt", told.String())
}
