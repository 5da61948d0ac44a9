// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestProfilesMatchTheGoldenFile(t *testing.T) {
	var told story
	for _, name := range []string{
		"gemini-1.0-pro", "gemini-1.5-flash", "gemini-1.5-flash-8b", "models/gemini-1.5-pro-002", "gemini-1.5", "gemini-2.0-flash", "gemini-2.0-flash-lite", "gemini-2.0-pro",
		"gemini-2.5-flash", "gemini-2.5-flash-lite", "GEMINI-2.5-PRO", "gemini-2.5-flash-image", "gemini-2.5-flash-preview-tts", "gemini-2.5-pro-preview-tts",
		"gemini-2.5-flash-native-audio", "gemini-live-2.5-flash", "gemini-2.9", "gemma-3-27b-it", "learnlm-2.0", "gemini-3-pro-preview", "gemini-3-pro", "gemini-3.1-pro",
		"gemini-3-flash", "gemini-3.0-flash", "gemini-3.6-flash", "gemini-3.7-flash", "gemini-3.8-flash-lite", "gemini-3.10-flash", "gemini-2.6-flash", "gemini-4-flash", "gemini-4.1-flash",
		"gemini-3.1-flash-image", "gemini-flash-latest", "gemini-flash-lite-latest", "gemini-pro-latest", "gemini-3", "gemini-3x-flash", "x-gemini-3.8-flash", "gemini-3.1234-flash", "gemini-1234-flash",
		"publishers/google/models/gemini-3.8-flash", "tunedModels/mine", "projects/p/locations/l/endpoints/7", "",
	} {
		told.ways(fmt.Sprintf("%q", name), []string{"Gemini API", "Vertex AI"}, func(way string) []string {
			backend := geminimodel.GeminiAPI
			if way == "Vertex AI" {
				backend = geminimodel.VertexAI
			}
			p := geminimodel.ProfileFor(backend, name)
			lines := []string{fmt.Sprintf("window %d, output %t, with tools %t, strict %t, native %t, with tools %t, signatures %t", p.ContextWindow, p.NativeOutput, p.OutputWithTools,
				p.StrictTools, p.NativeTools, p.NativeWithTools, p.RequireSignatures), "media " + strings.Join(p.Media, " "), "by URL " + strings.Join(p.MediaURLs, " ")}
			for _, level := range slices.Sorted(maps.Keys(p.Thinking)) {
				lines = append(lines, level+" "+asJSON(p.Thinking[level]))
			}
			return lines
		})
	}
	told.compare(t, "profiles.txt")
}

func TestThinkingLevelsGoFromNoneToMuch(t *testing.T) {
	for name, want := range map[string][]string{
		"gemini-2.5-flash": {"off", "minimal", "low", "medium", "high"}, "gemini-3-pro": {"low", "high"}, "gemini-2.0-flash": nil,
	} {
		require.Equal(t, want, slices.Clip(newModel(t, "", named(name)).ThinkingLevels()), name)
	}
}

