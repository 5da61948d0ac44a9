// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// environment makes a Getenv from pairs.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func open(t testing.TB, ref string, o model.OpenOptions, env ...string) (*openaimodel.Model, error) {
	t.Helper()
	o.Getenv = environment(env...)
	m, err := model.OpenWith(t.Context(), ref, o)
	if err != nil {
		require.NotContains(t, err.Error(), testKey)
		return nil, err
	}
	return m.(*openaimodel.Model), nil
}

func TestModelUsesItsProvidersAddress(t *testing.T) {
	for _, test := range []struct {
		ref, want string
		env       []string
	}{
		{"openai:gpt-5-mini", "openai gpt-5-mini at https://api.openai.com/v1", []string{"OPENAI_API_KEY", testKey}},
		// For another address, the address or the model name decides the provider.
		{"openai:x", "localhost:8000 x at http://localhost:8000/v1", []string{"OPENAI_BASE_URL", "http://localhost:8000"}},
		{"openai:qwen3:8b", "ollama qwen3:8b at http://localhost:11434/v1", []string{"OPENAI_BASE_URL", "http://localhost:11434"}},
		{"openai:gpt-oss:20b", "gateway.test gpt-oss:20b at https://gateway.test/v1", []string{"OPENAI_BASE_URL", "https://gateway.test", "OPENAI_API_KEY", testKey}},
		{"openai:gpt-5-mini", "openai gpt-5-mini at https://gateway.test/v1", []string{"OPENAI_BASE_URL", "https://gateway.test", "OPENAI_API_KEY", testKey}},
		{"openai:o3", "openai o3 at https://gateway.test/v1", []string{"OPENAI_BASE_URL", "https://gateway.test", "OPENAI_API_KEY", testKey}},
		{"openrouter:anthropic/claude-sonnet-4.5", "openrouter anthropic/claude-sonnet-4.5 at https://openrouter.ai/api/v1", []string{"OPENROUTER_API_KEY", testKey}},
		{"groq:openai/gpt-oss-20b", "groq openai/gpt-oss-20b at https://api.groq.com/openai/v1", []string{"GROQ_API_KEY", testKey}},
		{"deepseek:deepseek-chat", "deepseek deepseek-chat at https://api.deepseek.com/v1", []string{"DEEPSEEK_API_KEY", testKey}},
		{"mistral:mistral-large-latest", "mistral mistral-large-latest at https://api.mistral.ai/v1", []string{"MISTRAL_API_KEY", testKey}},
		{"mistral:x", "mistral x at https://proxy.test/m", []string{"MISTRAL_API_KEY", testKey, "MISTRAL_BASE_URL", "https://proxy.test/m/"}},
		{"xai:grok-4", "xai grok-4 at https://api.x.ai/v1", []string{"XAI_API_KEY", testKey}},
		{"together:Qwen/Qwen3", "together Qwen/Qwen3 at https://api.together.xyz/v1", []string{"TOGETHER_API_KEY", testKey}},
		{"fireworks:accounts/fireworks/models/x", "fireworks accounts/fireworks/models/x at https://api.fireworks.ai/inference/v1", []string{"FIREWORKS_API_KEY", testKey}},
		{"cerebras:gpt-oss-120b", "cerebras gpt-oss-120b at https://api.cerebras.ai/v1", []string{"CEREBRAS_API_KEY", testKey}},
		{"nvidia:meta/llama", "nvidia meta/llama at https://integrate.api.nvidia.com/v1", []string{"NVIDIA_API_KEY", testKey}},
		{"huggingface:a/b:groq", "huggingface a/b:groq at https://router.huggingface.co/v1", []string{"HF_TOKEN", testKey}},
		{"azure:my-deployment", "azure my-deployment at https://r.openai.azure.com/openai/v1", []string{"AZURE_OPENAI_API_KEY", testKey, "AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/"}},
		{"azure:d", "azure d at https://r.openai.azure.com/openai/v1", []string{"AZURE_OPENAI_API_KEY", testKey, "AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/openai/v1/"}},
		{"bedrock:openai.gpt-oss-20b-1:0", "bedrock openai.gpt-oss-20b-1:0 at https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", []string{"AWS_BEARER_TOKEN_BEDROCK", testKey, "AWS_REGION", "us-west-2"}},
		{"bedrock:x", "bedrock x at https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1", []string{"AWS_BEARER_TOKEN_BEDROCK", testKey, "AWS_DEFAULT_REGION", "eu-central-1"}},
		{"ollama:qwen3:8b", "ollama qwen3:8b at http://127.0.0.1:11434/v1", nil},
		{"ollama:gpt-oss:120b", "ollama gpt-oss:120b at https://ollama.com:443/v1", []string{"OLLAMA_HOST", "https://ollama.com", "OLLAMA_API_KEY", testKey}},
		{"lmstudio:x", "lmstudio x at http://127.0.0.1:1234/v1", nil},
		{"llamacpp:x", "llamacpp x at http://127.0.0.1:8080/v1", nil},
		{"vllm:Qwen/Qwen3-8B", "vllm Qwen/Qwen3-8B at http://127.0.0.1:8000/v1", nil},
		{"vllm:x", "vllm x at http://gpu:9000/v1", []string{"VLLM_BASE_URL", "http://gpu:9000"}},
	} {
		m, err := open(t, test.ref, model.OpenOptions{}, test.env...)
		require.NoError(t, err, test.ref)
		require.Equal(t, test.want, m.String())
	}
}

