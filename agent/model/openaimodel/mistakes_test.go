// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestEachMistakeInAConfigIsNamed(t *testing.T) {
	config := func(change func(*openaimodel.Config)) openaimodel.Config {
		c := openaimodel.Config{Name: "m", BaseURL: "http://x.test"}
		change(&c)
		return c
	}
	profile := func(change func(*openaimodel.Profile)) openaimodel.Config {
		p := openaimodel.ProfileFor("", "http://x.test")
		change(&p)
		return openaimodel.Config{Name: "m", Profile: &p}
	}
	for _, test := range []struct {
		config openaimodel.Config
		want   string // after the name of the package, or nothing
	}{
		{openaimodel.Config{}, "Config.Name is empty; set the name of a model"},
		{config(func(c *openaimodel.Config) { c.APIKey = "a b" }), "Config.APIKey contains white space or other invalid characters; does it end in a newline?"},
		{config(func(c *openaimodel.Config) { c.APIKey = "\x7f" }), "Config.APIKey contains white space or other invalid characters; does it end in a newline?"},
		{config(func(c *openaimodel.Config) { c.APIKey = "é" }), "Config.APIKey contains white space or other invalid characters; does it end in a newline?"},
		{config(func(c *openaimodel.Config) { c.APIKey = "!~" }), ""},
		{config(func(c *openaimodel.Config) { c.Retry.Attempts = -1 }), "Config.Retry.Attempts is negative"},
		{config(func(c *openaimodel.Config) { c.Retry.Base = -1 }), "Config.Retry.Base is negative"},
		{config(func(c *openaimodel.Config) { c.Retry.Max = -1 }), "Config.Retry.Max is negative"},
		{config(func(c *openaimodel.Config) { c.Retry.Total = -1 }), "Config.Retry.Total is negative"},
		{config(func(c *openaimodel.Config) { c.ContextWindow = -1 }), "Config.ContextWindow is negative"},
		{config(func(c *openaimodel.Config) { c.Organization = "a\n" }), "Config.Organization or Config.Project contains a character that is invalid in a header"},
		{config(func(c *openaimodel.Config) { c.Project = "a\n" }), "Config.Organization or Config.Project contains a character that is invalid in a header"},
		{config(func(c *openaimodel.Config) { c.Settings = &model.Settings{MaxTokens: -1} }), "Config.Settings: the setting MaxTokens is -1, must not be negative"},
		{config(func(c *openaimodel.Config) { c.BaseURL = "x.test" }), "Config.BaseURL must start with http:// or https://"},
		{config(func(c *openaimodel.Config) { c.BaseURL = "http://" }), "Config.BaseURL has no host"},
		{profile(func(p *openaimodel.Profile) { p.MaxTokensField = "x" }), `Profile.MaxTokensField is "x", must be one of ["max_tokens" "max_completion_tokens"]; start from ProfileFor and change what differs`},
		{profile(func(p *openaimodel.Profile) { p.SeedField = "x" }), `Profile.SeedField is "x", must be one of ["seed" "random_seed"]; start from ProfileFor and change what differs`},
		{profile(func(p *openaimodel.Profile) { p.RequiredToolChoice = "x" }), `Profile.RequiredToolChoice is "x", must be one of ["required" "any"]; start from ProfileFor and change what differs`},
		{profile(func(p *openaimodel.Profile) { p.SystemRole = "x" }), `Profile.SystemRole is "x", must be one of ["system" "developer"]; start from ProfileFor and change what differs`},
		{profile(func(p *openaimodel.Profile) { p.SendReasoning = "x" }), `Profile.SendReasoning is "x", must be one of ["with_calls" "always"]; start from ProfileFor and change what differs`},
		{profile(func(p *openaimodel.Profile) { p.SendReasoning, p.ReasoningField = "always", "x" }), `Profile.ReasoningField is "x", must be one of ["reasoning_content" "reasoning"]; start from ProfileFor and change what differs`},
		{profile(func(p *openaimodel.Profile) { p.ReasoningField = "x" }), ""},
		{profile(func(p *openaimodel.Profile) { p.CallIDLength = -1 }), "Profile.CallIDLength is -1, must be 0, or from 8 to 32"},
		{profile(func(p *openaimodel.Profile) { p.CallIDLength = 7 }), "Profile.CallIDLength is 7, must be 0, or from 8 to 32"},
		{profile(func(p *openaimodel.Profile) { p.CallIDLength = 8 }), ""},
		{profile(func(p *openaimodel.Profile) { p.CallIDLength = 32 }), ""},
		{profile(func(p *openaimodel.Profile) { p.CallIDLength = 33 }), "Profile.CallIDLength is 33, must be 0, or from 8 to 32"},
		{profile(func(p *openaimodel.Profile) { p.CallIDMax = -1 }), "Profile.CallIDMax is -1, must be 0, or at least 8"},
		{profile(func(p *openaimodel.Profile) { p.CallIDMax = 7 }), "Profile.CallIDMax is 7, must be 0, or at least 8"},
		{profile(func(p *openaimodel.Profile) { p.CallIDMax = 8 }), ""},
		{profile(func(p *openaimodel.Profile) { p.KeyHeader = "a b" }), `Profile.KeyHeader "a b" is not a valid header name`},
		{profile(func(p *openaimodel.Profile) { p.KeyHeader = "X-Key" }), ""},
		{profile(func(p *openaimodel.Profile) {
			p.Thinking["b"], p.Thinking["a"] = json.RawMessage("null"), json.RawMessage("[]")
		}), `Profile.Thinking["a"] is not a JSON object`},
		{profile(func(p *openaimodel.Profile) { p.Thinking["b"] = json.RawMessage("null") }), `Profile.Thinking["b"] is not a JSON object`},
		{profile(func(p *openaimodel.Profile) { p.Thinking["b"] = json.RawMessage("{}") }), ""},
	} {
		m, err := openaimodel.New(test.config)
		r, again := openaimodel.NewResponses(test.config)
		if test.want == "" {
			require.NoError(t, err)
			require.NoError(t, again)
			continue
		}
		require.EqualError(t, err, "openaimodel: "+test.want)
		require.EqualError(t, again, "openaimodel: "+test.want)
		require.Nil(t, m)
		require.Nil(t, r)
	}
}

