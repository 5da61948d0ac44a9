// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

const citySchema = `{"type":"object","properties":{"zip":{"type":"integer"},"city":{"type":"string"}},"required":["zip"],"additionalProperties":false}`

func weather() model.ToolDef {
	return model.ToolDef{Name: "weather", Description: "The weather <now>.", Schema: json.RawMessage(citySchema), Strict: true}
}

// conversation is the history before the request.
func conversation() []*model.Message {
	return []*model.Message{
		request(model.System("You are in Norway."), model.User("How is the weather?")),
		model.Response(
			model.Part{Kind: model.PartThinking, Text: "Let me see <…>.", Provider: "anthropic", Signature: []byte("c2ln+/==")},
			model.Part{Kind: model.PartThinking, Text: "not signed", Provider: "anthropic"},
			model.Part{Kind: model.PartThinking, Text: "of others", Provider: "google", Signature: []byte("x")},
			model.Text("I look."),
			model.ToolCall("toolu_1", "weather", `{"zip": 9007199254740993}`),
			model.ToolCall("functions.weather:2", "weather", `{"broken`),
			model.ToolCall("toolu_3", "weather", ``),
		),
		request(
			model.User("Quick!"),
			model.ToolReturn("toolu_1", "weather", "rain"),
			model.Retry("functions.weather:2", "weather", "That is no JSON."),
			model.Part{Kind: model.PartToolReturn, CallID: "toolu_3", Tool: "weather", Outcome: model.OutcomeDenied},
		),
		request(model.System("Be brief from now on.")),
		model.Response(model.Text("Rain."), model.Media("image/png", []byte("drawing"))),
		request(model.Retry("", "", "Too brief."), model.User(" ")),
	}
}

func TestGoldenRequests(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*anthropicmodel.Config)
		req    *model.Request
	}{
		"minimal": {uncached, &model.Request{Messages: []*model.Message{model.UserText("hi")}, Settings: &model.Settings{MaxTokens: 10}}},
		"conversation": {uncached, &model.Request{
			Instructions: "Answer.", Messages: conversation(), Tools: []model.ToolDef{weather(), {Name: "time"}},
			ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "weather"},
			Output:     &model.OutputSchema{Name: "city", Schema: json.RawMessage(citySchema), Strict: true},
			Settings: &model.Settings{
				MaxTokens: 500, Temperature: new(0.25), Stop: []string{"END", "STOP"}, ParallelToolCalls: new(false), ServiceTier: "standard_only",
				ExtraBody: map[string]json.RawMessage{"metadata": json.RawMessage(`{"user_id":"u"}`), "a.b": json.RawMessage(`9007199254740993`), "stop_sequences": json.RawMessage(`["X"]`)},
			},
		}},
		"system-messages": {named("claude-opus-4-8"), &model.Request{
			Instructions: "Answer.", Messages: conversation(), Tools: []model.ToolDef{weather()},
			ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone},
			Settings:   &model.Settings{Thinking: "xhigh", ParallelToolCalls: new(true)},
		}},
		"thinking-with-a-budget": {named("claude-sonnet-4-20250514"), &model.Request{
			Messages: []*model.Message{model.UserText("hi")}, Tools: []model.ToolDef{weather()},
			Settings: &model.Settings{Thinking: "high", MaxTokens: 16_000, TopP: new(0.95), ParallelToolCalls: new(false)},
		}},
		"thinking-bound-to-the-conversation": {func(c *anthropicmodel.Config) {
			c.Name, c.CacheTTL, c.Betas = "claude-opus-5-5", "1h", []string{"some-beta"}
			c.ServerTools = []json.RawMessage{json.RawMessage(`{"type":"web_search_20250305","name":"web_search","max_uses":3}`)}
		}, &model.Request{
			Instructions: "Answer.", Messages: []*model.Message{model.UserText("hi")}, Settings: &model.Settings{Thinking: "low"},
			Output: &model.OutputSchema{Schema: json.RawMessage(citySchema)},
		}},
		"media": {func(c *anthropicmodel.Config) { c.Cache = anthropicmodel.CachePrefix }, &model.Request{
			Messages: []*model.Message{request(
				model.User("What is this?"),
				model.Media("image/jpg; q=1", []byte{1, 2, 3}), model.Media("IMAGE/WEBP", []byte{4}),
				model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://media.example/a.png"},
				model.Part{Kind: model.PartMedia, MediaType: "application/pdf", Data: []byte("%PDF"), Name: "a.pdf"},
				model.Part{Kind: model.PartMedia, MediaType: "application/pdf", URL: "https://media.example/a.pdf"},
				model.Part{Kind: model.PartMedia, MediaType: "text/plain; charset=utf-8", Data: []byte("plain <ø>"), Name: "a.txt"},
			)},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, answer{Body: events(say("ok")...)})
			_, err := newModel(t, e.URL, test.change).Generate(context.Background(), test.req, nil)
			require.NoError(t, err)
			var got bytes.Buffer
			require.NoError(t, json.Indent(&got, []byte(e.Bodies[0]), "", "  "))
			file := filepath.Join("testdata", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(file, append(got.Bytes(), '\n'), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String()+"\n")
			require.LessOrEqual(t, strings.Count(e.Bodies[0], `"cache_control"`), 4)
			if name == "thinking-bound-to-the-conversation" {
				require.Equal(t, "some-beta,thinking-binding-controls-2026-08-01", e.Requests[0].Header.Get("Anthropic-Beta"))
			} else {
				require.NotContains(t, e.Requests[0].Header, "Anthropic-Beta")
			}
		})
	}
}

