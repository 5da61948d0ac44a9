// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
)

func TestProfilesMatchTheGoldenFile(t *testing.T) {
	var told story
	for _, name := range []string{
		"claude-3-opus-20240229", "claude-3-5-sonnet-latest", "claude-3-7-sonnet", "claude-sonnet-4-20250514", "claude-opus-4", "claude-opus-4-1", "claude-opus-4-10", "claude-sonnet-4-5",
		"claude-haiku-4-5", "claude-opus-4-5-20251101", "claude-sonnet-4-6", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-mythos-preview", "claude-sonnet-5", "claude-opus-5",
		"claude-fable-5", "claude-mythos-5", "claude-fable-5-1", "claude-mythos-5-1", "claude-fable-5-2", "claude-mythos-5-2", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5",
		"CLAUDE-OPUS-4.5", "anthropic/claude-opus-4.5", "us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5@20251101", "claude-opus-4-5:beta", "claude-opus-4-5[1m]", "claude-opus-4-5x",
		"claude-opus-6", "bedrock/claude-opus-6", "claude-", "claude", "other", "",
	} {
		p := anthropicmodel.ProfileFor(name)
		lines := []string{fmt.Sprintf("tokens %d, window %d, output %t, strict %t, drops %t, sampling %q, forced %q, system %t", p.MaxTokens, p.ContextWindow, p.NativeOutput, p.Strict, p.DropStaleThinking, p.Sampling, p.ForcedTools, p.SystemMessages),
			fmt.Sprintf("native tools %t, basic %t, compaction %t, media %v, by URL %v", p.NativeTools, p.BasicNativeTools, p.NativeCompaction, p.Media, p.MediaURLs)}
		for level, thinking := range sorted(p.Thinking) {
			lines = append(lines, fmt.Sprintf("%q: %+v", level, thinking))
		}
		told.tell(fmt.Sprintf("%q", name), lines...)
	}
	told.compare(t, "profiles.txt")
}

func TestThinkingLevelsGoFromNoneToMuch(t *testing.T) {
	for name, want := range map[string][]string{
		"claude-haiku-4-5": {"off", "minimal", "low", "medium", "high"}, "claude-3-5-haiku": {"off"}, "claude-opus-5": {"off", "minimal", "low", "medium", "high", "xhigh", "max"},
	} {
		require.Equal(t, want, slices.Clip(newModel(t, "", named(name)).ThinkingLevels()), name)
	}
}