// What a model is and where it is decides its identity; a password and a key do not.
func TestIdentityOfAModel(t *testing.T) {
	of := func(change func(*openaimodel.Config)) string {
		c := openaimodel.Config{Name: "m", BaseURL: "http://x.test/v1?a=1"}
		change(&c)
		m, err := openaimodel.New(c)
		require.NoError(t, err)
		return m.Identity()
	}
	own := of(func(*openaimodel.Config) {})
	require.Len(t, own, 64)
	for name, change := range map[string]func(*openaimodel.Config){
		"nothing": func(*openaimodel.Config) {}, "a user": func(c *openaimodel.Config) { c.BaseURL = "http://u:p@x.test/v1?a=1" }, "a key": func(c *openaimodel.Config) { c.APIKey = testKey },
		"retries": func(c *openaimodel.Config) { c.Retry.Attempts = 1 },
	} {
		require.Equal(t, own, of(change), name)
	}
	known := map[string]bool{own: true}
	for name, change := range map[string]func(*openaimodel.Config){
		"name": func(c *openaimodel.Config) { c.Name = "n" }, "path": func(c *openaimodel.Config) { c.BaseURL = "http://x.test/v2?a=1" }, "query": func(c *openaimodel.Config) { c.BaseURL = "http://x.test/v1?a=2" },
		"settings": func(c *openaimodel.Config) { c.Settings = &model.Settings{MaxTokens: 1} }, "organization": func(c *openaimodel.Config) { c.Organization = "o" },
		"project": func(c *openaimodel.Config) { c.Project = "o" }, "provider": func(c *openaimodel.Config) { c.Provider = "groq" }, "window": func(c *openaimodel.Config) { c.ContextWindow = 1 },
	} {
		id := of(change)
		require.False(t, known[id], name)
		known[id] = true
	}
	r, err := openaimodel.NewResponses(openaimodel.Config{Name: "m", BaseURL: "http://x.test/v1?a=1"})
	require.NoError(t, err)
	require.False(t, known[r.Identity()], "another protocol")
}

func TestHowModelsAndConfigsAreShown(t *testing.T) {
	c := openaimodel.Config{Name: "m", BaseURL: "http://u:p@x.test/v1/chat/completions?q=1#f", Provider: "P"}
	m, err := openaimodel.New(c)
	require.NoError(t, err)
	require.Equal(t, "P m at http://x.test/v1", fmt.Sprintf("%d", m))
	require.Equal(t, "P m at http://x.test/v1", m.LogValue().String())
	require.Equal(t, "openaimodel.Config(m at http://x.test/v1, no key)", fmt.Sprint(c))
	require.Equal(t, "openaimodel.Config(m at http://x.test/v1, no key)", c.LogValue().String())
	text, err := c.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "openaimodel.Config(m at http://x.test/v1, no key)", string(text))
	require.Equal(t, "openaimodel.Config( at invalid base URL, key set)", fmt.Sprint(openaimodel.Config{BaseURL: "x", APIKey: "k"}))
	require.Equal(t, "openaimodel.Config( at https://api.openai.com/v1, no key)", fmt.Sprint(openaimodel.Config{}))
}

