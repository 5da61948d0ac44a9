// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

func responseRequests() map[string]*model.Request {
	full := fullRequest()
	full.Settings.Stop = nil
	full.Messages = append(full.Messages,
		responseCases["reasoning with summaries, commentary and a call"].want,
		request(model.ToolReturn("call_1", "weather", "7 °C")),
		responseCases["reasoning that can be read"].want,
		model.UserText("Go on."))
	return map[string]*model.Request{
		"hello": hello(),
		"full":  full,
		"settings": {
			Messages: []*model.Message{model.UserText("hi")},
			Tools:    []model.ToolDef{{Name: "f", Strict: true}, {Name: "g"}}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "g"},
			Output:   &model.OutputSchema{Name: "answer", Description: "The answer.", Schema: json.RawMessage(`{"type":"object"}`), Strict: true},
			Settings: &model.Settings{MaxTokens: 100, ParallelToolCalls: ptr(false), Thinking: "low", ServiceTier: "flex"},
		},
		"extra": {
			Messages: []*model.Message{model.UserText("hi")}, Tools: []model.ToolDef{{Name: "f"}},
			Output: &model.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)},
			Settings: &model.Settings{Thinking: "off", ExtraBody: map[string]json.RawMessage{
				"tools": json.RawMessage(`[{"type":"web_search"}]`), "include": json.RawMessage(`[]`), "store": json.RawMessage(`true`),
			}},
		},
		"media": {Messages: []*model.Message{request(
			model.User("What are these?"),
			model.Media("image/png", []byte("png")),
			model.Part{Kind: model.PartMedia, MediaType: "image/jpeg", URL: "https://example.org/a.jpg?x=1&y=\"2\""},
			model.Part{Kind: model.PartMedia, MediaType: "application/pdf", Data: []byte("pdf"), Name: "a.pdf"},
			model.Part{Kind: model.PartMedia, MediaType: "application/pdf", URL: "https://example.org/b.pdf"},
			model.Retry("", "", "Look again."),
		), model.Response(model.Text("A cat: "), model.Media("image/png", []byte("cat"))), model.UserText("And now?")}},
	}
}

func TestResponsesRequestsMatchTheGoldenFiles(t *testing.T) {
	for name, req := range responseRequests() {
		t.Run(name, func(t *testing.T) {
			m := newResponses(t, "http://golden.test")
			b, err := openaimodel.ResponsesBody(m, req, false)
			require.NoError(t, err)
			again, err := openaimodel.ResponsesBody(m, req, false)
			require.NoError(t, err)
			require.Equal(t, string(b), string(again), "the bytes depend only on the request")
			streamed, err := openaimodel.ResponsesBody(m, req, true)
			require.NoError(t, err)
			require.Equal(t, string(b), strings.Replace(string(streamed), `"stream":true,`, "", 1))

			var indented bytes.Buffer
			require.NoError(t, json.Indent(&indented, b, "", "  "))
			indented.WriteByte('\n')
			file := filepath.Join("testdata", "responses", name+".json")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, indented.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), indented.String())
		})
	}
}

func TestLongerItemHistoryExtendsTheBody(t *testing.T) {
	req := responseRequests()["full"]
	for i := range 5 {
		id := fmt.Sprint("x", i)
		req.Messages = append(req.Messages,
			model.Response(model.ToolCall(id, "time", "{}")), request(model.ToolReturn(id, "time", "noon"), model.User("extra")),
			request(model.User("and another request")))
	}
	before := ""
	for n := 1; n <= len(req.Messages); n++ {
		if n < len(req.Messages) && req.Messages[n-1].Kind == req.Messages[n].Kind {
			continue // only complete turns are sent
		}
		shorter := *req
		shorter.Messages = req.Messages[:n]
		b, err := openaimodel.ResponsesBody(newResponses(t, "http://x.test"), &shorter, true)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(b), before), "%s\n%s", before, b)
		before = strings.TrimSuffix(string(b), "]}")
	}
}