func TestConfigurationsMatchTheGoldenFile(t *testing.T) {
	profile := func(change func(*anthropicmodel.Profile)) anthropicmodel.Config {
		p := anthropicmodel.ProfileFor("claude-haiku-4-5")
		change(&p)
		return anthropicmodel.Config{Name: "m", Profile: &p}
	}
	thinking := func(think anthropicmodel.Thinking) anthropicmodel.Config {
		return profile(func(p *anthropicmodel.Profile) { p.Thinking["x"] = think })
	}
	raw := func(tools ...string) (all []json.RawMessage) {
		for _, tool := range tools {
			all = append(all, json.RawMessage(tool))
		}
		return all
	}
	var told story
	for name, config := range sorted(map[string]anthropicmodel.Config{
		"nothing":                             {},
		"a name":                              {Name: "claude-haiku-4-5"},
		"a key":                               {Name: "m", APIKey: testKey},
		"a token":                             {Name: "m", AuthToken: "token"},
		"both":                                {Name: "m", APIKey: testKey, AuthToken: "token"},
		"another provider and window":         {Name: "m", Provider: "mine", ContextWindow: 5},
		"a key of odd characters":             {Name: "m", APIKey: "!~"},
		"a key with a space":                  {Name: "m", APIKey: "a b"},
		"a token that is not ASCII":           {Name: "m", AuthToken: "a\x7f"},
		"a base URL":                          {Name: "m", BaseURL: "http://p.test/x//"},
		"a version":                           {Name: "m", BaseURL: "http://p.test/v1/"},
		"a path":                              {Name: "m", BaseURL: "http://p.test/a%2Fb/v1/messages#f"},
		"messages without a version":          {Name: "m", BaseURL: "http://p.test/messages"},
		"a query":                             {Name: "m", BaseURL: "http://p.test/?a=b"},
		"a query of nothing":                  {Name: "m", BaseURL: "http://p.test/?"},
		"no scheme":                           {Name: "m", BaseURL: "p.test"},
		"a negative wait":                     {Name: "m", Retry: model.RetryPolicy{Base: -1}},
		"wrong settings":                      {Name: "m", Settings: &model.Settings{MaxTokens: -1}},
		"a negative window":                   {Name: "m", ContextWindow: -1},
		"another cache":                       {Name: "m", Cache: "some"},
		"another time":                        {Name: "m", CacheTTL: "2h"},
		"five minutes":                        {Name: "m", Cache: anthropicmodel.CachePrefix, CacheTTL: "5m"},
		"betas":                               {Name: "m", Betas: []string{"a", "b"}},
		"an empty beta":                       {Name: "m", Betas: []string{"a", ""}},
		"a beta of two lines":                 {Name: "m", Betas: []string{"a\nb"}},
		"server tools":                        {Name: "m", ServerTools: raw(`{"type":"t","name":"n"}`, `{"name":"web_search"}`)},
		"server tools that are none":          {Name: "m", ServerTools: raw(`{}`, `[]`, `{`, ``)},
		"a model that drops thinking":         {Name: "claude-opus-5-5", Betas: []string{"mine"}},
		"a model without forced calls":        {Name: "claude-fable-5-1"},
		"no tokens":                           profile(func(p *anthropicmodel.Profile) { p.MaxTokens = 0 }),
		"one token":                           profile(func(p *anthropicmodel.Profile) { p.MaxTokens = 1 }),
		"a negative window of the profile":    profile(func(p *anthropicmodel.Profile) { p.ContextWindow = -1 }),
		"no window of the profile":            profile(func(p *anthropicmodel.Profile) { p.ContextWindow = 0 }),
		"another sampling":                    profile(func(p *anthropicmodel.Profile) { p.Sampling = "some" }),
		"other forced tools":                  profile(func(p *anthropicmodel.Profile) { p.ForcedTools = "some" }),
		"other media":                         profile(func(p *anthropicmodel.Profile) { p.Media = []string{"image", "audio"} }),
		"other media by URL":                  profile(func(p *anthropicmodel.Profile) { p.MediaURLs = []string{"image", "video"} }),
		"text by URL":                         profile(func(p *anthropicmodel.Profile) { p.MediaURLs = []string{"text/plain"} }),
		"another kind of thinking":            thinking(anthropicmodel.Thinking{Type: "deep"}),
		"thinking without a budget":           thinking(anthropicmodel.Thinking{Type: "enabled"}),
		"thinking with a small budget":        thinking(anthropicmodel.Thinking{Type: "enabled", Budget: 1023}),
		"thinking with the least budget":      thinking(anthropicmodel.Thinking{Type: "enabled", Budget: 1024}),
		"thinking with a negative budget":     thinking(anthropicmodel.Thinking{Type: "enabled", Budget: -1}),
		"adaptive thinking with a budget":     thinking(anthropicmodel.Thinking{Type: "adaptive", Budget: 2000}),
		"thinking between tools":              thinking(anthropicmodel.Thinking{Type: "between_tools"}),
		"thinking that is disabled":           thinking(anthropicmodel.Thinking{Type: "disabled"}),
		"all problems":                        {APIKey: "\n", BaseURL: "x", ContextWindow: -1, Retry: model.RetryPolicy{Max: -1}, Settings: &model.Settings{CompactAt: -1}, Cache: "x", CacheTTL: "x", Betas: []string{""}, ServerTools: raw(`1`), Profile: &anthropicmodel.Profile{Sampling: "x", ForcedTools: "x", Media: []string{"x"}}},
		"a key in the address and in nothing": {Name: "m", APIKey: testKey, BaseURL: "https://user:" + testKey + "@p.test"},
	}) {
		lines := []string{"config: " + config.LogValue().String()}
		if _, err := anthropicmodel.New(config); err != nil {
			told.tell(name, append(lines, asError(err))...)
			continue
		}
		var sent []sending
		m := inMemory(t, &sent, func(c *anthropicmodel.Config) {
			config.HTTPClient, config.Retry = c.HTTPClient, c.Retry
			*c = config
		}, answer{Body: whole("")})
		_, err := m.Generate(t.Context(), hello(), nil)
		require.NoError(t, err)
		told.tell(name, append(lines, "model: "+m.LogValue().String(), "info: "+asJSON(m.Info()), "sent: "+sent[0].head, sent[0].body)...)
	}
	told.compare(t, "configurations.txt")
}

// TestServerToolsTakeTheirPlace checks that a tool of the configuration comes first, and takes the place of a native one of its name.
func TestServerToolsTakeTheirPlace(t *testing.T) {
	var sent []sending
	m := inMemory(t, &sent, func(c *anthropicmodel.Config) {
		c.Cache, c.ServerTools = anthropicmodel.CacheOff, []json.RawMessage{json.RawMessage(`{"name":"own","x":"<"}`), json.RawMessage(`{"name":"web_search","y": 1}`), json.RawMessage(`{"name":7}`)}
	}, answer{Body: whole("")})
	req := hello()
	req.Tools = []model.ToolDef{{Name: "f"}}
	req.Settings = &model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch, MaxUses: 3}, {Kind: model.NativeWebFetch}}}
	_, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	var body struct{ Tools []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(sent[0].body), &body))
	var tools []string
	for _, tool := range body.Tools {
		tools = append(tools, string(tool))
	}
	require.Len(t, tools, 5)
	require.JSONEq(t, `{"name":"own","x":"<"}`, tools[0])
	require.JSONEq(t, `{"name":"web_search","y":1}`, tools[1])
	require.JSONEq(t, `{"name":7}`, tools[2])
	require.JSONEq(t, `{"type":"web_fetch_20260318","name":"web_fetch","allowed_callers":["direct"],"citations":{"enabled":true}}`, tools[3])
	require.JSONEq(t, `{"name":"f","input_schema":{"type":"object","properties":{}}}`, tools[4])
}