func TestBodyEqualsTheSDKs(t *testing.T) {
	call := model.ToolCall("toolu_9", "click", ` { "n" : 9007199254740993, "s":"<é>" } `)
	call.Provider, call.Signature = "anthropic", []byte(`{"toolset_name":"computer","caller":{"type":"code"},"a":1}`)
	history := append(conversation(), model.Response(
		model.Part{Kind: model.PartOpaque, Provider: "anthropic", Data: []byte(`{"type":"redacted_thinking","data":"cmVk"}`)},
		model.Text("Cited."), model.Part{Kind: model.PartOpaque, Provider: "anthropic", Data: []byte(`["not a block"]`)}, call),
		request(model.ToolReturn("toolu_9", "click", ""), model.User("a\u2028\x01\"b\\"), model.Media("image/png", []byte("x"))))
	for n := range history {
		for _, change := range []func(*anthropicmodel.Config){uncached, named("claude-opus-4-8"), func(c *anthropicmodel.Config) { c.CacheTTL = "1h" }} {
			req := &model.Request{Messages: history[:n+1]}
			m := newModel(t, "", change)
			want, err := anthropicmodel.SDKBody(m, req)
			require.NoError(t, err)
			got, err := anthropicmodel.RequestBody(m, req)
			require.NoError(t, err)
			require.JSONEq(t, string(want), strings.Replace(string(got), `"stream":true,`, "", 1))
			for range 4 {
				again, err := anthropicmodel.RequestBody(m, req)
				require.NoError(t, err)
				require.Equal(t, string(got), string(again))
			}
		}
	}
	got, err := anthropicmodel.RequestBody(newModel(t, "", uncached), &model.Request{Messages: history})
	require.NoError(t, err)
	require.Contains(t, string(got), `"toolset_name":"computer","caller":{"type":"code"},"a":1}`)
}