// Each answer to the question for the models, and what is told of it.
func TestAnswersAboutModels(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   []string
		err    string
	}{
		{200, `{"object":"list","data":[{"id":"a"},{"id":"b"}]}`, []string{"a", "b"}, ""},
		{200, `{"data":[{"id":"a"}]}`, []string{"a"}, ""},
		{200, `{"data":[]}`, []string{}, ""},
		{200, `{"object":"list"}`, []string{}, ""},
		{299, `{"object":"list"}`, []string{}, ""},
		{200, `{"object":"other"}`, nil, `model: x.test m: HTTP 200 OK: the answer is no chat completion but {"object":"other"} (is Config.BaseURL right? it is http://x.test/v1)`},
		{200, `{"object":"list","data":5}`, nil, `model: x.test m: HTTP 200 OK: the answer is no chat completion but {"object":"list","data":5} (is Config.BaseURL right? it is http://x.test/v1)`},
		{200, `[]`, nil, `model: x.test m: HTTP 200 OK: the answer is no chat completion but [] (is Config.BaseURL right? it is http://x.test/v1)`},
		{200, `{"error":{"message":"no"}}`, nil, "model: x.test m: HTTP 200 OK: no"},
		{300, `{"object":"list","data":[{"id":"a"}]}`, nil, `model: x.test m: HTTP 300 Multiple Choices: redirected to "" (Config.BaseURL is http://x.test/v1)`},
		{401, `{"error":{"message":"no"}}`, nil, "model: x.test m: HTTP 401 Unauthorized: no (Config.APIKey is not set)"},
	} {
		var asked []string
		m, err := openaimodel.New(openaimodel.Config{
			Name: "m", BaseURL: "http://x.test", Settings: &model.Settings{ExtraHeaders: map[string]string{"X-Extra": "e"}},
			HTTPClient: transport(func(r *http.Request) (*http.Response, error) {
				asked = append(asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("X-Extra"))
				require.Nil(t, r.Body)
				return adaptertest.Respond(r, test.status, adaptertest.Text(test.body)), nil
			}).Client(),
		})
		require.NoError(t, err)
		got, err := m.Models(t.Context())
		require.Equal(t, []string{"GET http://x.test/v1/models e"}, asked)
		require.Equal(t, test.want, got, test.body)
		if test.err == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, test.err)
	}
}

func TestFailedQuestionsForModels(t *testing.T) {
	ask := func(ctx context.Context, f transport, timeouts model.Timeouts) error {
		m, err := openaimodel.New(openaimodel.Config{
			Name: "m", BaseURL: "http://x.test", HTTPClient: f.Client(), Timeouts: timeouts, Settings: &model.Settings{ExtraHeaders: map[string]string{"X-Extra": "extra-secret"}},
		})
		require.NoError(t, err)
		names, err := m.Models(ctx)
		require.Nil(t, names)
		return err
	}
	err := ask(t.Context(), func(*http.Request) (*http.Response, error) { return nil, fmt.Errorf("broken extra-secret") }, model.Timeouts{})
	require.EqualError(t, err, "model: x.test m: no answer from http://x.test/v1 or a proxy (broken [redacted])")
	require.True(t, apiError(t, err).Retryable)
	err = ask(t.Context(), func(r *http.Request) (*http.Response, error) {
		return adaptertest.Respond(r, 200, io.NopCloser(io.MultiReader(strings.NewReader("{"), failingReader{}))), nil
	}, model.Timeouts{})
	require.EqualError(t, err, "model: x.test m: HTTP 200 OK: the answer broke off: broken")
	require.True(t, apiError(t, err).Retryable)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := ask(t.Context(), adaptertest.Drip(time.Second, "{"), model.Timeouts{Idle: time.Minute})
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.EqualError(t, err, "model: x.test m: the response broke off: nothing for 1m0s: i/o timeout")
		require.True(t, apiError(t, err).Retryable)
		require.Equal(t, time.Second+time.Minute, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.EqualError(t, ask(ctx, adaptertest.Never, model.Timeouts{}), "openaimodel: x.test m: request cancelled: context deadline exceeded")
	})
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, fmt.Errorf("broken") }

func TestWhatEveryRequestSends(t *testing.T) {
	for _, responses := range []bool{false, true} {
		var sent *http.Request
		c := openaimodel.Config{
			Name: "m", BaseURL: "http://x.test?q=1", Provider: "azure", APIKey: testKey, Organization: "o", Project: "p", Settings: &model.Settings{ExtraHeaders: map[string]string{"User-Agent": "mine"}}, Retry: model.RetryPolicy{Attempts: 1},
			HTTPClient: transport(func(r *http.Request) (*http.Response, error) {
				sent = r
				return nil, fmt.Errorf("no")
			}).Client(),
		}
		var m model.Model
		var err error
		want := "http://x.test/v1/chat/completions?q=1"
		if responses {
			m, err = openaimodel.NewResponses(c)
			want = "http://x.test/v1/responses?q=1"
		} else {
			m, err = openaimodel.New(c)
		}
		require.NoError(t, err)
		_, err = m.Generate(t.Context(), hello(), nil)
		require.EqualError(t, err, "model: azure m: no answer from http://x.test/v1 or a proxy (no)")
		require.Equal(t, "POST "+want, sent.Method+" "+sent.URL.String())
		require.Equal(t, http.Header{
			"Content-Type": {"application/json"}, "User-Agent": {"mine"}, "Openai-Organization": {"o"}, "Openai-Project": {"p"}, "Api-Key": {testKey},
		}, sent.Header)
	}
}
