// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cloud.google.com/go/auth"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// where returns the URL that a model uses, without a network.
func where(t *testing.T, change ...func(*geminimodel.Config)) string {
	t.Helper()
	var asked string
	m := newModel(t, "", append(change, func(c *geminimodel.Config) {
		c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return adaptertest.Respond(r, 200, adaptertest.Text(chunk("STOP", `{"text":"ok"}`))), nil
		})}
	})...)
	_, err := m.Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	return asked
}

func TestEndpoint(t *testing.T) {
	base := func(url string) func(*geminimodel.Config) { return func(c *geminimodel.Config) { c.BaseURL = url } }
	in := func(location string) func(*geminimodel.Config) {
		return func(c *geminimodel.Config) { c.Location = location }
	}
	for want, change := range map[string][]func(*geminimodel.Config){
		"https://generativelanguage.googleapis.com/v1beta/models/test-model:generateContent":                                                              {base("")},
		"https://generativelanguage.googleapis.com/v1beta/models/x:generateContent":                                                                       {base(""), named("models/x")},
		"http://proxy.test/google/v1beta/models/test-model:generateContent":                                                                               {base("http://proxy.test/google/")},
		"http://proxy.test/v1alpha/models/test-model:generateContent":                                                                                     {base("http://proxy.test/v1alpha/")},
		"https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/acme/locations/europe-west4/publishers/google/models/test-model:generateContent": {base(""), onVertex},
		"https://aiplatform.googleapis.com/v1beta1/projects/acme/locations/global/publishers/google/models/test-model:generateContent":                    {base(""), onVertex, in("")},
		"https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/acme/locations/eu/publishers/google/models/test-model:generateContent":                 {base(""), onVertex, in("eu")},
		"https://aiplatform.googleapis.com/v1beta1/publishers/google/models/test-model:generateContent":                                                   {base(""), func(c *geminimodel.Config) { c.Backend = geminimodel.VertexAI }},
		"http://proxy.test/v1/projects/acme/locations/europe-west4/publishers/anthropic/models/x:generateContent":                                         {base("http://proxy.test/v1"), onVertex, named("anthropic/x")},
	} {
		require.Equal(t, want, where(t, change...))
	}
}

func TestNewReadsNothingFromTheEnvironment(t *testing.T) {
	for _, name := range []string{
		"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION",
		"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL",
	} {
		t.Setenv(name, "https://wrong.test/")
	}
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "1")
	require.Equal(t, "https://generativelanguage.googleapis.com/v1beta/models/test-model:generateContent", where(t))
	require.Equal(t, "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/test-model:generateContent",
		where(t, func(c *geminimodel.Config) { c.Backend = geminimodel.VertexAI }))
	e := serve(t, answer{Body: chunk("STOP", `{"text":"ok"}`)})
	_, err := newModel(t, e.URL, onVertex).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	r, _ := e.Last()
	require.Empty(t, r.Header.Get("X-Goog-Api-Key"))
	require.Equal(t, "/v1beta1/projects/acme/locations/europe-west4/publishers/google/models/test-model:generateContent", r.URL.Path)
}

func TestKeyAndTokenAreSentInHeaders(t *testing.T) {
	e := serve(t, answer{Body: chunk("STOP", `{"text":"ok"}`)})
	req := hello()
	req.Settings = &model.Settings{ExtraHeaders: map[string]string{"x-title": "request"}}
	m := newModel(t, e.URL, func(c *geminimodel.Config) {
		c.Settings = &model.Settings{ExtraHeaders: map[string]string{"X-Title": "default", "X-Default": "d"}}
	})
	_, err := m.Generate(context.Background(), req, nil)
	require.NoError(t, err)
	r, _ := e.Last()
	require.Equal(t, testKey, r.Header.Get("X-Goog-Api-Key"))
	require.NotContains(t, r.URL.String(), testKey)
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	require.Equal(t, "request", r.Header.Get("X-Title"))
	require.Equal(t, "d", r.Header.Get("X-Default"))

	_, err = newModel(t, e.URL, onVertex, func(c *geminimodel.Config) {
		c.Credentials = auth.NewCredentials(&auth.CredentialsOptions{
			TokenProvider:          tokens{},
			QuotaProjectIDProvider: auth.CredentialsPropertyFunc(func(context.Context) (string, error) { return "payer", nil }),
		})
	}).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	r, _ = e.Last()
	require.Equal(t, "Bearer "+testToken, r.Header.Get("Authorization"))
	require.Equal(t, "payer", r.Header.Get("X-Goog-User-Project"))
	require.Empty(t, r.Header.Get("X-Goog-Api-Key"))
}

