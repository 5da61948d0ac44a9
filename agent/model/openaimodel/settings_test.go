// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// requests have a setting, tools or an output of their own each.
func requests() []struct {
	name string
	req  *model.Request
} {
	type named = struct {
		name string
		req  *model.Request
	}
	set := func(s model.Settings) *model.Request { return &model.Request{Settings: &s} }
	tooled := func(s model.Settings) *model.Request {
		return &model.Request{Settings: &s, Tools: []model.ToolDef{{Name: "f"}}}
	}
	one := []model.ToolDef{{Name: "f", Description: "d \"q\"", Schema: json.RawMessage(`{"type":"object"}`), Strict: true}}
	two := append(one, model.ToolDef{Name: "g"})
	choose := func(tools []model.ToolDef, mode model.ToolChoiceMode, tool string) *model.Request {
		return &model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: mode, Tool: tool}}
	}
	over := map[string]json.RawMessage{}
	for _, name := range []string{
		"model", "stream", "stream_options", "store", "include", "tools", "tool_choice", "response_format", "text", "max_tokens", "max_completion_tokens", "max_output_tokens", "temperature", "top_p",
		"stop", "seed", "random_seed", "parallel_tool_calls", "reasoning_effort", "reasoning", "service_tier", "context_management", "max_tool_calls", "instructions", "messages", "input",
	} {
		over[name] = json.RawMessage(`"mine"`)
	}
	overridden := choose(two, model.ToolChoiceRequired, "")
	overridden.Instructions, overridden.Output = "I", &model.OutputSchema{Schema: json.RawMessage("{}")}
	overridden.Settings = &model.Settings{MaxTokens: 1, Temperature: ptr(0.5), TopP: ptr(0.5), ParallelToolCalls: ptr(true), Thinking: "low", ExtraBody: over}
	return []named{
		{"nothing", &model.Request{}}, {"instructions", &model.Request{Instructions: "I \"q\""}},
		{"one token", set(model.Settings{MaxTokens: 1})}, {"tokens and a seed", set(model.Settings{MaxTokens: 1234, Seed: ptr(int64(-5678))})}, {"tokens", set(model.Settings{MaxTokens: 1234})}, {"temperature of 0", set(model.Settings{Temperature: ptr(0.0)})}, {"temperature", set(model.Settings{Temperature: ptr(1.25)})},
		{"top p", set(model.Settings{TopP: ptr(1e-9)})}, {"stop", set(model.Settings{Stop: []string{"a\n", "b"}})}, {"seed of 0", set(model.Settings{Seed: ptr(int64(0))})},
		{"parallel calls without tools", set(model.Settings{ParallelToolCalls: ptr(true)})},
		{"parallel calls", tooled(model.Settings{ParallelToolCalls: ptr(true)})}, {"no parallel calls", tooled(model.Settings{ParallelToolCalls: ptr(false)})},
		{"off", set(model.Settings{Thinking: "off"})}, {"minimal", set(model.Settings{Thinking: "minimal"})}, {"low", set(model.Settings{Thinking: "low"})},
		{"medium", set(model.Settings{Thinking: "medium"})}, {"high", set(model.Settings{Thinking: "high"})}, {"another level", set(model.Settings{Thinking: "own"})},
		{"tier", set(model.Settings{ServiceTier: "flex \"q\""})}, {"extra", set(model.Settings{ExtraBody: map[string]json.RawMessage{"z": json.RawMessage("1"), "a": json.RawMessage("[2]")}})},
		{"a tool", choose(one, "", "")}, {"two tools", choose(two, "", "")}, {"none of the tools", choose(two, model.ToolChoiceNone, "")}, {"one of no tools", choose(nil, model.ToolChoiceNone, "")},
		{"some tool", choose(two, model.ToolChoiceRequired, "")}, {"a named tool", choose(two, model.ToolChoiceTool, "g")}, {"the only tool", choose(one, model.ToolChoiceTool, "f")},
		{"parallel calls of no tool", &model.Request{Tools: one, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone}, Settings: &model.Settings{ParallelToolCalls: ptr(true)}}},
		{"output", &model.Request{Output: &model.OutputSchema{Name: "n", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: true}}},
		{"output without a name", &model.Request{Output: &model.OutputSchema{Schema: json.RawMessage(`{}`)}}},
		{"a search", set(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}})},
		{"a search of hosts", tooled(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch, Allowed: []string{"a.test", "b.test"}, MaxUses: 12}, {Kind: model.NativeWebSearch, MaxUses: 1}}})},
		{"a search of other hosts", set(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch, Blocked: []string{"a.test"}}}})},
		{"a fetch", set(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebFetch}}})},
		{"compaction", set(model.Settings{CompactAt: 1})}, {"compaction of many tokens", set(model.Settings{CompactAt: 1234})}, {"fewer than no tokens", set(model.Settings{MaxTokens: -1})},
		{"a tool without a name", choose([]model.ToolDef{{}}, "", "")},
		{"everything overridden", overridden},
	}
}

// sent returns the body of a request without what every request has, or the error.
func sent(body []byte, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	text := strings.TrimPrefix(string(body), `{"model":"m",`)
	for _, end := range []string{`,"messages":[]}`, `"messages":[]}`, `,"input":[]}`, `"input":[]}`} {
		text = strings.TrimSuffix(text, end)
	}
	return text
}