// openings are configurations, of which some are mistakes.
func openings() map[string]geminimodel.Config {
	credentials := auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: tokens{}})
	all := map[string]geminimodel.Config{
		"nothing":                           {},
		"a key":                             {Name: "m", APIKey: testKey},
		"a base URL alone":                  {Name: "m", BaseURL: "https://p.test"},
		"another name and provider":         {Name: "tunedModels/m-1", APIKey: testKey, Provider: "mine", ContextWindow: 5},
		"no name":                           {APIKey: testKey},
		"dots":                              {Name: "a..b", APIKey: testKey},
		"a key with a space":                {Name: "m", APIKey: "a b"},
		"a key that is not ASCII":           {Name: "m", APIKey: "ab\x7f"},
		"a key of odd characters":           {Name: "m", APIKey: "!~"},
		"a project":                         {Name: "m", APIKey: testKey, Project: "p"},
		"a location":                        {Name: "m", APIKey: testKey, Location: "l"},
		"credentials":                       {Name: "m", APIKey: testKey, Credentials: credentials},
		"Vertex AI with a key":              {Name: "m", Backend: geminimodel.VertexAI, APIKey: testKey},
		"Vertex AI with a key and project":  {Name: "m", Backend: geminimodel.VertexAI, APIKey: testKey, Project: "p"},
		"Vertex AI with credentials":        {Name: "m", Backend: geminimodel.VertexAI, Project: "p", Credentials: credentials},
		"Vertex AI in a place":              {Name: "m", Backend: geminimodel.VertexAI, Project: "p", Location: "asia-east1", Credentials: credentials},
		"Vertex AI in the US":               {Name: "m", Backend: geminimodel.VertexAI, Project: "p", Location: "us", Credentials: credentials},
		"Vertex AI with a client":           {Name: "m", Backend: geminimodel.VertexAI, Project: "p", HTTPClient: &http.Client{}},
		"Vertex AI with two":                {Name: "m", Backend: geminimodel.VertexAI, APIKey: testKey, Credentials: credentials},
		"Vertex AI with nothing":            {Name: "m", Backend: geminimodel.VertexAI},
		"Vertex AI with a location alone":   {Name: "m", Backend: geminimodel.VertexAI, APIKey: testKey, Location: "eu"},
		"Vertex AI with a wrong location":   {Name: "m", Backend: geminimodel.VertexAI, Project: "p", Location: "a#b", Credentials: credentials},
		"Vertex AI with a wrong project":    {Name: "m", Backend: geminimodel.VertexAI, Project: "a b", Credentials: credentials},
		"another backend":                   {Name: "m", Backend: "x", APIKey: testKey},
		"another version":                   {Name: "m", APIKey: testKey, BaseURL: "https://p.test/x/v2alpha3//"},
		"a version without a number":        {Name: "m", APIKey: testKey, BaseURL: "https://p.test/v"},
		"a version within a path":           {Name: "m", APIKey: testKey, BaseURL: "https://p.test/v1/x"},
		"another version on Vertex AI":      {Name: "m", Backend: geminimodel.VertexAI, APIKey: testKey, BaseURL: "https://p.test/v1"},
		"no version on Vertex AI":           {Name: "m", Backend: geminimodel.VertexAI, APIKey: testKey, BaseURL: "https://p.test/x"},
		"an escaped path":                   {Name: "m", APIKey: testKey, BaseURL: "https://p.test/a%2Fb/v1"},
		"a query":                           {Name: "m", APIKey: testKey, BaseURL: "https://p.test/?a=b"},
		"a fragment":                        {Name: "m", APIKey: testKey, BaseURL: "https://p.test/#a"},
		"no scheme":                         {Name: "m", APIKey: testKey, BaseURL: "p.test"},
		"the key in the URL":                {Name: "m", APIKey: testKey, BaseURL: "https://" + testKey + "@p.test/" + testKey},
		"a negative wait":                   {Name: "m", APIKey: testKey, Retry: model.RetryPolicy{Max: -1}},
		"wrong settings":                    {Name: "m", APIKey: testKey, Settings: &model.Settings{MaxTokens: -1}},
		"a negative window":                 {Name: "m", APIKey: testKey, ContextWindow: -1},
		"all problems":                      {Name: "?", APIKey: "\n", Backend: "x", BaseURL: "x", ContextWindow: -1, Retry: model.RetryPolicy{Attempts: -1}, Settings: &model.Settings{CompactAt: -1}},
		"a profile":                         {Name: "m", APIKey: testKey, Profile: &geminimodel.Profile{NativeTools: true, Media: []string{"image"}, MediaURLs: []string{"image"}, ContextWindow: 9}},
		"a profile with tools in all kinds": {Name: "m", APIKey: testKey, Profile: &geminimodel.Profile{NativeTools: true, NativeWithTools: true, NativeOutput: true}},
		"a profile without native tools":    {Name: "m", APIKey: testKey, Profile: &geminimodel.Profile{NativeWithTools: true}},
	}
	for _, c := range "?&#%\\ " {
		all[fmt.Sprintf("a name with %q", c)] = geminimodel.Config{Name: "a" + string(c) + "b", APIKey: testKey}
	}
	return all
}

func TestConfigurationsMatchTheGoldenFile(t *testing.T) {
	var told story
	all := openings()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		config := all[name]
		lines := []string{"config: " + config.LogValue().String()}
		asked := ""
		if config.HTTPClient == nil && (config.Backend != geminimodel.VertexAI || config.APIKey != "" || config.Credentials != nil) {
			config.HTTPClient = transport(func(r *http.Request) (*http.Response, error) {
				asked = r.Method + " " + r.URL.String() + " key " + r.Header.Get("X-Goog-Api-Key") + " authorization " + r.Header.Get("Authorization")
				return adaptertest.Respond(r, 200, adaptertest.Text(chunk("STOP", `{"text":"ok"}`))), nil
			}).Client()
		}
		m, err := geminimodel.New(config)
		if err != nil {
			told.tell(name, append(lines, asError(err))...)
			continue
		}
		lines = append(lines, "model: "+m.LogValue().String(), "info: "+asJSON(m.Info()))
		if config.HTTPClient.Transport != nil {
			_, err = m.Generate(t.Context(), hello(), nil)
			require.NoError(t, err)
			lines = append(lines, "whole: "+asked)
			_, _ = m.Generate(t.Context(), hello(), func(model.Delta) error { return nil })
			lines = append(lines, "streamed: "+asked)
		}
		told.tell(name, lines...)
	}
	told.compare(t, "configurations.txt")
}