func TestFailedCredentialsAreAuthErrors(t *testing.T) {
	e := serve(t, answer{Body: chunk("STOP", `{"text":"ok"}`)})
	denied := errors.New("the account is disabled")
	_, err := newModel(t, e.URL, onVertex, func(c *geminimodel.Config) {
		c.Credentials = auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: tokens{denied}})
	}).Generate(context.Background(), hello(), nil)
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorIs(t, err, denied)
	require.ErrorContains(t, err, "cannot get a token from the credentials: the account is disabled")
	require.False(t, apiError(t, err).Retryable)
	require.Zero(t, e.Count())
}

func TestTemporaryTokenErrorsAreRetried(t *testing.T) {
	for name, test := range map[string]struct {
		err       error
		retryable bool
	}{
		"a busy server":      {&auth.Error{Response: &http.Response{StatusCode: 503}}, true},
		"no network":         {&url.Error{Op: "Post", URL: "https://oauth2.googleapis.com/token", Err: io.ErrUnexpectedEOF}, true},
		"a server that says": {&auth.Error{Response: &http.Response{StatusCode: 400}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, "http://never.test", onVertex, func(c *geminimodel.Config) {
				c.Credentials = auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: tokens{test.err}})
			})
			_, err := m.Generate(context.Background(), hello(), nil)
			require.Equal(t, test.retryable, apiError(t, err).Retryable)
			require.Equal(t, !test.retryable, errors.Is(err, model.ErrAuth))
			require.ErrorIs(t, err, test.err)
		})
	}
}

func TestAuthenticatingClientNeedsNoCredentials(t *testing.T) {
	e := serve(t, answer{Body: chunk("STOP", `{"text":"ok"}`)})
	_, err := newModel(t, e.URL, onVertex, func(c *geminimodel.Config) {
		c.Credentials, c.HTTPClient = nil, &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer mine")
			return http.DefaultTransport.RoundTrip(r)
		})}
	}).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	r, _ := e.Last()
	require.Equal(t, "Bearer mine", r.Header.Get("Authorization"))
}

func TestKeyIsNeverShown(t *testing.T) {
	config := geminimodel.Config{Name: "m", BaseURL: "http://user:" + testKey + "@host.test", APIKey: testKey}
	m, err := geminimodel.New(config)
	require.NoError(t, err)
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("x", "config", config, "model", m, "any", []any{config, &config, m})
	}
	holder := struct {
		C geminimodel.Config
		m *geminimodel.Model
		M geminimodel.Model
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
	require.Contains(t, log.String(), "geminimodel.Config(m at http://host.test, key set)")
	require.Equal(t, "google m at http://host.test", m.String())
}

