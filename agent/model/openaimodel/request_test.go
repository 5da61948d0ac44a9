// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

func ptr[T any](v T) *T { return &v }

// body returns the request body that a model of the provider sends.
func body(t testing.TB, provider string, req *model.Request, change ...func(*openaimodel.Config)) string {
	t.Helper()
	b, err := openaimodel.RequestBody(newModel(t, "http://golden.test", provider, change...), req, false)
	require.NoError(t, err)
	require.True(t, json.Valid(b), "%s", b)
	return string(b)
}

// messages returns the encoded messages of a request.
func messages(t testing.TB, provider string, history ...*model.Message) string {
	t.Helper()
	_, list, ok := strings.Cut(body(t, provider, &model.Request{Messages: history}), `"messages":[`)
	require.True(t, ok)
	return strings.TrimSuffix(list, "]}")
}

// conversation has everything that a history can contain and every provider accepts.
func conversation() []*model.Message {
	return []*model.Message{
		request(model.System("In the conversation."), model.User("What's the weather in Oslo & <Bergen>?"), model.User("Be brief.")),
		{Kind: model.KindResponse, Provider: "deepseek", Parts: []model.Part{
			{Kind: model.PartThinking, Text: "Two cities.", Provider: "deepseek"},
			model.Text("I'll look."),
			model.ToolCall("c1", "weather", `{"city": "Oslo", "n": 9007199254740993}`),
			model.ToolCall("c2", "weather", `{"city": "Ber`),
			model.ToolCall("c3", "time", ""),
		}},
		request(
			model.User("(from a tool)"),
			model.ToolReturn("c1", "weather", `{"high":7}`),
			model.Retry("c2", "weather", "arguments: unexpected end of JSON"),
			model.Part{Kind: model.PartToolReturn, CallID: "c3", Tool: "time", Text: "denied by the user", Outcome: model.OutcomeDenied},
		),
		{Kind: model.KindResponse, Provider: "openrouter", Parts: []model.Part{
			{Kind: model.PartThinking, Text: "Hm.", Provider: "openrouter", ID: "rs_1", Signature: []byte("sig")},
			{Kind: model.PartOpaque, Provider: "openrouter", Data: []byte(detailsJSON)},
			model.Text("7 °C\n\"cold\"\t\u2028\x01"),
		}},
		request(model.Retry("", "", "The answer must be JSON.")),
	}
}

func fullRequest() *model.Request {
	return &model.Request{
		Instructions: "You are helpful.",
		Messages:     conversation(),
		Tools: []model.ToolDef{
			{Name: "weather", Description: "Weather of a city.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`), Strict: true},
			{Name: "time"},
		},
		ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired},
		Settings: &model.Settings{
			MaxTokens: 100, Temperature: ptr(0.2), TopP: ptr(1e-7), Stop: []string{"END", "\n"},
			ExtraBody: map[string]json.RawMessage{"user": json.RawMessage(`"u1"`), "a": json.RawMessage(`[1,2]`)},
		},
	}
}