func TestMissingVariablesAreNamed(t *testing.T) {
	for _, test := range []struct {
		ref, want string
		env       []string
	}{
		{"groq:x", "openaimodel: groq: no API key: set GROQ_API_KEY, or OpenOptions.APIKey: authentication failed", nil},
		{"openai:x", "openaimodel: openai: no API key: set OPENAI_API_KEY, or OpenOptions.APIKey: authentication failed", nil},
		{"huggingface:x", "openaimodel: huggingface: no API key: set HF_TOKEN, or OpenOptions.APIKey: authentication failed", nil},
		{"azure:x", "openaimodel: azure: no API key: set AZURE_OPENAI_API_KEY, or OpenOptions.APIKey: authentication failed", []string{"AZURE_OPENAI_ENDPOINT", "https://x.test"}},
		{"azure:x", "openaimodel: azure: no endpoint: set AZURE_OPENAI_ENDPOINT to https://RESOURCE.openai.azure.com, or OpenOptions.BaseURL", []string{"AZURE_OPENAI_API_KEY", testKey}},
		{"azure:x", "openaimodel: azure: AZURE_OPENAI_ENDPOINT is not a URL; set it to https://RESOURCE.openai.azure.com", []string{"AZURE_OPENAI_API_KEY", testKey, "AZURE_OPENAI_ENDPOINT", "x.test"}},
		{"bedrock:x", "openaimodel: bedrock: no region: set AWS_REGION, such as us-west-2, or OpenOptions.BaseURL", []string{"AWS_BEARER_TOKEN_BEDROCK", testKey}},
		{"bedrock:x", `openaimodel: bedrock: AWS_REGION "evil.test/#" is not a region`, []string{"AWS_BEARER_TOKEN_BEDROCK", testKey, "AWS_REGION", "evil.test/#"}},
		{"ollama:x", `openaimodel: ollama: OLLAMA_HOST "ftp://box" is not an address`, []string{"OLLAMA_HOST", "ftp://box"}},
		{"openai:x", "openaimodel: Config.APIKey contains white space or other invalid characters; does it end in a newline?", []string{"OPENAI_API_KEY", testKey + "\n"}},
	} {
		_, err := open(t, test.ref, model.OpenOptions{}, test.env...)
		require.EqualError(t, err, `model: opening "`+test.ref+`": `+test.want)
		if strings.Contains(test.want, "no API key") {
			require.ErrorIs(t, err, model.ErrAuth)
		}
	}
}

func TestOptionsOverrideTheEnvironment(t *testing.T) {
	e := serve(t, answer{Body: dialects[0].text.plain})
	requests := 0
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		requests++
		return http.DefaultTransport.RoundTrip(r)
	})}
	temperature := 0.5
	m, err := open(t, "groq:qwen", model.OpenOptions{
		APIKey: "gsk-from-options", BaseURL: e.URL + "/groq", HTTPClient: client, Settings: &model.Settings{Temperature: &temperature},
	}, "GROQ_API_KEY", testKey, "GROQ_BASE_URL", "http://nowhere.test")
	require.NoError(t, err)
	_, err = m.Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, requests)
	require.Equal(t, "/groq/chat/completions", e.Requests[0].URL.Path)
	require.Equal(t, "Bearer gsk-from-options", e.Requests[0].Header.Get("Authorization"))
	require.Contains(t, e.Bodies[0], `"temperature":0.5`)
}

