// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
)

func TestBaseURLForms(t *testing.T) {
	e := serve(t, answer{Body: events(say("ok")...)})
	for suffix, want := range map[string]string{
		"": "/v1/messages", "/": "/v1/messages", "/v1": "/v1/messages", "/v1/": "/v1/messages", "/v1/messages": "/v1/messages",
		"/anthropic": "/anthropic/v1/messages", "/anthropic/v1/": "/anthropic/v1/messages", "/a%20b": "/a%20b/v1/messages",
	} {
		_, err := newModel(t, e.URL+suffix).Generate(context.Background(), hello(), nil)
		require.NoError(t, err)
		require.Equal(t, want, e.Requests[len(e.Requests)-1].URL.String(), suffix)
	}
	require.Equal(t, "anthropic claude-haiku-4-5 at https://api.anthropic.com", newModel(t, "").String())
}

func TestHeadersAreSent(t *testing.T) {
	e := serve(t, answer{Body: events(say("ok")...)})
	m := newModel(t, e.URL, func(c *anthropicmodel.Config) {
		c.Betas = []string{"one", "two"}
		c.Settings = &model.Settings{ExtraHeaders: map[string]string{"X-Title": "default", "X-Default": "d"}}
	})
	req := hello()
	req.Settings = &model.Settings{ExtraHeaders: map[string]string{"X-Title": "request", "Anthropic-Beta": "three"}}
	_, err := m.Generate(context.Background(), req, nil)
	require.NoError(t, err)
	h := e.Requests[0].Header
	require.Equal(t, testKey, h.Get("X-Api-Key"))
	require.NotContains(t, h, "Authorization")
	require.Equal(t, "2023-06-01", h.Get("Anthropic-Version"))
	require.Equal(t, "one,two,three", h.Get("Anthropic-Beta"))
	require.Equal(t, "application/json", h.Get("Content-Type"))
	require.Equal(t, "request", h.Get("X-Title"))
	require.Equal(t, "d", h.Get("X-Default"))

	m = newModel(t, e.URL, func(c *anthropicmodel.Config) { c.APIKey, c.AuthToken = "", "token" })
	_, err = m.Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "Bearer token", e.Requests[1].Header.Get("Authorization"))
	require.NotContains(t, e.Requests[1].Header, "X-Api-Key")
}

// By default the SDK reads keys, addresses and headers from the environment.
func TestNewReadsNothingFromTheEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "env", "ANTHROPIC_AUTH_TOKEN": "env", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_PROFILE": "gone",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Env: 1",
	} {
		t.Setenv(name, value)
	}
	e := serve(t, answer{Body: events(say("ok")...)})
	_, err := newModel(t, e.URL, func(c *anthropicmodel.Config) { c.APIKey = "" }).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	for _, name := range []string{"X-Api-Key", "Authorization", "X-Env"} {
		require.NotContains(t, e.Requests[0].Header, name)
	}
	require.Contains(t, newModel(t, "").String(), "https://api.anthropic.com")
}

func TestKeysAreNeverShown(t *testing.T) {
	const token = "token-0123456789"
	config := anthropicmodel.Config{Name: "m", BaseURL: "http://user:" + testKey + "@host.test/v1", APIKey: testKey, AuthToken: token}
	m, err := anthropicmodel.New(config)
	require.NoError(t, err)
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("x", "config", config, "model", m, "any", []any{config, &config, m})
	}
	holder := struct {
		C anthropicmodel.Config
		m *anthropicmodel.Model
		M anthropicmodel.Model
	}{config, m, *m} //nolint:govet // copied to be printed
	for _, v := range []any{config, &config, m, *m, holder, &holder, []any{m, config}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb+"\n", v)
		}
	}
	data, err := json.Marshal(config)
	require.NoError(t, err)
	log.Write(data)
	for _, key := range []string{testKey, token} {
		require.NotContains(t, log.String(), key)
		require.NotContains(t, log.String(), fmt.Sprintf("%x", key))
	}
	require.Contains(t, log.String(), "anthropicmodel.Config(m at http://host.test, key set)")

	for _, config := range []anthropicmodel.Config{
		{Name: "m", APIKey: testKey + "\n"}, {Name: "m", AuthToken: testKey + " "}, {Name: "m", BaseURL: "ftp://u:" + testKey + "@x"},
		{Name: "m", BaseURL: "http://u:" + testKey + "@x\x7f"}, {Name: "m", BaseURL: "http://u:" + testKey + "@x?a=b"},
	} {
		_, err = anthropicmodel.New(config)
		require.Error(t, err)
		require.NotContains(t, err.Error(), testKey)
	}
}