func TestUnsupportedRequestsAreErrors(t *testing.T) {
	tools := []model.ToolDef{weather()}
	forced := model.ToolChoice{Mode: model.ToolChoiceRequired}
	for name, test := range map[string]struct {
		model string
		req   model.Request
		want  string
	}{
		"seed":                        {"claude-haiku-4-5", model.Request{Settings: &model.Settings{Seed: new(int64(1))}}, "the setting seed"},
		"temperature above 1":         {"claude-haiku-4-5", model.Request{Settings: &model.Settings{Temperature: new(1.5)}}, "a temperature of 1.5"},
		"both kinds of sampling":      {"claude-haiku-4-5", model.Request{Settings: &model.Settings{Temperature: new(0.5), TopP: new(0.5)}}, "both temperature and top_p"},
		"temperature while thinking":  {"claude-haiku-4-5", model.Request{Settings: &model.Settings{Temperature: new(0.5), Thinking: "low"}}, "temperature while the model thinks"},
		"top_p while thinking":        {"claude-haiku-4-5", model.Request{Settings: &model.Settings{TopP: new(0.5), Thinking: "low"}}, "top_p below 0.95"},
		"temperature of a new model":  {"claude-opus-4-7", model.Request{Settings: &model.Settings{Temperature: new(1.0)}}, "the setting temperature"},
		"top_p of a new model":        {"claude-sonnet-5-5", model.Request{Settings: &model.Settings{TopP: new(1.0)}}, "the setting top_p"},
		"no room to think":            {"claude-haiku-4-5", model.Request{Settings: &model.Settings{MaxTokens: 1024, Thinking: "low"}}, "must be above 1024"},
		"unknown level":               {"claude-haiku-4-5", model.Request{Settings: &model.Settings{Thinking: "max"}}, `thinking "max"`},
		"thinking that cannot be off": {"claude-opus-5-5", model.Request{Settings: &model.Settings{Thinking: "off"}}, `thinking "off"`},
		"forced while thinking":       {"claude-haiku-4-5", model.Request{Tools: tools, ToolChoice: forced, Settings: &model.Settings{Thinking: "low"}}, "requires a call while the model thinks"},
		"forced at all":               {"claude-opus-5-5", model.Request{Tools: tools, ToolChoice: forced}, "requires a call"},
		"blank stop":                  {"claude-haiku-4-5", model.Request{Settings: &model.Settings{Stop: []string{"\n\n"}}}, "white space"},
		"schema of an old model":      {"claude-opus-4-1", model.Request{Output: &model.OutputSchema{Schema: json.RawMessage(`{}`)}}, "JSON schema"},
		"bitmap":                      {"claude-haiku-4-5", model.Request{Messages: []*model.Message{request(model.Media("image/bmp", []byte("x")))}}, "image/bmp (use PNG, JPEG"},
		"bitmap by URL":               {"claude-haiku-4-5", model.Request{Messages: []*model.Message{request(model.Part{Kind: model.PartMedia, MediaType: "image/bmp", URL: "https://x"})}}, "image/bmp"},
		"text by URL":                 {"claude-haiku-4-5", model.Request{Messages: []*model.Message{request(model.Part{Kind: model.PartMedia, MediaType: "text/plain", URL: "https://x"})}}, "by URL"},
		"text that is none":           {"claude-haiku-4-5", model.Request{Messages: []*model.Message{request(model.Media("text/plain", []byte("\xff")))}}, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, answer{Body: events(say("ok")...)})
			_, err := newModel(t, e.URL, named(test.model)).Generate(context.Background(), &test.req, nil)
			require.ErrorIs(t, err, model.ErrUnsupported)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "anthropicmodel: anthropic "+test.model+": ")
			require.Zero(t, e.Count())
		})
	}
}

func TestSupportedRequestsAreSent(t *testing.T) {
	forced := &model.Request{Messages: hello().Messages, Tools: []model.ToolDef{weather()}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}}
	for _, name := range []string{"claude-opus-4-7", "claude-opus-5", "claude-haiku-5-5", "kimi-k3"} {
		require.JSONEq(t, `{"type":"any"}`, string(sent(t, named(name), forced)["tool_choice"]), name)
	}
	both := &model.Request{Messages: hello().Messages, Settings: &model.Settings{Temperature: new(0.5), TopP: new(0.5)}}
	require.Equal(t, "0.5", string(sent(t, named("kimi-k3"), both)["top_p"]))
	thinking := &model.Request{Messages: hello().Messages, Settings: &model.Settings{Temperature: new(1.0), Thinking: "high"}}
	require.JSONEq(t, `{"type":"enabled","budget_tokens":24000}`, string(sent(t, named("claude-haiku-4-5"), thinking)["thinking"]))
}