func TestResponsesReportsUnsupportedRequests(t *testing.T) {
	media := func(p model.Part) *model.Request { return &model.Request{Messages: []*model.Message{request(p)}} }
	settings := func(s model.Settings) *model.Request {
		r := hello()
		r.Settings, r.Tools = &s, []model.ToolDef{{Name: "f"}}
		return r
	}
	two := []model.ToolDef{{Name: "f"}, {Name: "g"}}
	for _, test := range []struct {
		provider, name string
		req            *model.Request
		says           string
	}{
		{"openai", "m", settings(model.Settings{Stop: []string{"x"}}), "the setting stop"},
		{"openai", "m", settings(model.Settings{Seed: ptr(int64(1))}), "the setting seed"},
		{"openai", "m", settings(model.Settings{Thinking: "very"}), `thinking "very"`},
		{"openai", "o3", settings(model.Settings{Thinking: "off"}), `thinking "off"`},
		{"openai", "o3", settings(model.Settings{Temperature: ptr(0.5)}), "temperature"},
		{"openai", "gpt-4.1", settings(model.Settings{Thinking: "low"}), `thinking "low"`},
		{"openai", "m", media(model.Media("audio/wav", []byte("x"))), "audio/wav"},
		{"openai", "m", media(model.Media("video/mp4", []byte("x"))), "video/mp4"},
		{"ollama", "m", media(model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://x.test"}), "image/png by URL"},
		{"ollama", "m", settings(model.Settings{ParallelToolCalls: ptr(true)}), "parallel_tool_calls"},
		{"vllm", "m", settings(model.Settings{ServiceTier: "x"}), "service_tier"},
		{"deepseek", "m", &model.Request{Output: &model.OutputSchema{Schema: json.RawMessage("{}")}}, "JSON schema"},
		{"llamacpp", "m", &model.Request{Output: &model.OutputSchema{Schema: json.RawMessage("{}")}}, "JSON schema"},
		{"lmstudio", "m", &model.Request{Tools: two, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "f"}}, "one of several tools"},
	} {
		m := newResponses(t, "http://x.test", func(c *openaimodel.Config) { c.Provider, c.Name = test.provider, test.name })
		_, err := openaimodel.ResponsesBody(m, test.req, false)
		require.ErrorIs(t, err, model.ErrUnsupported, test.says)
		require.ErrorContains(t, err, test.says)
		require.ErrorContains(t, err, "openaimodel: "+test.provider+" "+test.name+": ")
	}
	for says, req := range map[string]*model.Request{
		`schema of tool "f"`:   {Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage("{")}}},
		"must not be negative": settings(model.Settings{MaxTokens: -1}),
		"neither data nor URL": media(model.Part{Kind: model.PartMedia, MediaType: "image/png"}),
		`part of kind "text"`:  media(model.Text("x")),
	} {
		_, err := openaimodel.ResponsesBody(newResponses(t, "http://x.test"), req, false)
		require.ErrorContains(t, err, says)
		require.NotErrorIs(t, err, model.ErrUnsupported)
	}
}

// For models that do not reason, OpenAI returns an error if encrypted reasoning or an effort is requested.
func TestNoReasoningForOtherModels(t *testing.T) {
	for name, reasons := range map[string]bool{"gpt-5": true, "o3": true, "gpt-4.1-mini": false, "gpt-4o": false, "gpt-5-chat-latest": false, "mine": true} {
		m := newResponses(t, "http://x.test", func(c *openaimodel.Config) { c.Name = name })
		req := hello()
		if !reasons {
			req.Settings = &model.Settings{Thinking: "off"}
		}
		b, err := openaimodel.ResponsesBody(m, req, false)
		require.NoError(t, err)
		require.Equal(t, reasons, strings.Contains(string(b), "reasoning"), "%s: %s", name, b)
	}
}

func TestInfoOfResponses(t *testing.T) {
	info := newResponses(t, "").Info()
	require.Equal(t, model.Info{
		Provider: "openai", Name: "test-model", NativeOutput: true, NativeSearch: true, NativeDomains: true, NativeCompaction: true,
		Media: []string{"image", "application/pdf"}, MediaURLs: []string{"image", "application/pdf"},
	}, info)
	info.Media[0], info.MediaURLs[0] = "changed", "changed"
	require.NotContains(t, newResponses(t, "").Info().Media, "changed")
	require.Empty(t, newResponses(t, "http://localhost:11434").Info().ContextWindow)

	_, err := openaimodel.NewResponses(openaimodel.Config{BaseURL: "ftp://x"})
	require.ErrorContains(t, err, "Config.Name")
	require.ErrorContains(t, err, "Config.BaseURL")

	require.Equal(t, "openai test-model at http://x.test/v1", newResponses(t, "http://x.test/v1/responses/").String())
}

// "Item 'rs_1' of type 'reasoning' was provided without its required following item."
func TestReasoningIsFollowedByItsItem(t *testing.T) {
	const readable = `{"id":"rs_2","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]}`
	thought := model.Part{Kind: model.PartThinking, Text: "Hm.", Provider: "openai", ID: "rs_1", Signature: []byte("gAAA")}
	raw := model.Part{Kind: model.PartOpaque, Provider: "openai", Data: []byte(readable)}
	for name, parts := range map[string][]model.Part{
		"reasoning": {thought}, "readable reasoning": {raw}, "empty text": {thought, model.Text("")}, "nothing": nil,
	} {
		got := input(t, model.UserText("a"), model.Response(parts...), model.UserText("b"))
		require.Equal(t, `{"type":"message","role":"user","content":"a\n\nb"}`, got, name)
		got = input(t, model.UserText("a"), model.Response(append([]model.Part{model.Text("x")}, parts...)...), model.UserText("b"))
		require.NotContains(t, got, `"reasoning"`, "%s at the end of an interrupted response", name)
	}
	require.Contains(t, input(t, model.UserText("a"), model.Response(thought, model.Text("x")), model.UserText("b")), `"gAAA"`)
	require.Contains(t, input(t, model.UserText("a"), model.Response(raw, model.ToolCall("c", "f", "")), request(model.ToolReturn("c", "f", ""))), "reasoning_text")
}