func TestNewReportsAllProblemsAtOnce(t *testing.T) {
	_, err := anthropicmodel.New(anthropicmodel.Config{
		BaseURL: "localhost:8080", ContextWindow: -1, Retry: model.RetryPolicy{Attempts: -1}, Cache: "sometimes", CacheTTL: "2h",
		Betas: []string{"a\nb"}, ServerTools: []json.RawMessage{json.RawMessage(`[]`)},
		Profile: &anthropicmodel.Profile{Sampling: "all", ForcedTools: "maybe", ContextWindow: -1, Media: []string{"audio"}, MediaURLs: []string{"text/plain"},
			Thinking: map[string]anthropicmodel.Thinking{"a": {Type: "deep"}, "b": {Type: "enabled", Budget: 1000}, "c": {Type: "adaptive", Budget: 2000}}},
	})
	for _, want := range []string{
		"Config.Name", "Config.BaseURL", "http://", "Config.ContextWindow", "Config.Retry.Attempts is negative", "Config.Cache is", "Config.CacheTTL", "Config.Betas",
		"Config.ServerTools[0]", "Profile.MaxTokens", "Profile.Sampling", "Profile.ForcedTools", "Profile.ContextWindow", `Thinking["a"]`, `Thinking["b"]`,
		`Thinking["c"]`, `"audio"`, "text/plain",
	} {
		require.ErrorContains(t, err, want)
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		require.True(t, strings.HasPrefix(line, "anthropicmodel: "), line)
	}
}

func TestProfileForNamesOfAllPlatforms(t *testing.T) {
	opus45 := anthropicmodel.ProfileFor("claude-opus-4-5")
	for _, name := range []string{
		"claude-opus-4-5-20251101", "anthropic/claude-opus-4.5", "us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5@20251101", "CLAUDE-OPUS-4.5:thinking",
	} {
		want := opus45
		want.NativeTools = name == "claude-opus-4-5-20251101" || name == "CLAUDE-OPUS-4.5:thinking" // other platforms may not have them
		want.BasicNativeTools = !want.NativeTools
		require.Equal(t, want, anthropicmodel.ProfileFor(name), name)
	}
	for a, b := range map[string]string{
		"claude-opus-4-20250514": "claude-opus-4-0", "claude-opus-4-12": "claude-opus-4", "claude-sonnet-5-20260401": "claude-sonnet-5",
		"claude-mythos-5-1": "claude-opus-5-5", "claude-poet-9": "claude-next",
	} {
		require.Equal(t, anthropicmodel.ProfileFor(b), anthropicmodel.ProfileFor(a), a)
	}
	require.NotEqual(t, anthropicmodel.ProfileFor("claude-sonnet-5-5"), anthropicmodel.ProfileFor("claude-sonnet-5"))
	for _, name := range []string{"", "kimi-k3", "claude-3-haiku-20240307", "claude-3-5-sonnet-latest", "claude-3.7-sonnet", "claude-opus-4-1", "claude-mythos-preview", "claude-fable-5-2"} {
		p := anthropicmodel.ProfileFor(name)
		_, err := anthropicmodel.New(anthropicmodel.Config{Name: "x", Profile: &p})
		require.NoError(t, err, name)
		require.Positive(t, p.MaxTokens)
	}
	require.Equal(t, 4096, anthropicmodel.ProfileFor("claude-3-haiku-20240307").MaxTokens)
	require.True(t, anthropicmodel.ProfileFor("claude-opus-5").SystemMessages)
	require.False(t, anthropicmodel.ProfileFor("claude-sonnet-5").SystemMessages, "its documentation is not clear about them")
	a, b := anthropicmodel.ProfileFor("claude-opus-5-5"), anthropicmodel.ProfileFor("claude-opus-5-5")
	a.Thinking["low"], a.Media[0] = anthropicmodel.Thinking{}, "x"
	require.NotEqual(t, a.Thinking["low"], b.Thinking["low"])
	require.Equal(t, "image", b.Media[0])
}