func TestThinkingParameters(t *testing.T) {
	const bound = `,"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
	for _, test := range []struct{ model, level, thinking, config string }{
		{"claude-sonnet-4-5", "", "", ""},
		{"claude-sonnet-4-5", "off", "", ""},
		{"claude-sonnet-4-5", "minimal", `{"type":"enabled","budget_tokens":1024}`, ""},
		{"claude-sonnet-4-6", "", "", ""},
		{"claude-sonnet-4-6", "off", "", ""},
		{"claude-sonnet-4-6", "high", `{"type":"adaptive","display":"summarized"}`, `{"effort":"high"}`},
		{"claude-opus-4-7", "max", `{"type":"adaptive","display":"summarized"}`, `{"effort":"max"}`},
		{"claude-opus-4-8", "off", "", ""},
		{"claude-opus-5", "", `{"type":"adaptive","display":"summarized"}`, ""},
		{"claude-opus-5", "off", `{"type":"disabled"}`, ""},
		{"claude-sonnet-5-5", "off", `{"type":"between_tools"}`, ""},
		{"claude-haiku-5-5", "medium", `{"type":"adaptive","display":"summarized"` + bound + `}`, `{"effort":"medium"}`},
		{"claude-fable-5-1", "minimal", `{"type":"adaptive","display":"summarized"` + bound + `}`, `{"effort":"low"}`},
		{"claude-next-7", "high", `{"type":"adaptive","display":"summarized"` + bound + `}`, `{"effort":"high"}`},
		{"kimi-k3", "low", `{"type":"enabled","budget_tokens":4096}`, ""},
	} {
		req := hello()
		req.Settings = &model.Settings{Thinking: test.level}
		body := sent(t, named(test.model), req)
		name := test.model + " " + test.level
		require.Equal(t, test.thinking, string(body["thinking"]), name)
		require.Equal(t, test.config, string(body["output_config"]), name)
	}
}

func TestLargeBudgetIsLowered(t *testing.T) {
	for maxTokens, budget := range map[int]int{1025: 1024, 3000: 1500, 4096: 2048, 4097: 4096} {
		req := hello()
		req.Settings = &model.Settings{Thinking: "low", MaxTokens: maxTokens}
		require.JSONEq(t, fmt.Sprintf(`{"type":"enabled","budget_tokens":%d}`, budget), string(sent(t, uncached, req)["thinking"]))
	}
}

func TestLongResponsesAreStreamedWithoutASink(t *testing.T) {
	for maxTokens, want := range map[int]string{0: "true", 8192: "", 8193: "true"} {
		req := hello()
		req.Settings = &model.Settings{MaxTokens: maxTokens}
		require.Equal(t, want, string(sent(t, uncached, req)["stream"]))
	}
}

func TestEmptyMessagesAreNotSent(t *testing.T) {
	const nothing = `{"content":[{"text":"(no text)","type":"text"}],"role":"user"}`
	said := func(role, text string) string {
		return fmt.Sprintf(`{"content":[{"text":%q,"type":"text"}],"role":%q}`, text, role)
	}
	for name, test := range map[string]struct {
		messages []*model.Message
		want     string
	}{
		"no messages":              {nil, nothing},
		"empty text":               {[]*model.Message{model.UserText(" \n")}, nothing},
		"system prompt alone":      {[]*model.Message{request(model.System("x"))}, nothing},
		"begins with the model":    {[]*model.Message{model.Response(model.Text("a")), model.UserText("b")}, nothing + "," + said("assistant", "a") + "," + said("user", "b")},
		"ends with nothing":        {[]*model.Message{model.UserText("a"), model.Response(model.Text("b")), request()}, said("user", "a") + "," + said("assistant", "b") + "," + nothing},
		"nothing in the middle":    {[]*model.Message{model.UserText("a"), model.Response(model.Thinking("hm")), model.UserText("b")}, said("user", "a") + "," + said("user", "b")},
		"late system prompt alone": {[]*model.Message{model.UserText("a"), model.Response(model.Text("b")), request(model.System("c"))}, said("user", "a") + "," + said("assistant", "b") + "," + said("user", "<system>\nc\n</system>")},
	} {
		for _, m := range []string{"claude-haiku-4-5", "claude-opus-4-8"} {
			body := sent(t, func(c *anthropicmodel.Config) { c.Name, c.Cache = m, anthropicmodel.CacheOff }, &model.Request{Messages: test.messages})
			require.Equal(t, "["+test.want+"]", string(body["messages"]), name+" "+m)
		}
	}
}

// The API requires a response to a system message. If the response has nothing to send, the system message becomes user
// text.
func TestUnansweredSystemMessageBecomesUserText(t *testing.T) {
	body := sent(t, func(c *anthropicmodel.Config) { c.Name, c.Cache = "claude-opus-4-8", anthropicmodel.CacheOff }, &model.Request{Messages: []*model.Message{
		model.UserText("a"), model.Response(model.Text("b")), request(model.User("c"), model.System("d")), model.Response(model.Thinking("hm")), model.UserText("e"),
	}})
	var messages []struct {
		Role    string
		Content []struct{ Text string }
	}
	require.NoError(t, json.Unmarshal(body["messages"], &messages))
	var all []string
	for _, m := range messages {
		all = append(all, m.Role+": "+m.Content[0].Text)
	}
	require.Equal(t, []string{"user: a", "assistant: b", "user: c", "user: <system>\nd\n</system>", "user: e"}, all)
}

func TestCallIDsOfOtherProvidersFit(t *testing.T) {
	e := serve(t, answer{Body: events(say("ok")...)})
	_, err := newModel(t, e.URL, uncached).Generate(context.Background(), &model.Request{Messages: adaptertest.AwkwardCalls()}, nil)
	require.NoError(t, err)
	var sent struct {
		Messages []struct {
			Content []struct {
				Type, ID, Name string
				ToolUseID      string `json:"tool_use_id"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(e.Bodies[0]), &sent))
	var calls, results []adaptertest.SentCall
	for _, msg := range sent.Messages {
		for _, block := range msg.Content {
			switch block.Type {
			case "tool_use":
				calls = append(calls, adaptertest.SentCall{ID: block.ID, Name: block.Name})
			case "tool_result":
				results = append(results, adaptertest.SentCall{ID: block.ToolUseID})
			}
		}
	}
	adaptertest.FitsAwkwardCalls(t, regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), calls, results)
}