// TestIdentityTellsModelsApart checks that everything that changes answers changes the identity, and nothing else.
func TestIdentityTellsModelsApart(t *testing.T) {
	base := geminimodel.Config{Name: "m", Backend: geminimodel.VertexAI, APIKey: testKey, Project: "p", Location: "eu", BaseURL: "https://p.test"}
	identity := func(change func(*geminimodel.Config)) string {
		c := base
		change(&c)
		m, err := geminimodel.New(c)
		require.NoError(t, err)
		return m.Identity()
	}
	same := identity(func(*geminimodel.Config) {})
	seen := map[string]string{same: "the original"}
	for name, change := range map[string]func(*geminimodel.Config){
		"name":     func(c *geminimodel.Config) { c.Name = "n" },
		"provider": func(c *geminimodel.Config) { c.Provider = "mine" },
		"project":  func(c *geminimodel.Config) { c.Project = "q" },
		"location": func(c *geminimodel.Config) { c.Location = "us" },
		"address":  func(c *geminimodel.Config) { c.BaseURL = "https://q.test" },
		"version":  func(c *geminimodel.Config) { c.BaseURL = "https://p.test/v1" },
		"settings": func(c *geminimodel.Config) { c.Settings = &model.Settings{MaxTokens: 1} },
		"profile":  func(c *geminimodel.Config) { c.Profile = &geminimodel.Profile{StrictTools: true} },
		"backend": func(c *geminimodel.Config) {
			p := geminimodel.ProfileFor(geminimodel.VertexAI, "m")
			c.Backend, c.Project, c.Location, c.Provider, c.Profile, c.BaseURL = geminimodel.GeminiAPI, "", "", "vertex", &p, "https://p.test/v1beta1"
		},
	} {
		got := identity(change)
		require.Empty(t, seen[got], name)
		seen[got] = name
	}
	require.Equal(t, same, identity(func(c *geminimodel.Config) { c.APIKey = "another-key" }))
	require.Equal(t, same, identity(func(c *geminimodel.Config) { c.Retry.Attempts = 7 }))
}

func TestDriversNameTheirVariables(t *testing.T) {
	env := map[string][]string{}
	for name, driver := range model.Providers() {
		env[name] = driver.Env
	}
	require.Equal(t, map[string][]string{
		"google": {"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
		"vertex": {"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_BASE_URL"},
	}, env)
}

// TestDriversUseAllOptions checks that each option of opening a model by its name has its effect.
func TestDriversUseAllOptions(t *testing.T) {
	for provider, path := range map[string]string{
		"google": "/v1beta/models/m:generateContent", "vertex": "/v1beta1/publishers/google/models/m:generateContent",
	} {
		var asked []string
		o := model.OpenOptions{
			APIKey: testKey, BaseURL: "http://option.test", Settings: &model.Settings{ServiceTier: "flex", ExtraBody: map[string]json.RawMessage{"contents": json.RawMessage(`1`)}},
			Timeouts: model.Timeouts{FirstByte: time.Nanosecond}, Retry: model.RetryPolicy{Attempts: 2, Base: time.Nanosecond},
			Getenv: func(name string) string {
				if strings.HasSuffix(name, "_BASE_URL") {
					return "http://environment.test"
				}
				return ""
			},
		}
		o.HTTPClient = transport(func(r *http.Request) (*http.Response, error) {
			var body strings.Builder
			_, err := fmt.Fprint(&body, r.Method, " ", r.URL, " ", r.Header.Get("X-Goog-Api-Key"), " ")
			require.NoError(t, err)
			data := make([]byte, 1000)
			n, _ := r.Body.Read(data)
			asked = append(asked, body.String()+string(data[:n]))
			<-r.Context().Done()
			return nil, r.Context().Err()
		}).Client()
		m, err := model.OpenWith(t.Context(), provider+":m", o)
		require.NoError(t, err)
		_, err = m.Generate(t.Context(), hello(), nil)
		require.ErrorContains(t, err, "no response within 1ns")
		want := `POST http://option.test` + path + ` ` + testKey + ` {"serviceTier":"flex","contents":1}`
		require.Equal(t, []string{want, want}, asked)

		o.BaseURL, asked = "", nil
		m, err = model.OpenWith(t.Context(), provider+":m", o)
		require.NoError(t, err)
		_, _ = m.Generate(t.Context(), hello(), nil)
		require.Contains(t, asked[0], "http://environment.test"+path)

		_, err = model.OpenWith(t.Context(), provider+":m?", o)
		require.EqualError(t, err, `model: opening "`+provider+`:m?": geminimodel: Config.Name "m?" is not a model name`)
	}
}