func TestNewReportsAllProblems(t *testing.T) {
	credentials := auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: tokens{}})
	for want, config := range map[string]geminimodel.Config{
		"Config.Name is empty":                   {APIKey: testKey},
		`Config.Name "a?b" is not a model name`:  {Name: "a?b", APIKey: testKey},
		`Config.Name "../b" is not a model name`: {Name: "../b", APIKey: testKey},
		"end in a newline":                       {Name: "m", APIKey: testKey + "\n"},
		"the Gemini API needs a key":             {Name: "m"},
		"which only Vertex AI uses":              {Name: "m", APIKey: testKey, Project: "p"},
		"Vertex AI needs a project":              {Name: "m", Backend: geminimodel.VertexAI},
		"both APIKey and Credentials":            {Name: "m", Backend: geminimodel.VertexAI, APIKey: testKey, Credentials: credentials},
		`"a/b" is not a project or location`:     {Name: "m", Backend: geminimodel.VertexAI, Project: "a/b", Credentials: credentials},
		`Config.Backend is "google"`:             {Name: "m", Backend: "google", APIKey: testKey},
		"must start with http:// or https://":    {Name: "m", APIKey: testKey, BaseURL: "localhost:1"},
		"Config.BaseURL is not a valid URL":      {Name: "m", APIKey: testKey, BaseURL: "http://[::1"},
		"has a query or fragment":                {Name: "m", APIKey: testKey, BaseURL: "https://x.test/?key=" + testKey},
		"Config.Retry.Attempts is negative":      {Name: "m", APIKey: testKey, Retry: model.RetryPolicy{Attempts: -1}},
		"Config.ContextWindow is negative":       {Name: "m", APIKey: testKey, ContextWindow: -1},
	} {
		_, err := geminimodel.New(config)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "geminimodel: ")
		require.NotContains(t, err.Error(), testKey)
	}
	named, err := geminimodel.New(geminimodel.Config{Name: "m", APIKey: testKey, BaseURL: "http://" + testKey + "@x.test"})
	require.NoError(t, err)
	require.Equal(t, "google m at http://x.test", named.String())

	_, err = geminimodel.New(geminimodel.Config{Retry: model.RetryPolicy{Base: -time.Second}})
	require.ErrorContains(t, err, "Config.Name is empty")
	require.ErrorContains(t, err, "Config.Retry.Base is negative")
	require.ErrorIs(t, err, model.ErrAuth)
}

func TestInfo(t *testing.T) {
	m := newModel(t, "", named("gemini-3.5-flash"))
	want := model.Info{
		Provider: "google", Name: "gemini-3.5-flash", NativeOutput: true, NativeSearch: true, NativeFetch: true,
		Media:         []string{"image", "audio", "video", "application/pdf", "text/plain"},
		MediaURLs:     []string{"image", "application/pdf", "text/plain"},
		ContextWindow: 1 << 20,
	}
	require.Equal(t, want, m.Info())
	m.Info().Media[0] = "changed"
	require.Equal(t, want, m.Info())
	require.Equal(t, "vertex", newModel(t, "", onVertex).Info().Provider)
	for name, window := range map[string]int{
		"models/gemini-1.5-pro-002": 2 << 20, "gemini-2.5-flash-lite": 1 << 20, "gemini-2.5-flash-image": 0, "gemma-3-27b-it": 0,
	} {
		require.Equal(t, window, newModel(t, "", named(name)).Info().ContextWindow, name)
	}
	require.Equal(t, 7, newModel(t, "", named("gemini-3.5-flash"), func(c *geminimodel.Config) { c.ContextWindow = 7 }).Info().ContextWindow)
	require.Contains(t, newModel(t, "", onVertex).Info().MediaURLs, "video")
}

func TestMinimalThinkingLevel(t *testing.T) {
	for name, want := range map[string]bool{
		"gemini-3-flash-preview": true, "gemini-3.5-flash": true, "gemini-3.6-flash-001": true, "gemini-3.7-flash": false,
		"models/gemini-3.8-flash": false, "gemini-4-flash": false, "gemini-flash-latest": false, "gemini-3.8-flash-lite": true,
		"gemini-3-pro-preview": false, "gemini-3.1-pro": false, "gemini-4-pro": false, "gemini-2.5-pro": true, "tunedModels/mine": true,
	} {
		_, has := geminimodel.ProfileFor(geminimodel.GeminiAPI, name).Thinking["minimal"]
		require.Equal(t, want, has, name)
	}
}