func TestLongerHistoryExtendsTheBody(t *testing.T) {
	e := serve(t, answer{Body: events(say("ok")...)})
	m := newModel(t, e.URL, uncached)
	req := &model.Request{Instructions: "Answer.", Messages: conversation(), Tools: []model.ToolDef{weather()}}
	_, err := m.Generate(context.Background(), req, nil)
	require.NoError(t, err)
	req.Messages = append(req.Messages, model.Response(model.Text("more")), model.UserText("and more"))
	_, err = m.Generate(context.Background(), req, nil)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(e.Bodies[1], strings.TrimSuffix(e.Bodies[0], "]}")))
}

func TestAtMostFourCacheBreakpoints(t *testing.T) {
	req := &model.Request{Instructions: "Answer.", Messages: conversation(), Tools: []model.ToolDef{weather()}}
	for cache, want := range map[anthropicmodel.Cache]int{
		anthropicmodel.CacheConversation: 4, anthropicmodel.CachePrefix: 2, anthropicmodel.CacheOff: 0,
	} {
		body := sent(t, func(c *anthropicmodel.Config) { c.Cache = cache }, req)
		n := 0
		for _, member := range body {
			n += strings.Count(string(member), `"cache_control":{"type":"ephemeral"}`)
		}
		require.Equal(t, want, n, cache)
	}
}

// "The final block in an assistant message cannot be `thinking`."
func TestThinkingIsNotTheEndOfAMessage(t *testing.T) {
	thought := model.Part{Kind: model.PartThinking, Text: "Hm.", Provider: "anthropic", Signature: []byte("EqQB")}
	redacted := model.Part{Kind: model.PartOpaque, Provider: "anthropic", Data: []byte(`{"type":"redacted_thinking","data":"x"}`)}
	for name, parts := range map[string][]model.Part{
		"thinking": {thought}, "redacted": {redacted}, "both": {thought, redacted}, "blank text": {thought, model.Text(" ")},
	} {
		for _, said := range [][]model.Part{nil, {model.Text("x")}, {thought, model.Text("x")}} {
			body := sent(t, uncached, &model.Request{Messages: []*model.Message{
				model.UserText("a"), model.Response(append(slices.Clone(said), parts...)...), model.UserText("b"),
			}})
			messages := string(body["messages"])
			require.NotRegexp(t, `thinking"}\],"role":"assistant"`, messages, name)
			require.Equal(t, len(said) == 2, strings.Contains(messages, "EqQB"), "thinking before text stays: %s", messages)
			require.Equal(t, len(said) == 0, !strings.Contains(messages, `"assistant"`), name)
		}
	}
}
