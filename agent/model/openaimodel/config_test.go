// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

func TestBaseURLForms(t *testing.T) {
	e := serve(t, answer{Body: dialects[0].text.plain})
	for suffix, want := range map[string]string{
		"": "/v1/chat/completions", "/": "/v1/chat/completions", "/v1": "/v1/chat/completions", "/v1/": "/v1/chat/completions",
		"/api/v3": "/api/v3/chat/completions", "/v1/chat/completions": "/v1/chat/completions", "/openai?api-version=1": "/openai/chat/completions?api-version=1",
	} {
		_, err := newModel(t, e.URL+suffix, "").Generate(context.Background(), hello(), nil)
		require.NoError(t, err)
		require.Equal(t, want, e.Requests[len(e.Requests)-1].URL.String(), suffix)
	}
	m, err := openaimodel.New(openaimodel.Config{Name: "gpt-5"})
	require.NoError(t, err)
	require.Equal(t, "openai gpt-5 at https://api.openai.com/v1", m.String())
}

func TestHeadersAreSent(t *testing.T) {
	e := serve(t, answer{Body: dialects[0].text.plain})
	m := newModel(t, e.URL, "openai", func(c *openaimodel.Config) {
		c.Organization, c.Project = "org", "proj"
		c.Settings = &model.Settings{ExtraHeaders: map[string]string{"X-Title": "default", "X-Default": "d"}}
	})
	req := hello()
	req.Settings = &model.Settings{ExtraHeaders: map[string]string{"x-title": "request"}}
	_, err := m.Generate(context.Background(), req, nil)
	require.NoError(t, err)
	h := e.Requests[0].Header
	require.Equal(t, "Bearer "+testKey, h.Get("Authorization"))
	require.Equal(t, "org", h.Get("OpenAI-Organization"))
	require.Equal(t, "proj", h.Get("OpenAI-Project"))
	require.Equal(t, "application/json", h.Get("Content-Type"))
	require.Equal(t, "d", h.Get("X-Default"))

	for name, value := range map[string]string{"": "x", "A B": "x", "A": "x\ny", "A:": "x"} {
		req.Settings.ExtraHeaders = map[string]string{name: value}
		_, err := m.Generate(context.Background(), req, nil)
		require.ErrorContains(t, err, fmt.Sprintf("ExtraHeaders[%q]", name))
	}
	require.Len(t, e.Requests, 1)

	m = newModel(t, e.URL, "", func(c *openaimodel.Config) { c.APIKey = "" })
	_, err = m.Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.NotContains(t, e.Requests[1].Header, "Authorization")
}

func TestMissingKeyIsMentionedInTheError(t *testing.T) {
	m := newModel(t, serve(t, answer{Status: 401, Body: `{"error":{"message":"unauthorized"}}`}).URL, "", func(c *openaimodel.Config) { c.APIKey = "" })
	_, err := m.Generate(context.Background(), hello(), nil)
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "unauthorized (Config.APIKey is not set)")
}

func TestKeyIsNeverShown(t *testing.T) {
	config := openaimodel.Config{Name: "m", BaseURL: "http://user:" + testKey + "@host.test/v1", APIKey: testKey}
	m, err := openaimodel.New(config)
	require.NoError(t, err)
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("x", "config", config, "model", m, "any", []any{config, &config, m})
	}
	holder := struct {
		C openaimodel.Config
		m *openaimodel.Model
		M openaimodel.Model
	}{config, m, *m} //nolint:govet // copied to be printed
	for _, v := range []any{config, &config, m, *m, holder, &holder, []any{m, config}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb+"\n", v)
		}
	}
	for _, v := range []any{config, m} {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		log.Write(data)
	}
	require.NotContains(t, log.String(), testKey)
	require.NotContains(t, log.String(), fmt.Sprintf("%x", testKey))
	require.Contains(t, log.String(), "openaimodel.Config(m at http://host.test/v1, key set)")

	_, err = openaimodel.New(openaimodel.Config{Name: "m", APIKey: testKey + "\n"})
	require.ErrorContains(t, err, "newline")
	require.NotContains(t, err.Error(), testKey)
	_, err = openaimodel.New(openaimodel.Config{Name: "m", BaseURL: "ftp://u:" + testKey + "@x"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), testKey)
	_, err = openaimodel.New(openaimodel.Config{Name: "m", BaseURL: "http://u:" + testKey + "@x\x7f"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), testKey)
}