func TestRegionsOfBedrock(t *testing.T) {
	for region, valid := range map[string]bool{
		"a": true, "z": true, "0": true, "9": true, "-": true, "us-gov-west-1": true, "`": false, "{": false, "/": false, ":": false, "A": false, "a.b": false, "é": false,
	} {
		m, err := open(t, "bedrock:x", model.OpenOptions{}, "AWS_BEARER_TOKEN_BEDROCK", testKey, "AWS_REGION", region)
		if valid {
			require.NoError(t, err)
			require.Equal(t, "bedrock x at https://bedrock-runtime."+region+".amazonaws.com/openai/v1", m.String())
			continue
		}
		require.ErrorContains(t, err, "is not a region", region)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOllamaHostForms(t *testing.T) {
	for host, want := range map[string]string{
		"": "http://127.0.0.1:11434/v1", "0.0.0.0": "http://127.0.0.1:11434/v1", "0.0.0.0:8080": "http://127.0.0.1:8080/v1",
		"[::]:80": "http://127.0.0.1:80/v1", ":5000": "http://127.0.0.1:5000/v1", "box:1234": "http://box:1234/v1", "http://box": "http://box:11434/v1",
		"https://box.example/": "https://box.example:443/v1", "[::1]:5": "http://[::1]:5/v1", " box ": "http://box:11434/v1",
		"https://box.example/ollama/v1": "https://box.example:443/ollama/v1",
	} {
		m, err := open(t, "ollama:x", model.OpenOptions{}, "OLLAMA_HOST", host)
		require.NoError(t, err, host)
		require.Equal(t, "ollama x at "+want, m.String(), host)
	}
}

func TestKeyHeaderOfTheProvider(t *testing.T) {
	e := serve(t, answer{Status: 401, Body: `{"error":{"message":"wrong key ` + testKey + `"}}`})
	m := newModel(t, e.URL, "azure")
	_, err := m.Generate(context.Background(), hello(), nil)
	require.ErrorIs(t, err, model.ErrAuth)
	require.NotContains(t, err.Error(), testKey)
	require.Equal(t, testKey, e.Requests[0].Header.Get("Api-Key"))
	require.NotContains(t, e.Requests[0].Header, "Authorization")

	m = newModel(t, e.URL, "azure", func(c *openaimodel.Config) { c.APIKey = "" })
	_, err = m.Generate(context.Background(), hello(), nil)
	require.ErrorContains(t, err, "Config.APIKey is not set")
	require.NotContains(t, e.Requests[1].Header, "Api-Key")
}

func TestHistoryCallIDsFitTheProvider(t *testing.T) {
	history := func() []*model.Message {
		return []*model.Message{
			model.UserText("hi"),
			model.Response(model.ToolCall("call_from_elsewhere", "f", "{}"), model.ToolCall("AbCdEf019", "f", "{}"), model.ToolCall("", "f", "{}")),
			request(model.ToolReturn("call_from_elsewhere", "f", "one"), model.ToolReturn("AbCdEf019", "f", "two"), model.ToolReturn("", "f", "three")),
		}
	}
	var sent []struct {
		ToolCalls []struct{ ID string } `json:"tool_calls"`
		ToolCall  string                `json:"tool_call_id"`
	}
	wire := messages(t, "mistral", history()...)
	require.NoError(t, json.Unmarshal([]byte("["+wire+"]"), &sent))
	require.Len(t, sent, 5)
	seen := map[string]bool{}
	for i, call := range sent[1].ToolCalls {
		require.Equal(t, call.ID, sent[2+i].ToolCall, "a call and its result belong together")
		require.Regexp(t, "^[a-zA-Z0-9]{9}$", call.ID)
		seen[call.ID] = true
	}
	require.Len(t, seen, 3)
	require.Equal(t, "AbCdEf019", sent[1].ToolCalls[1].ID, "the provider's own are unchanged")
	require.Equal(t, wire, messages(t, "mistral", history()...))
	require.Contains(t, messages(t, "openai", history()...), `"tool_call_id":"call_from_elsewhere"`)
}

func TestAssistantAfterTools(t *testing.T) {
	history := []*model.Message{
		model.UserText("hi"), model.Response(model.ToolCall("aaaaaaaaa", "f", "{}"), model.ToolCall("bbbbbbbbb", "f", "{}")),
		request(model.ToolReturn("aaaaaaaaa", "f", "one"), model.ToolReturn("bbbbbbbbb", "f", "two"), model.User("and?")),
		model.Response(model.Text("fine")), model.UserText("more"),
	}
	const between = `"content":"two"},{"role":"assistant","content":"OK."},{"role":"user","content":"and?"}`
	got := messages(t, "mistral", history...)
	require.Contains(t, got, between)
	require.Equal(t, 1, strings.Count(got, `"OK."`))
	require.NotContains(t, messages(t, "mistral", history[:2]...), "OK.")
	require.NotContains(t, messages(t, "openai", history...), "OK.")
	require.Contains(t, messages(t, "mistral", history[0], history[1], request(model.ToolReturn("aaaaaaaaa", "f", "one"), model.System("new rules"))),
		`{"role":"assistant","content":"OK."},{"role":"system","content":"new rules"}`)
}

func TestMistralFieldNames(t *testing.T) {
	req := &model.Request{
		Messages: []*model.Message{model.UserText("hi")}, Tools: []model.ToolDef{{Name: "f"}}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "f"},
		Settings: &model.Settings{Seed: ptr(int64(7)), MaxTokens: 5, Thinking: "high", ParallelToolCalls: ptr(false)},
	}
	b, err := openaimodel.RequestBody(newModel(t, "http://x.test", "mistral"), req, true)
	require.NoError(t, err)
	require.Equal(t, `{"model":"test-model","stream":true,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}],`+
		`"tool_choice":"any","max_tokens":5,"random_seed":7,"parallel_tool_calls":false,"reasoning_effort":"high","messages":[{"role":"user","content":"hi"}]}`, string(b))
}

func TestForModelNarrowsTheProfile(t *testing.T) {
	temperature := 0.5
	refused := map[string]*model.Settings{
		"temperature": {Temperature: &temperature}, "top_p": {TopP: &temperature}, "stop": {Stop: []string{"x"}},
		"off": {Thinking: "off"}, "minimal": {Thinking: "minimal"}, "low": {Thinking: "low"}, "medium": {Thinking: "medium"}, "high": {Thinking: "high"},
	}
	for ref, want := range map[string]string{
		"openai:gpt-5": "off stop temperature top_p", "openai:gpt-5-mini-2025-08-07": "off stop temperature top_p",
		"openai:o3": "minimal off stop temperature top_p", "openai:o4-mini": "minimal off stop temperature top_p",
		"openai:gpt-5.1": "minimal", "openai:gpt-5.6-sol": "minimal", "openai:gpt-5.3-chat-latest": "high low minimal off stop temperature top_p",
		"openai:gpt-6-astra": "minimal off temperature top_p", "openai:gpt-6-luna": "minimal temperature top_p",
		"openai:gpt-4.1-mini": "high low medium minimal", "openai:gpt-4o": "high low medium minimal", "openai:chatgpt-4o-latest": "high low medium minimal",
		"openai:gpt-5-chat-latest": "high low medium minimal",
		"openai:something-new":     "", "openai:ft:gpt-4o:me::x": "",
		"azure:gpt-5": "", "openrouter:gpt-5": "", // names of deployments, and a router that handles it
		"xai:grok-4-0709": "high low medium minimal off stop", "xai:grok-4-fast-non-reasoning": "high low medium minimal",
		"xai:grok-4.3": "minimal stop", "xai:grok-3-mini": "medium minimal off stop", "xai:grok-3": "high low medium minimal",
		"xai:grok-4.20-reasoning": "high low medium minimal off stop", "xai:grok-code-fast-1": "high low medium minimal off stop", "xai:grok-9": "minimal",
	} {
		provider, name, _ := strings.Cut(ref, ":")
		m := newModel(t, "http://x.test", provider, func(c *openaimodel.Config) { c.Name = name })
		var got []string
		for what, settings := range refused {
			if _, err := openaimodel.RequestBody(m, &model.Request{Settings: settings}, false); err != nil {
				require.ErrorIs(t, err, model.ErrUnsupported)
				got = append(got, what)
			}
		}
		require.ElementsMatch(t, strings.Fields(want), got, ref)
	}

	// Nothing is sent to a model that cannot think.
	m := newModel(t, "http://x.test", "openai", func(c *openaimodel.Config) { c.Name = "gpt-4.1" })
	b, err := openaimodel.RequestBody(m, &model.Request{Settings: &model.Settings{Thinking: "off"}}, false)
	require.NoError(t, err)
	require.Equal(t, `{"model":"gpt-4.1","messages":[]}`, string(b))
	// A profile set by the caller is not narrowed.
	p := openaimodel.ProfileFor("openai", "")
	m = newModel(t, "http://x.test", "openai", func(c *openaimodel.Config) { c.Name, c.Profile = "gpt-5", &p })
	b, err = openaimodel.RequestBody(m, &model.Request{Settings: &model.Settings{Temperature: &temperature}}, false)
	require.NoError(t, err)
	require.Contains(t, string(b), `"temperature":0.5`)
	require.Empty(t, p.Unsupported)
	require.Contains(t, p.ForModel("gpt-5").Unsupported, "temperature")
	require.Contains(t, p.Thinking, "off", "ForModel changes a copy")
}