func TestProfileCanBeReplaced(t *testing.T) {
	profile := geminimodel.ProfileFor(geminimodel.GeminiAPI, "gemini-3.5-flash")
	profile.RequireSignatures, profile.NativeOutput = false, false
	sent := body(t, fullRequest(), func(c *geminimodel.Config) { c.Profile = &profile })
	mark := base64.StdEncoding.EncodeToString([]byte("skip_thought_signature_validator"))
	require.Contains(t, body(t, fullRequest()), mark)
	require.NotContains(t, sent, mark)
	delete(profile.Thinking, "low")
	require.Contains(t, geminimodel.ProfileFor(geminimodel.GeminiAPI, "gemini-3.5-flash").Thinking, "low")
}

func TestOpenByString(t *testing.T) {
	e := serve(t, answer{Body: chunk("STOP", `{"text":"ok"}`)})
	env := map[string]string{}
	o := model.OpenOptions{Getenv: func(name string) string { return env[name] }}

	_, err := model.OpenWith(context.Background(), "google:gemini-3.5-flash", o)
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "set GEMINI_API_KEY, or OpenOptions.APIKey")

	ask := func(ref string) *http.Request {
		t.Helper()
		m, err := model.OpenWith(context.Background(), ref, o)
		require.NoError(t, err)
		_, err = m.Generate(context.Background(), hello(), nil)
		require.NoError(t, err)
		r, _ := e.Last()
		return r
	}
	env["GOOGLE_GEMINI_BASE_URL"] = e.URL
	require.NotContains(t, ask("google:gemini-3.5-flash").Header, "X-Goog-Api-Key", "a proxy may know the key")
	env["GOOGLE_API_KEY"] = "second"
	require.Equal(t, "second", ask("google:gemini-3.5-flash").Header.Get("X-Goog-Api-Key"))
	env["GEMINI_API_KEY"] = "first"
	require.Equal(t, "first", ask("google:gemini-3.5-flash").Header.Get("X-Goog-Api-Key"))
	o.APIKey = "option"
	require.Equal(t, "option", ask("google:gemini-3.5-flash").Header.Get("X-Goog-Api-Key"))

	env["GOOGLE_VERTEX_BASE_URL"] = e.URL
	require.Equal(t, "/v1beta1/publishers/google/models/gemini-3.5-flash:generateContent", ask("vertex:gemini-3.5-flash").URL.Path)
	o.APIKey = ""
	_, err = model.OpenWith(context.Background(), "vertex:gemini-3.5-flash", o)
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "set GOOGLE_CLOUD_PROJECT")

	env["GOOGLE_CLOUD_PROJECT"], env["GOOGLE_CLOUD_LOCATION"] = "acme", "us-east1"
	file := filepath.Join(t.TempDir(), "credentials.json")
	env["GOOGLE_APPLICATION_CREDENTIALS"] = file
	_, err = model.OpenWith(context.Background(), "vertex:gemini-3.5-flash", o)
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "set GOOGLE_APPLICATION_CREDENTIALS")

	require.NoError(t, os.WriteFile(file, []byte(
		`{"type":"authorized_user","client_id":"id","client_secret":"secret","refresh_token":"token","quota_project_id":"payer"}`), 0o600))
	m, err := model.OpenWith(context.Background(), "vertex:gemini-3.5-flash", o)
	require.NoError(t, err)
	require.Equal(t, "vertex", m.Info().Provider)
}

func TestApplicationDefaultCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	config := geminimodel.Config{Name: "m", Backend: geminimodel.VertexAI, Project: "acme"}
	_, err := geminimodel.New(config)
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "set GOOGLE_APPLICATION_CREDENTIALS")

	require.NoError(t, os.WriteFile(file, []byte(`{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"t"}`), 0o600))
	m, err := geminimodel.New(config)
	require.NoError(t, err)
	require.Equal(t, "vertex m at https://aiplatform.googleapis.com", m.String())
}