func TestNewReportsAllProblemsAtOnce(t *testing.T) {
	_, err := openaimodel.New(openaimodel.Config{
		BaseURL: "localhost:8080", ContextWindow: -1, Retry: model.RetryPolicy{Attempts: -1},
		Profile: &openaimodel.Profile{}, Project: "a\nb", Settings: &model.Settings{ExtraHeaders: map[string]string{"A B": "x"}},
	})
	for _, want := range []string{"Config.Name", "Config.BaseURL", "http://", "Config.ContextWindow", "Config.Retry.Attempts is negative", "Config.Project", `Config.Settings: the setting ExtraHeaders["A B"]`, "Profile.MaxTokensField"} {
		require.ErrorContains(t, err, want)
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		require.True(t, strings.HasPrefix(line, "openaimodel: "), line)
	}
	for want, change := range map[string]func(*openaimodel.Profile){
		"SeedField":          func(p *openaimodel.Profile) { p.SeedField = "" },
		"RequiredToolChoice": func(p *openaimodel.Profile) { p.RequiredToolChoice = "must" },
		"CallIDLength is 3":  func(p *openaimodel.Profile) { p.CallIDLength = 3 },
		"CallIDLength is 33": func(p *openaimodel.Profile) { p.CallIDLength = 33 },
		"KeyHeader":          func(p *openaimodel.Profile) { p.KeyHeader = "a b" },
		"SystemRole":         func(p *openaimodel.Profile) { p.SystemRole = "boss" },
		"SendReasoning":      func(p *openaimodel.Profile) { p.SendReasoning = "sometimes" },
		"ReasoningField":     func(p *openaimodel.Profile) { p.SendReasoning, p.ReasoningField = "always", "x" },
		`Thinking["high"]`:   func(p *openaimodel.Profile) { p.Thinking["high"] = json.RawMessage("1") },
	} {
		p := openaimodel.ProfileFor("", "")
		change(&p)
		_, err := openaimodel.New(openaimodel.Config{Name: "m", Profile: &p})
		require.ErrorContains(t, err, want)
	}
}

func TestProfileForProviderOrAddress(t *testing.T) {
	for address, want := range map[string]string{
		"": "openai", "https://api.openai.com/v1": "openai", "https://x.openai.azure.com/openai/v1": "azure",
		"https://openrouter.ai/api/v1": "openrouter", "https://api.deepseek.com": "deepseek", "http://localhost:11434": "ollama",
		"http://10.0.0.7:11434/v1": "ollama", "https://ollama.com/v1": "ollama", "http://127.0.0.1:1234/v1": "lmstudio",
		"http://vllm:8000/v1": "vllm", "http://llama-cpp.lan:8080": "llamacpp", "http://lm-studio:1234": "lmstudio",
		"https://x.services.ai.azure.com/openai/v1": "azure", "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1": "bedrock",
		"https://api.mistral.ai": "mistral", "https://api.x.ai/v1": "xai", "https://api.together.ai/v1": "together",
		"http://localhost:8080": "", "https://api.groq.com/openai/v1": "groq", "https://s3.amazonaws.com": "", "http://mistral.lan:8000": "", "https://max.ai": "", "https://notopenai.com": "", "https://api.example.com:1234": "", "::": "",
	} {
		require.Equal(t, want, openaimodel.ProfileFor("", address).Provider, address)
	}
	for address, want := range map[string]string{
		"http://localhost:1234": "lmstudio", "http://host.docker.internal:1234": "lmstudio", "http://[::1]:1234": "lmstudio", "http://10.1.2.3:1234": "lmstudio", "http://192.168.1.1:1234": "lmstudio",
		"http://8.8.8.8:1234": "", "http://box:1234": "", "http://localhost:1235": "", "http://8.8.8.8:11434": "ollama", "http://8.8.8.8:11435": "",
		"https://openai.com": "openai", "https://xopenai.com": "", "https://openai.com.evil.test": "", "https://API.OPENAI.COM": "openai", "https://bedrock-runtime.amazonaws.com.evil.test": "", "https://bedrock-runtime-fips.us-east-1.amazonaws.com": "bedrock", "https://my-bedrock-runtime.amazonaws.com": "",
		"http://ollama": "ollama", "http://OLLAMA.lan": "ollama", "http://llama_cpp": "llamacpp", "http://lm-studio.lan:80": "lmstudio", "http://v-l-l-m": "vllm", "http://my.vllm": "", "http://vllm2": "", "http://%zz": "",
	} {
		require.Equal(t, want, openaimodel.ProfileFor("", address).Provider, address)
	}
	require.Equal(t, "vllm", openaimodel.ProfileFor("vllm", "https://api.openai.com").Provider)

	m := newModel(t, "http://127.0.0.1:11434", "", func(c *openaimodel.Config) { c.ContextWindow = 4096 })
	require.Equal(t, model.Info{Provider: "ollama", Name: "test-model", NativeOutput: true, NoForcedCalls: true, Media: []string{"image"}, ContextWindow: 4096}, m.Info())
	m.Info().Media[0] = "changed"
	require.Equal(t, []string{"image"}, m.Info().Media)
	require.Equal(t, "mine", newModel(t, "http://127.0.0.1:11434", "mine").Info().Provider)
	require.Equal(t, "127.0.0.1:8080", newModel(t, "http://127.0.0.1:8080", "").Info().Provider)
	require.Equal(t, "openai", newModel(t, "", "").Info().Provider)
}