func TestInfo(t *testing.T) {
	m := newModel(t, "")
	want := model.Info{
		Provider: "anthropic", Name: "claude-haiku-4-5", NativeOutput: true, ContextWindow: 200_000,
		NativeSearch: true, NativeFetch: true, NativeDomains: true,
		Media: []string{"image", "application/pdf", "text/plain"}, MediaURLs: []string{"image", "application/pdf"},
	}
	require.Equal(t, want, m.Info())
	m.Info().Media[0] = "changed"
	require.Equal(t, want, m.Info())
	m = newModel(t, "", func(c *anthropicmodel.Config) { c.Provider, c.ContextWindow = "kimi", 5 })
	require.Equal(t, "kimi", m.Info().Provider)
	require.Equal(t, 5, m.Info().ContextWindow)
}

func TestProfileCanBeChanged(t *testing.T) {
	p := anthropicmodel.ProfileFor("claude-haiku-4-5")
	p.Thinking["low"] = anthropicmodel.Thinking{Type: "enabled", Budget: 2000, Effort: "low"}
	p.MaxTokens = 7000
	e := serve(t, answer{Body: events(say("ok")...)})
	m := newModel(t, e.URL, func(c *anthropicmodel.Config) { c.Profile = &p })
	p.Thinking["low"] = anthropicmodel.Thinking{} // not the model's copy
	req := hello()
	req.Settings = &model.Settings{Thinking: "low"}
	_, err := m.Generate(context.Background(), req, nil)
	require.NoError(t, err)
	require.Contains(t, e.Bodies[0], `"max_tokens":7000`)
	require.Contains(t, e.Bodies[0], `"output_config":{"effort":"low"},"thinking":{"type":"enabled","budget_tokens":2000}`)
}

func TestOpenByString(t *testing.T) {
	e := serve(t, answer{Body: events(say("ok")...)})
	env := map[string]string{"ANTHROPIC_API_KEY": testKey, "ANTHROPIC_BASE_URL": e.URL + "/from-env"}
	open := func(o model.OpenOptions) (model.Model, error) {
		o.Getenv = func(name string) string { return env[name] }
		return model.OpenWith(context.Background(), "anthropic:claude-haiku-4-5", o)
	}
	for _, o := range []model.OpenOptions{{}, {APIKey: "option", BaseURL: e.URL + "/option", Settings: &model.Settings{MaxTokens: 77}}} {
		m, err := open(o)
		require.NoError(t, err)
		_, err = m.Generate(context.Background(), hello(), nil)
		require.NoError(t, err)
	}
	require.Equal(t, "/from-env/v1/messages", e.Requests[0].URL.Path)
	require.Equal(t, testKey, e.Requests[0].Header.Get("X-Api-Key"))
	require.Equal(t, "/option/v1/messages", e.Requests[1].URL.Path)
	require.Equal(t, "option", e.Requests[1].Header.Get("X-Api-Key"))
	require.Contains(t, e.Bodies[1], `"max_tokens":77`)

	env = map[string]string{"ANTHROPIC_AUTH_TOKEN": "token"}
	m, err := open(model.OpenOptions{BaseURL: e.URL})
	require.NoError(t, err)
	_, err = m.Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "Bearer token", e.Requests[2].Header.Get("Authorization"))

	env = nil
	m, err = open(model.OpenOptions{BaseURL: e.URL})
	require.NoError(t, err, "a proxy may know the key")
	_, err = m.Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.NotContains(t, e.Requests[3].Header, "X-Api-Key")
	require.NotContains(t, e.Requests[3].Header, "Authorization")
	m, err = open(model.OpenOptions{BaseURL: "nowhere"})
	require.ErrorContains(t, err, "Config.BaseURL")
	require.True(t, m == nil)
	_, err = open(model.OpenOptions{})
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "set ANTHROPIC_API_KEY, or OpenOptions.APIKey")
	for name, driver := range model.Providers() {
		if name == "anthropic" {
			require.Equal(t, "ANTHROPIC_API_KEY", driver.Env[0])
		}
	}
}
