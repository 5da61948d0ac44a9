// SPDX-License-Identifier: Apache-2.0

package googledialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/googledialect"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// Each request is a body, or an error before anything is sent.
func TestBodiesOfRequests(t *testing.T) {
	set := func(s model.Settings) *model.Request { return &model.Request{Settings: &s} }
	tools := []model.ToolDef{{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}, {Name: "b"}}
	choose := func(mode model.ToolChoiceMode, tool string, offered ...model.ToolDef) *model.Request {
		return &model.Request{Tools: offered, ToolChoice: model.ToolChoice{Mode: mode, Tool: tool}}
	}
	signed := model.ToolCall("c3", "f", `{"n":9007199254740993}`)
	signed.Provider, signed.Signature = "google", []byte("own")
	foreign := signed
	foreign.CallID, foreign.Provider = "c4", "other"
	drawn, bare := model.Media("image/png", []byte("png")), model.Media("image/png", []byte("png"))
	drawn.Provider = "google"
	empty := model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://x.test", Provider: "google"}
	failed := func(outcome model.Outcome) model.Part {
		return model.Part{Kind: model.PartToolReturn, CallID: "c1", Tool: "f", Text: string(outcome) + ".", Outcome: outcome}
	}
	var told strings.Builder
	for _, test := range []struct {
		name string
		req  *model.Request
	}{
		{"a conversation", &model.Request{Instructions: "I", Messages: []*model.Message{
			model.UserText("a"), model.Response(model.Text("b"), model.ToolCall("c1", "f", `{"x":1}`), model.ToolCall("c2", "g", "")),
			adaptertest.Request(model.ToolReturn("c1", "f", "r"), model.Retry("c2", "g", "bad"), model.User("u"), model.Media("image/png", []byte("png"))),
		}}},
		{"signatures", &model.Request{Messages: []*model.Message{
			model.UserText("a"), model.Response(model.ToolCall("c1", "f", ""), model.ToolCall("c2", "f", "")), model.UserText("b"), model.Response(signed, model.ToolCall("c5", "f", "")), model.UserText("c"), model.Response(foreign), model.UserText("d"),
		}}},
		{"media of the model", &model.Request{Messages: []*model.Message{model.UserText("a"), model.Response(model.Text("x"), drawn, bare, empty), model.UserText("b")}}},
		{"outcomes", &model.Request{Messages: []*model.Message{
			model.UserText("a"), model.Response(model.ToolCall("c1", "f", ""), model.ToolCall("c1", "f", ""), model.ToolCall("c1", "f", ""), model.ToolCall("c1", "f", ""), model.ToolCall("c1", "f", "")),
			adaptertest.Request(failed(""), failed(model.OutcomeFailed), failed(model.OutcomeDenied), failed(model.OutcomeInterrupted), failed(model.OutcomeSkipped)),
		}}},
		{"numbers of arguments", &model.Request{Messages: []*model.Message{model.UserText("a"), model.Response(model.ToolCall("c1", "f", `{"n":9007199254740993}`)), model.UserText("b"), model.Response(model.Text("x"), model.ToolCall("c2", "f", `{"n":9007199254740995}`)), model.UserText("c")}}},
		{"no message", &model.Request{Instructions: "I"}},
		{"a signed thought", &model.Request{Messages: []*model.Message{model.UserText("a"), model.Response(model.Part{Kind: model.PartThinking, Text: "hm", Provider: "google", Signature: []byte("s")}, model.Text("x")), model.UserText("b")}}},
		{"tokens", set(model.Settings{MaxTokens: 1})}, {"most tokens", set(model.Settings{MaxTokens: math.MaxInt32})}, {"too many tokens", set(model.Settings{MaxTokens: math.MaxInt32 + 1})},
		{"temperature", set(model.Settings{Temperature: new(0.0)})}, {"top p", set(model.Settings{TopP: new(0.25)})}, {"stop", set(model.Settings{Stop: []string{"x"}})},
		{"seed", set(model.Settings{Seed: new(int64(0))})}, {"the least seed", set(model.Settings{Seed: new(int64(math.MinInt32))})}, {"the greatest seed", set(model.Settings{Seed: new(int64(math.MaxInt32))})},
		{"a seed that is too low", set(model.Settings{Seed: new(int64(math.MinInt32 - 1))})}, {"a seed that is too great", set(model.Settings{Seed: new(int64(math.MaxInt32 + 1))})},
		{"parallel calls", &model.Request{Tools: tools, Settings: &model.Settings{ParallelToolCalls: new(true)}}}, {"parallel calls without tools", set(model.Settings{ParallelToolCalls: new(true)})},
		{"off", set(model.Settings{Thinking: "off"})}, {"low", set(model.Settings{Thinking: "low"})}, {"another level", set(model.Settings{Thinking: "own"})}, {"tier", set(model.Settings{ServiceTier: "flex"})},
		{"headers", set(model.Settings{ExtraHeaders: map[string]string{"X-Extra": "e", "X-More": "m"}})}, {"body", set(model.Settings{ExtraBody: map[string]json.RawMessage{"labels": json.RawMessage(`{"n":9007199254740993}`), "cachedContent": json.RawMessage(`"c"`)}})},
		{"tools", choose("", "", tools...)}, {"none", choose(model.ToolChoiceNone, "", tools...)}, {"required", choose(model.ToolChoiceRequired, "", tools...)}, {"a tool", choose(model.ToolChoiceTool, "b", tools...)}, {"the only tool", choose(model.ToolChoiceTool, "a", tools[0])}, {"none of none", choose(model.ToolChoiceNone, "")},
		{"a name that begins with a digit", choose("", "", model.ToolDef{Name: "2nd"})}, {"a name that begins with a hyphen", choose("", "", model.ToolDef{Name: "-a"})},
		{"output", &model.Request{Output: &model.OutputSchema{Name: "n", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":["null","string"]}}}`)}}}, {"output with a tool", &model.Request{Tools: tools[:1], Output: &model.OutputSchema{Schema: json.RawMessage(`{}`)}}},
		{"output that is no object", &model.Request{Output: &model.OutputSchema{Name: "n", Schema: json.RawMessage(`[]`)}}}, {"output that refers to nothing", &model.Request{Output: &model.OutputSchema{Name: "n", Schema: json.RawMessage(`{"$ref":"#/a"}`)}}}, {"output of two values", &model.Request{Output: &model.OutputSchema{Name: "n", Schema: json.RawMessage(`{} {}`)}}},
		{"arguments without members", choose("", "", model.ToolDef{Name: "a", Schema: json.RawMessage(`{"type":"object","description":"d"}`)})}, {"arguments that are no object", choose("", "", model.ToolDef{Name: "a", Schema: json.RawMessage(`{"type":"array"}`)})}, {"arguments that refer to nothing", choose("", "", model.ToolDef{Name: "a", Schema: json.RawMessage(`{"$ref":"#/a"}`)})},
		{"a video", &model.Request{Messages: []*model.Message{adaptertest.Request(model.Media("video/mp4", []byte("x")))}}}, {"a URL", &model.Request{Messages: []*model.Message{adaptertest.Request(empty)}}},
	} {
		if len(test.req.Messages) == 0 && test.name != "no message" {
			test.req.Messages = []*model.Message{model.UserText("hi")}
		}
		fmt.Fprintf(&told, "== %s\n", test.name)
		before := ""
		for _, name := range []string{"gemini-2.5-flash", "gemini-3-pro-preview"} {
			e := adaptertest.Serve(t, adaptertest.Answer{Body: `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`})
			msg, err := open(t, e.URL, name).Generate(t.Context(), test.req, nil)
			text := ""
			if err != nil {
				require.Zero(t, e.Count())
				text = tell(t, msg, err)
			} else {
				r, body := e.Last()
				text = fmt.Sprintf("%s %s %q %q\n  %s\n", r.Method, strings.ReplaceAll(r.URL.String(), name, "MODEL"), r.Header.Get("X-Extra"), r.Header.Get("X-More"), body)
			}
			text = strings.ReplaceAll(text, name, "MODEL")
			if text == before {
				text = "the same\n"
			} else {
				before = text
			}
			fmt.Fprintf(&told, "-- %s\n%s", name, text)
		}
	}
	golden(t, "sent.txt", told.String())
}

// What is told of answers: deltas, then the message or the error. The SDK and the plugin read them first.
func TestEverythingThatIsToldOfAnswers(t *testing.T) {
	answer := func(parts, rest string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + rest + `}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"thoughtsTokenCount":3,"cachedContentTokenCount":2,"totalTokenCount":18},"modelVersion":"v","responseId":"r"}`
	}
	refused := func(status int, detail string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":"m %s","status":"S"%s}}`, status, testKey, detail)
	}
	const stop = `,"finishReason":"STOP"`
	var told strings.Builder
	for _, test := range []struct {
		name, body string
		status     int
		stream     bool
	}{
		{"text", answer(`{"text":"a"},{"text":"b"}`, stop), 0, false}, {"text in a stream", "data: " + answer(`{"text":"a"}`, "") + "\n\ndata: " + answer(`{"text":"b"}`, stop) + "\n\n", 0, true},
		{"thinking and a call", answer(`{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{"n":1}},"thoughtSignature":"cw=="}`, stop), 0, false},
		{"a call in a stream", "data: " + answer(`{"functionCall":{"name":"f","args":{"n":1}}}`, stop) + "\n\n", 0, true}, {"an image", answer(`{"inlineData":{"mimeType":"image/png","data":"cG5n"}}`, stop), 0, false},
		{"length", answer(`{"text":"a"}`, `,"finishReason":"MAX_TOKENS"`), 0, false}, {"safety", answer(`{"text":"a"}`, `,"finishReason":"SAFETY","finishMessage":"why"`), 0, false}, {"other", answer(`{"text":"a"}`, `,"finishReason":"OTHER"`), 0, false}, {"new", answer(`{"text":"a"}`, `,"finishReason":"NEW"`), 0, false},
		{"no finish reason", answer(`{"text":"a"}`, ""), 0, false}, {"no finish reason in a stream", "data: " + answer(`{"text":"a"}`, "") + "\n\n", 0, true},
		{"no candidates", `{"candidates":[]}`, 0, false}, {"nothing", `{}`, 0, false}, {"an empty stream", "", 0, true}, {"JSON that breaks off", `{"candidates":[`, 0, false}, {"a stream that breaks off", "data: {\"cand\n\n", 0, true}, {"a page", "<html>", 0, false}, {"text in a stream of events", "hello\n\n", 0, true},
		{"refused", refused(400, ""), 400, false}, {"rate", refused(429, `,"details":[{"@type":"type.googleapis.com/google.rpc.Other","retryDelay":"9s"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]`), 429, false},
		{"a delay of nothing", refused(429, `,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0s"}]`), 429, false}, {"a delay that is none", refused(429, `,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"soon"},{"@type":7},{"retryDelay":"2s"}]`), 429, false},
		{"the least delay", refused(503, `,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1ns"}]`), 503, true},
		{"unauthenticated", refused(401, ""), 401, false}, {"refused in a stream", refused(503, ""), 503, true}, {"a page with a status", "<html>", 502, false}, {"too long", `{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}`, 400, false},
	} {
		e := adaptertest.Serve(t, adaptertest.Answer{Status: test.status, Body: test.body})
		m := open(t, e.URL, "gemini-2.5-flash")
		req := ask()
		req.Tools = []model.ToolDef{{Name: "f"}}
		fmt.Fprintf(&told, "== %s\n", test.name)
		var sink model.Sink
		if test.stream {
			sink = func(d model.Delta) error {
				told.WriteString("delta " + jsonOf(t, d) + "\n")
				return nil
			}
		}
		msg, err := m.Generate(t.Context(), req, sink)
		told.WriteString(strings.ReplaceAll(tell(t, msg, err), e.URL, "http://URL"))
		if err != nil && strings.Contains(test.name, "broken") {
			require.True(t, errors.As(err, new(*model.APIError)))
		}
	}
	golden(t, "told.txt", madeUp.ReplaceAllString(told.String(), "call_MADEUP"))
}

func TestConfigs(t *testing.T) {
	var told strings.Builder
	for _, c := range []googledialect.Config{
		{}, {Name: "m"}, {Name: "m", APIKey: "a b"}, {Name: "m", APIKey: testKey}, {Name: "m", APIKey: testKey, BaseURL: "http://x.test/a/"}, {Name: "m", APIKey: testKey, BaseURL: "x"}, {Name: "m", APIKey: testKey, Project: "p"}, {Name: "m", APIKey: testKey, Location: "l"},
		{Name: "m", Project: "p"}, {Name: "m", Location: "l"}, {Name: "gemini-2.5-flash", APIKey: testKey, Provider: "own", ContextWindow: 5}, {Name: "m", APIKey: testKey, ContextWindow: -1}, {Name: "gemini-2.0-flash", APIKey: testKey, Settings: &model.Settings{MaxTokens: -1}},
	} {
		m, err := googledialect.New(t.Context(), c)
		text, failed := c.MarshalText()
		require.NoError(t, failed)
		require.Equal(t, []string{fmt.Sprint(c), fmt.Sprint(c)}, []string{string(text), c.LogValue().String()})
		if err != nil {
			require.Nil(t, m)
			fmt.Fprintf(&told, "%s\n  %s", c, tell(t, nil, err))
			continue
		}
		fmt.Fprintf(&told, "%s\n  %s %s\n", c, m, jsonOf(t, m.Info()))
	}
	for _, backend := range []geminimodel.Backend{geminimodel.GeminiAPI, geminimodel.VertexAI} {
		d := googledialect.Dialect(backend, "gemini-3-pro-preview")
		fmt.Fprintf(&told, "%v: output %t media %q URLs %q thinking %t content %t raw %t max %d empty %t\n", backend, d.NativeOutput, d.Media, d.MediaURLs, d.Thinking, d.ContentRequired, d.RawArguments, d.CallIDMax, d.EmptyTextEndsPart)
	}
	golden(t, "configs.txt", told.String())
}