// sameButStreamed checks that a streamed request asks for a stream, after the model's name, and differs in nothing else.
func sameButStreamed(t *testing.T, body, streamed []byte, asked string, s *model.Settings) {
	t.Helper()
	const first = `{"model":"m",`
	if len(body) == 0 || s != nil && s.ExtraBody["stream"] != nil {
		require.Equal(t, string(body), string(streamed))
		return
	}
	require.Equal(t, strings.Replace(string(body), first, first+asked, 1), string(streamed))
}

func TestRequestsOfEverySetting(t *testing.T) {
	nothing := openaimodel.ProfileFor("", "http://x.test")
	nothing.Unsupported = []string{"temperature", "top_p", "stop", "seed", "parallel_tool_calls", "service_tier"}
	nothing.NativeOutput, nothing.Thinking, nothing.Strict = false, nil, false
	config := func(provider string) openaimodel.Config {
		c := openaimodel.Config{Name: "m", BaseURL: "http://x.test", Provider: provider}
		if provider == "nothing" {
			c.Profile = &nothing
		}
		return c
	}
	providers := append(slices.Sorted(maps.Keys(maps.Collect(allProviders()))), "nothing")
	var told strings.Builder
	for _, r := range requests() {
		fmt.Fprintf(&told, "== %s\n", r.name)
		by := map[string][]string{}
		var order []string
		add := func(name, text string) {
			text = strings.ReplaceAll(text, name+" m:", "PROVIDER m:")
			if by[text] == nil {
				order = append(order, text)
			}
			by[text] = append(by[text], name)
		}
		for _, provider := range providers {
			m, err := openaimodel.New(config(provider))
			require.NoError(t, err)
			body, err := openaimodel.RequestBody(m, r.req, false)
			add(provider, sent(body, err))
			asked := `"stream":true,"stream_options":{"include_usage":true},`
			if provider == "mistral" {
				asked = `"stream":true,`
			}
			streamed, again := openaimodel.RequestBody(m, r.req, true)
			sameButStreamed(t, body, streamed, asked, r.req.Settings)
			require.Equal(t, err, again)
		}
		for _, text := range order {
			fmt.Fprintf(&told, "%s\n  %s\n", strings.Join(by[text], ", "), text)
		}
		by, order = map[string][]string{}, nil
		for _, provider := range providers {
			m, err := openaimodel.NewResponses(config(provider))
			require.NoError(t, err)
			body, err := openaimodel.ResponsesBody(m, r.req, false)
			add(provider, sent(body, err))
			streamed, again := openaimodel.ResponsesBody(m, r.req, true)
			sameButStreamed(t, body, streamed, `"stream":true,`, r.req.Settings)
			require.Equal(t, err, again)
		}
		for _, text := range order {
			fmt.Fprintf(&told, "responses of %s\n  %s\n", strings.Join(by[text], ", "), text)
		}
	}
	golden(t, "settings.txt", told.String())
}

// allProviders returns the providers of Chat Completions, and one that is not known.
func allProviders() func(yield func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		for name := range model.Providers() {
			if name != "openai-responses" && !yield(name, true) {
				return
			}
		}
		yield("unknown", true)
	}
}

// What each provider is known to do is one text, and so is what a model that is opened by name asks of the environment.
func TestEveryProvider(t *testing.T) {
	var told strings.Builder
	for _, name := range slices.Sorted(maps.Keys(maps.Collect(allProviders()))) {
		p := openaimodel.ProfileFor(name, "http://x.test")
		fmt.Fprintf(&told, "== %s\n%s\n", name, jsonOf(t, p))
		m, err := openaimodel.New(openaimodel.Config{Name: "m", BaseURL: "http://x.test", Provider: name, ContextWindow: 1})
		require.NoError(t, err)
		fmt.Fprintf(&told, "chat %s levels %q\n", jsonOf(t, m.Info()), m.ThinkingLevels())
		r, err := openaimodel.NewResponses(openaimodel.Config{Name: "m", BaseURL: "http://x.test", Provider: name})
		require.NoError(t, err)
		fmt.Fprintf(&told, "responses %s levels %q\n", jsonOf(t, r.Info()), r.ThinkingLevels())
		if name == "unknown" {
			continue
		}
		for _, key := range []string{"", testKey} {
			var asked []string
			opened, err := model.OpenWith(t.Context(), name+":x", model.OpenOptions{APIKey: key, Getenv: func(variable string) string {
				asked = append(asked, variable)
				return ""
			}})
			if err != nil {
				fmt.Fprintf(&told, "without variables %q: %v\n", asked, err)
			} else {
				fmt.Fprintf(&told, "without variables %q: %s\n", asked, opened)
			}
		}
		var asked []string
		opened, err := model.OpenWith(t.Context(), name+":x", model.OpenOptions{Getenv: func(variable string) string {
			asked = append(asked, variable)
			switch {
			case strings.HasSuffix(variable, "_URL") || strings.HasSuffix(variable, "ENDPOINT") || strings.HasSuffix(variable, "HOST"):
				return "https://" + strings.ToLower(strings.ReplaceAll(variable, "_", "-")) + ".test"
			}
			return strings.ToLower(strings.ReplaceAll(variable, "_", "-"))
		}})
		require.NoError(t, err)
		fmt.Fprintf(&told, "with variables %q: %s\n", asked, opened)
	}
	golden(t, "providers.txt", told.String())
}