// row is a row of the table in the package documentation: name, output by schema, named tools, levels of thinking, media.
var row = regexp.MustCompile(`(?m)^//\t([a-z]+) .* (yes|no) +(yes|no) +\S+(?: \S+)* {2,}(\S+(?: \S+)*) {2,}(\S.*)$`)

func TestDocumentationListsEveryProvider(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var listed, want []string
	for _, m := range row.FindAllStringSubmatch(strings.ReplaceAll(string(doc), "\r\n", "\n"), -1) {
		listed = append(listed, strings.Join(m[1:], "; "))
	}
	answer := map[bool]string{true: "yes", false: "no"}
	for name := range model.Providers() {
		if name == "openai-responses" { // another protocol
			continue
		}
		p := openaimodel.ProfileFor(name, "")
		levels := slices.DeleteFunc([]string{"off", "minimal", "low", "medium", "high"}, func(l string) bool { return p.Thinking[l] == nil })
		thinking := strings.ReplaceAll(cmp.Or(strings.Join(levels, ", "), "none"), "minimal, low, medium, high", "minimal … high")
		media := strings.ReplaceAll(cmp.Or(strings.Join(p.Media, ", "), "none"), "application/pdf", "PDF")
		want = append(want, strings.Join([]string{name, answer[p.NativeOutput], answer[p.NamedToolChoice], thinking, media}, "; "))
	}
	require.ElementsMatch(t, want, listed, "the table in doc.go")
}

func TestProfileCanBeChanged(t *testing.T) {
	p := openaimodel.ProfileFor("", "http://x.test")
	p.SystemRole, p.MaxTokensField, p.StreamUsage = "developer", "max_completion_tokens", false
	m := newModel(t, "http://x.test", "", func(c *openaimodel.Config) { c.Profile = &p })
	p.Thinking["low"] = nil // not the model's copy
	b, err := openaimodel.RequestBody(m, &model.Request{Instructions: "x", Settings: &model.Settings{MaxTokens: 5, Thinking: "low"}}, true)
	require.NoError(t, err)
	require.Equal(t, `{"model":"test-model","stream":true,"max_completion_tokens":5,"reasoning_effort":"low","messages":[{"role":"developer","content":"x"}]}`, string(b))
}

func TestInvalidRequestIsNotAnAPIError(t *testing.T) {
	req := hello()
	req.Settings = &model.Settings{MaxTokens: -1}
	_, err := newModel(t, "http://x.test", "").Generate(context.Background(), req, nil)
	var api *model.APIError
	require.False(t, errors.As(err, &api))
}