func TestRequestsMatchTheGoldenFiles(t *testing.T) {
	settings := func(s model.Settings) *model.Settings { return &s }
	cases := map[string]*model.Request{"hello": hello()}
	cases["full_generic"] = fullRequest()
	for provider := range model.Providers() {
		cases["full_"+provider] = fullRequest()
	}
	delete(cases, "full_openai-responses")               // another protocol
	cases["full_ollama"].ToolChoice = model.ToolChoice{} // not supported
	cases["settings_openai"] = &model.Request{
		Messages: []*model.Message{model.UserText("hi")},
		Tools:    []model.ToolDef{{Name: "f"}, {Name: "g"}}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "g"},
		Output:   &model.OutputSchema{Name: "answer", Description: "The answer.", Schema: json.RawMessage(`{"type":"object"}`), Strict: true},
		Settings: settings(model.Settings{Seed: ptr(int64(-1)), ParallelToolCalls: ptr(false), Thinking: "low", ServiceTier: "flex"}),
	}
	cases["settings_llamacpp"] = &model.Request{
		Messages: []*model.Message{model.UserText("hi")},
		Tools:    []model.ToolDef{{Name: "f"}}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "f"},
		Output:   &model.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)},
		Settings: settings(model.Settings{ParallelToolCalls: ptr(true), Thinking: "off"}),
	}
	cases["settings_openrouter"] = &model.Request{
		Messages: []*model.Message{model.UserText("hi")}, Tools: []model.ToolDef{{Name: "f"}}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone},
		Settings: settings(model.Settings{Thinking: "high", ExtraBody: map[string]json.RawMessage{"model": json.RawMessage(`"other"`), "tool_choice": json.RawMessage(`"auto"`)}}),
	}
	cases["media_openai"] = &model.Request{Messages: []*model.Message{request(
		model.User("What are these?"),
		model.Media("image/png", []byte("png")),
		model.Part{Kind: model.PartMedia, MediaType: "image/jpeg", URL: "https://example.org/a.jpg?x=1&y=\"2\""},
		model.Media("audio/wav", []byte("wav")), model.Media("audio/mpeg", []byte("mp3")),
		model.Part{Kind: model.PartMedia, MediaType: "application/pdf", Data: []byte("pdf"), Name: "a.pdf"},
		model.Retry("", "", "Look again."),
	)}}
	for name, req := range cases {
		t.Run(name, func(t *testing.T) {
			_, provider, _ := strings.Cut(name, "_")
			base := "http://golden.test"
			if name == "hello" {
				base = ""
			}
			m := newModel(t, base, provider)
			for _, streamed := range []bool{false, true} {
				b, err := openaimodel.RequestBody(m, req, streamed)
				require.NoError(t, err)
				again, err := openaimodel.RequestBody(m, req, streamed)
				require.NoError(t, err)
				require.Equal(t, string(b), string(again), "the bytes depend only on the request")
				require.Equal(t, streamed, bytes.Contains(b, []byte(`"stream":true`)))
				require.Equal(t, streamed && provider != "mistral", bytes.Contains(b, []byte(`"stream":true,"stream_options":{"include_usage":true}`)))
				if streamed {
					continue
				}
				var indented bytes.Buffer
				require.NoError(t, json.Indent(&indented, b, "", "  "))
				indented.WriteByte('\n')
				file := filepath.Join("testdata", "requests", name+".json")
				if *update {
					require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
					require.NoError(t, os.WriteFile(file, indented.Bytes(), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err, "run the test with -update, and read what it writes")
				require.Equal(t, string(want), indented.String())
			}
		})
	}
}

func TestLongerHistoryExtendsTheBody(t *testing.T) {
	req := fullRequest()
	for i := range 5 {
		id := fmt.Sprint("x", i)
		req.Messages = append(req.Messages,
			model.Response(model.ToolCall(id, "time", "{}")), request(model.ToolReturn(id, "time", "noon"), model.User("extra")),
			request(model.User("and another request")))
	}
	for _, provider := range []string{"openai", "openrouter", "deepseek", "ollama", "mistral"} {
		if provider == "ollama" {
			req.ToolChoice = model.ToolChoice{} // not supported
		}
		before := ""
		for n := range req.Messages {
			if req.Messages[n].Kind != model.KindRequest {
				continue
			}
			shorter := *req
			shorter.Messages = req.Messages[:n+1]
			b := body(t, provider, &shorter)
			require.True(t, strings.HasPrefix(b, strings.TrimSuffix(before, `"}]}`)), "%s, %d messages", provider, n+1)
			before = b
		}
	}
}

func TestAdjacentMessagesAreMerged(t *testing.T) {
	got := messages(t, "openai",
		request(model.User("a"), model.User("b")), request(model.User("c")),
		model.Response(model.Text("x"), model.ToolCall("1", "f", "{}")), model.Response(model.Text("y"), model.ToolCall("2", "f", "{}")),
		request(model.User("d"), model.ToolReturn("1", "f", "one")), request(model.User("e"), model.ToolReturn("2", "f", "two")),
	)
	require.Equal(t, `{"role":"user","content":"a\n\nb\n\nc"},`+
		`{"role":"assistant","content":"xy","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},`+
		`{"role":"tool","tool_call_id":"1","content":"one"},{"role":"tool","tool_call_id":"2","content":"two"},`+
		`{"role":"user","content":"d\n\ne"}`, got)
}

func TestHistoryArgumentsAreObjects(t *testing.T) {
	for args, want := range map[string]string{
		"": `{}`, " \n": `{}`, "null": `{}`, `{}`: `{}`, ` {"a" : 1.0}`: ` {"a" : 1.0}`,
		`{"a":`: `{"invalid_arguments":"{\"a\":"}`, `[1]`: `{"invalid_arguments":"[1]"}`, `"x"`: `{"invalid_arguments":"\"x\""}`,
		"{\"a\":\"\xff\"}": "{\"a\":\"\ufffd\"}",
	} {
		var msg struct {
			ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
		}
		require.NoError(t, json.Unmarshal([]byte(messages(t, "openai", model.Response(model.ToolCall("1", "f", args)))), &msg))
		require.Equal(t, want, msg.ToolCalls[0].Function.Arguments)
		require.True(t, json.Valid([]byte(msg.ToolCalls[0].Function.Arguments)))
	}
}

func TestThinkingIsSentBackOnlyIfWanted(t *testing.T) {
	thought := func(provider string, parts ...model.Part) *model.Message {
		return model.Response(append([]model.Part{{Kind: model.PartThinking, Text: "hm", Provider: provider}}, parts...)...)
	}
	call := model.ToolCall("1", "f", "{}")
	for _, provider := range []string{"openai", "ollama", "vllm", "llamacpp", "lmstudio", "generic"} {
		require.NotContains(t, messages(t, provider, thought(provider, model.Text("x"), call)), "hm", provider)
	}
	require.NotContains(t, messages(t, "deepseek", thought("deepseek", model.Text("x"))), "reasoning")
	require.Contains(t, messages(t, "deepseek", thought("deepseek", call)), `"reasoning_content":"hm"`)
	require.Contains(t, messages(t, "deepseek", thought("openai", call)), `"reasoning_content":""`)

	always := func(c *openaimodel.Config) {
		p := openaimodel.ProfileFor("ollama", "")
		p.SendReasoning = openaimodel.SendReasoningAlways
		c.Profile = &p
	}
	for provider, want := range map[string]bool{"ollama": true, "openai": false, "": false} {
		got := body(t, "ollama", &model.Request{Messages: []*model.Message{thought(provider, model.Text("x"))}}, always)
		require.Equal(t, want, strings.Contains(got, `"reasoning":"hm"`), provider)
	}
}

func TestOpaquePartsAreSentBackOnlyToTheirProvider(t *testing.T) {
	history := func(provider, data string) *model.Message {
		p := model.ToolCall("1", "f", "{}")
		p.Provider, p.Signature = provider, []byte(`{"s":1}`)
		return model.Response(model.Part{Kind: model.PartOpaque, Provider: provider, Data: []byte(data)}, p)
	}
	got := messages(t, "openrouter", history("openrouter", detailsJSON), history("openrouter", ` [ {"type":"x"} ] `))
	require.Contains(t, got, `"reasoning_details":`+strings.TrimSuffix(detailsJSON, "]")+`, {"type":"x"} ]`)
	require.Contains(t, got, `"extra_content":{"s":1}`)
	for _, data := range []string{"", "[]", "[ ]", "{}", `[{"a"]`, "redacted", "null", "["} {
		require.NotContains(t, messages(t, "openrouter", history("openrouter", data)), "reasoning_details", data)
	}
	require.NotContains(t, messages(t, "openrouter", history("openai", detailsJSON)), "reasoning_details")
	require.NotContains(t, messages(t, "openrouter", history("openai", detailsJSON)), "extra_content")
	require.NotContains(t, messages(t, "openai", history("openai", detailsJSON)), "reasoning_details")
}

// Mistral refuses empty messages of the assistant, and chat templates refuse two messages of the user in a row.
func TestResponseWithNothingToSayIsLeftOut(t *testing.T) {
	for name, parts := range map[string][]model.Part{
		"nothing": nil, "thoughts": {model.Thinking("hm")}, "empty text": {model.Text(""), model.Text("\n")},
		"signed thoughts": {{Kind: model.PartThinking, Text: "hm", Provider: "openai", Signature: []byte("s")}},
		"details":         {{Kind: model.PartOpaque, Data: []byte(detailsJSON), Provider: "openrouter"}},
	} {
		for _, provider := range []string{"openai", "mistral", "openrouter", "deepseek"} {
			require.Equal(t, `{"role":"user","content":"a\n\nb"}`,
				messages(t, provider, model.UserText("a"), model.Response(parts...), model.UserText("b")), "%s, %s", name, provider)
		}
	}
	require.Equal(t, `{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}`,
		messages(t, "openai", model.UserText("a"), model.Response(model.Thinking("hm")), model.Response(model.Text("b")), model.UserText("c")))
	require.Contains(t, messages(t, "openai", model.Response(model.ToolCall("1", "f", ""))), `"content":null,"tool_calls"`)
}

func TestUnsupportedRequestsAreErrors(t *testing.T) {
	media := func(p model.Part) *model.Request { return &model.Request{Messages: []*model.Message{request(p)}} }
	settings := func(s model.Settings) *model.Request {
		r := hello()
		r.Settings, r.Tools = &s, []model.ToolDef{{Name: "f"}}
		return r
	}
	for _, test := range []struct {
		provider string
		req      *model.Request
		says     string
	}{
		{"deepseek", media(model.Media("image/png", []byte("x"))), "image/png"},
		{"ollama", media(model.Media("application/pdf", []byte("x"))), "application/pdf"},
		{"ollama", media(model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://x.test"}), "image/png by URL"},
		{"openai", media(model.Media("audio/flac", []byte("x"))), "audio/flac"},
		{"openai", media(model.Part{Kind: model.PartMedia, MediaType: "audio/wav", URL: "https://x.test"}), "audio/wav by URL"},
		{"openai", media(model.Media("video/mp4", []byte("x"))), "video/mp4"},
		{"deepseek", settings(model.Settings{Seed: ptr(int64(1))}), "seed"},
		{"ollama", settings(model.Settings{ParallelToolCalls: ptr(true)}), "parallel_tool_calls"},
		{"vllm", settings(model.Settings{ServiceTier: "x"}), "service_tier"},
		{"lmstudio", settings(model.Settings{Thinking: "low"}), `thinking "low"`},
		{"openai", settings(model.Settings{Thinking: "very"}), `thinking "very"`},
		{"azure", media(model.Media("application/pdf", []byte("x"))), "application/pdf"},
		{"cerebras", media(model.Media("image/png", []byte("x"))), "image/png"},
		{"cerebras", settings(model.Settings{ParallelToolCalls: ptr(true)}), "parallel_tool_calls"},
		{"mistral", settings(model.Settings{Thinking: "low"}), `thinking "low"`},
		{"mistral", &model.Request{Tools: []model.ToolDef{{Name: "f"}, {Name: "g"}}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "f"}}, "names one of several tools"},
		{"groq", settings(model.Settings{Thinking: "minimal"}), `thinking "minimal"`},
		{"bedrock", settings(model.Settings{Thinking: "off"}), `thinking "off"`},
		{"nvidia", settings(model.Settings{Thinking: "high"}), `thinking "high"`},
		{"together", settings(model.Settings{ServiceTier: "x"}), "service_tier"},
		{"xai", settings(model.Settings{ServiceTier: "x"}), "service_tier"},
		{"deepseek", &model.Request{Output: &model.OutputSchema{Schema: json.RawMessage("{}")}}, "JSON schema"},
		{"lmstudio", &model.Request{Tools: []model.ToolDef{{Name: "f"}, {Name: "g"}}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "f"}}, "names one of several tools"},
	} {
		_, err := openaimodel.RequestBody(newModel(t, "http://x.test", test.provider), test.req, false)
		require.ErrorIs(t, err, model.ErrUnsupported, test.says)
		require.ErrorContains(t, err, test.says)
		require.ErrorContains(t, err, "openaimodel: "+test.provider+" test-model: ")
	}
}

func TestInvalidRequestsAreErrors(t *testing.T) {
	tools := []model.ToolDef{{Name: "f"}}
	inf := math.Inf(1)
	for says, req := range map[string]*model.Request{
		`schema of tool "f"`:             {Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage("{")}}},
		"output schema":                  {Output: &model.OutputSchema{Schema: json.RawMessage("")}},
		`ExtraBody["x"]`:                 {Settings: &model.Settings{ExtraBody: map[string]json.RawMessage{"x": nil}}},
		"must not be negative":           {Settings: &model.Settings{MaxTokens: -1}},
		"Temperature is +Inf":            {Settings: &model.Settings{Temperature: &inf}},
		"unknown tool choice":            {Tools: tools, ToolChoice: model.ToolChoice{Mode: "maybe"}},
		`names "g"`:                      {Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "g"}},
		"offers no tools":                {ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}},
		`kind "text"`:                    {Messages: []*model.Message{request(model.Text("x"))}},
		`kind "user"`:                    {Messages: []*model.Message{model.Response(model.User("x"))}},
		"no media type":                  {Messages: []*model.Message{request(model.Media("", []byte("x")))}},
		"image/png has neither data nor": {Messages: []*model.Message{request(model.Media("image/png", nil))}},
	} {
		_, err := openaimodel.RequestBody(newModel(t, "http://x.test", ""), req, false)
		require.ErrorContains(t, err, says)
	}
}