// TestIdentityTellsModelsApart checks that everything that changes answers changes the identity, and nothing else.
func TestIdentityTellsModelsApart(t *testing.T) {
	identity := func(change func(*anthropicmodel.Config)) string {
		return newModel(t, "https://p.test", change).Identity()
	}
	same := identity(func(*anthropicmodel.Config) {})
	seen := map[string]string{same: "the original"}
	for name, change := range map[string]func(*anthropicmodel.Config){
		"name":         func(c *anthropicmodel.Config) { c.Name = "claude-opus-4-5" },
		"provider":     func(c *anthropicmodel.Config) { c.Provider = "mine" },
		"address":      func(c *anthropicmodel.Config) { c.BaseURL = "https://q.test" },
		"settings":     func(c *anthropicmodel.Config) { c.Settings = &model.Settings{MaxTokens: 1} },
		"betas":        func(c *anthropicmodel.Config) { c.Betas = []string{"b"} },
		"server tools": func(c *anthropicmodel.Config) { c.ServerTools = []json.RawMessage{json.RawMessage(`{}`)} },
		"profile": func(c *anthropicmodel.Config) {
			p := anthropicmodel.ProfileFor(c.Name)
			p.MaxTokens--
			c.Profile = &p
		},
	} {
		got := identity(change)
		require.Empty(t, seen[got], name)
		seen[got] = name
	}
	require.Equal(t, same, identity(func(c *anthropicmodel.Config) { c.APIKey = "another-key" }))
	require.Equal(t, same, identity(func(c *anthropicmodel.Config) { c.Cache = anthropicmodel.CacheOff }))
}

// TestDriverUsesAllOptions checks that each option of opening a model by its name has its effect.
func TestDriverUsesAllOptions(t *testing.T) {
	for _, driver := range model.Providers() {
		require.Equal(t, []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"}, driver.Env)
	}
	env := map[string]string{}
	var asked []string
	o := model.OpenOptions{
		Settings: &model.Settings{MaxTokens: 7}, Timeouts: model.Timeouts{FirstByte: time.Nanosecond}, Retry: model.RetryPolicy{Attempts: 2, Base: time.Nanosecond},
		Getenv: func(name string) string { return env[name] },
	}
	o.HTTPClient = transport(func(r *http.Request) (*http.Response, error) {
		body := make([]byte, 1000)
		n, _ := r.Body.Read(body)
		asked = append(asked, fmt.Sprint(r.URL, " key ", r.Header.Get("X-Api-Key"), " token ", r.Header.Get("Authorization"), " ", string(body[:n])))
		<-r.Context().Done()
		return nil, r.Context().Err()
	}).Client()
	const rest = ` {"max_tokens":7,"model":"claude-haiku-4-5","messages":[{"content":[{"text":"hi","cache_control":{"type":"ephemeral"},"type":"text"}],"role":"user"}]}`
	check := func(want string) {
		t.Helper()
		asked = nil
		m, err := model.OpenWith(t.Context(), "anthropic:claude-haiku-4-5", o)
		require.NoError(t, err)
		_, err = m.Generate(t.Context(), hello(), nil)
		require.ErrorContains(t, err, "no response within 1ns")
		require.Equal(t, []string{want + rest, want + rest}, asked)
	}
	_, err := model.OpenWith(t.Context(), "anthropic:claude-haiku-4-5", o)
	require.EqualError(t, err, `model: opening "anthropic:claude-haiku-4-5": anthropicmodel: no API key: set ANTHROPIC_API_KEY, or OpenOptions.APIKey: authentication failed`)
	require.ErrorIs(t, err, model.ErrAuth)
	env["ANTHROPIC_BASE_URL"] = "http://environment.test"
	check("http://environment.test/v1/messages key  token ")
	env["ANTHROPIC_AUTH_TOKEN"] = "t"
	check("http://environment.test/v1/messages key  token Bearer t")
	env["ANTHROPIC_API_KEY"] = "k"
	check("http://environment.test/v1/messages key k token ")
	o.APIKey, o.BaseURL = "o", "http://option.test"
	check("http://option.test/v1/messages key o token ")
	env["ANTHROPIC_BASE_URL"], o.BaseURL = "", ""
	check("https://api.anthropic.com/v1/messages key o token ")
	o.Retry.Attempts = -1
	_, err = model.OpenWith(t.Context(), "anthropic:claude-haiku-4-5", o)
	require.EqualError(t, err, `model: opening "anthropic:claude-haiku-4-5": anthropicmodel: Config.Retry.Attempts is negative`)
}
