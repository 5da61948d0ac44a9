// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

type openFunc func(ctx context.Context, name string, o model.OpenOptions) (model.Model, error)

func (f openFunc) OpenModel(ctx context.Context, name string, o model.OpenOptions) (model.Model, error) {
	return f(ctx, name, o)
}

// echo is a driver whose models have the name they were opened with.
func echo(provider string) model.Driver {
	return model.Driver{
		Env: []string{strings.ToUpper(provider) + "_KEY"},
		Opener: openFunc(func(_ context.Context, name string, o model.OpenOptions) (model.Model, error) {
			if o.APIKey == "" && o.Getenv(strings.ToUpper(provider)+"_KEY") == "" {
				return nil, fmt.Errorf("%s: no key: %w", provider, model.ErrAuth)
			}
			return model.Func(model.Info{Provider: provider, Name: name}, nil), nil
		}),
	}
}

func init() {
	model.Register("parrot", echo("parrot"))
	model.Register("twice", echo("twice"))
	model.Register("twice", echo("twice"))
	model.Register("hollow", model.Driver{})
	model.Register("example", model.Driver{Opener: openFunc(func(_ context.Context, name string, _ model.OpenOptions) (model.Model, error) {
		return model.Func(model.Info{Provider: "example", Name: name}, nil), nil
	})})
	model.Register("absent", model.Driver{Opener: openFunc(func(context.Context, string, model.OpenOptions) (model.Model, error) { return nil, nil })})
}

func keyed(name string) string {
	if name == "PARROT_KEY" {
		return "secret"
	}
	return ""
}

func TestOpenSplitsAtTheFirstColon(t *testing.T) {
	for ref, want := range map[string]string{
		"parrot:polly": "polly", "parrot:qwen3:8b": "qwen3:8b", "parrot:anthropic/claude-sonnet-4.5": "anthropic/claude-sonnet-4.5",
		"parrot::": ":", "  parrot:polly\n": "polly", "parrot:ft:gpt-4o:me::x": "ft:gpt-4o:me::x",
	} {
		m, err := model.OpenWith(t.Context(), ref, model.OpenOptions{Getenv: keyed})
		require.NoError(t, err, ref)
		require.Equal(t, model.Info{Provider: "parrot", Name: want}, m.Info(), ref)
	}
}

func TestOpenOptionsOverrideTheEnvironment(t *testing.T) {
	_, err := model.Open(t.Context(), "parrot:polly")
	require.ErrorIs(t, err, model.ErrAuth)
	require.EqualError(t, err, `model: opening "parrot:polly": parrot: no key: authentication failed`)
	_, err = model.OpenWith(t.Context(), "parrot:polly", model.OpenOptions{APIKey: "secret"})
	require.NoError(t, err)
	t.Setenv("PARROT_KEY", "secret")
	_, err = model.Open(t.Context(), "parrot:polly")
	require.NoError(t, err)
}

func TestOpenSuggestsWhatWasMeant(t *testing.T) {
	const write = "; use provider:name; known providers: absent, example, hollow, parrot, twice"
	for ref, want := range map[string]string{
		"":                              `model: no model given; use provider:name, such as openai:gpt-5-mini`,
		" \t":                           `model: no model given; use provider:name, such as openai:gpt-5-mini`,
		"parrot":                        `model: "parrot" names a provider but no model; use parrot:name`,
		"parrot:":                       `model: "parrot:" names a provider but no model; use parrot:name`,
		"gpt-5":                         `model: "gpt-5": unknown provider; did you mean openai:gpt-5?`,
		"claude-opus-4-5":               `model: "claude-opus-4-5": unknown provider; did you mean anthropic:claude-opus-4-5?`,
		"gemini-3-pro":                  `model: "gemini-3-pro": unknown provider; did you mean google:gemini-3-pro?`,
		"gpt-oss:20b":                   `model: "gpt-oss:20b": unknown provider; did you mean ollama:gpt-oss:20b?`,
		"qwen3:8b":                      `model: "qwen3:8b": unknown provider; did you mean ollama:qwen3:8b?`,
		"llama3.2:latest":               `model: "llama3.2:latest": unknown provider; did you mean ollama:llama3.2:latest?`,
		"openai/gpt-5":                  `model: "openai/gpt-5": unknown provider; did you mean openai:gpt-5?`,
		"parot:polly":                   `model: "parot:polly": unknown provider; did you mean parrot:polly?`,
		"PARROT:polly":                  `model: "PARROT:polly": unknown provider; did you mean parrot:polly?`,
		"lm-studio:x":                   `model: "lm-studio:x": unknown provider; did you mean lmstudio:x?`,
		"claude:opus":                   `model: "claude:opus": unknown provider; did you mean anthropic:opus?`,
		"grok:grok-4":                   `model: "grok:grok-4": unknown provider; did you mean xai:grok-4?`,
		"anthropik":                     `model: "anthropik": unknown provider; did you mean anthropic:name?`,
		"zzz:x":                         `model: "zzz:x": unknown provider` + write,
		"zzz":                           `model: "zzz": unknown provider` + write,
		":x":                            `model: ":x": unknown provider` + write,
		":":                             `model: ":": unknown provider` + write,
		"https://api.openai.com/v1":     `model: "https://api.openai.com/v1": unknown provider` + write,
		"groq:qwen/qwen3-32b":           `model: "groq:qwen/qwen3-32b": unknown provider in this program: import _ "github.com/ponte-go/ponte/agent/model/openaimodel"`,
		"anthropic:claude-sonnet-4-5":   `model: "anthropic:claude-sonnet-4-5": unknown provider in this program: import _ "github.com/ponte-go/ponte/agent/model/anthropicmodel"`,
		"vertex:gemini-3-pro":           `model: "vertex:gemini-3-pro": unknown provider in this program: import _ "github.com/ponte-go/ponte/agent/model/geminimodel"`,
		"twice:x":                       `model: 2 packages of this program register the provider "twice"; import only one of them`,
		"hollow:x":                      `model: provider "hollow" was registered with a driver without an Opener`,
		"absent:x":                      `model: opening "absent:x": the driver returned no model`,
		strings.Repeat("x", 100) + ":y": `model: "` + strings.Repeat("x", 100) + `:y": unknown provider` + write,
	} {
		m, err := model.OpenWith(t.Context(), ref, model.OpenOptions{Getenv: keyed})
		require.EqualError(t, err, want)
		require.Nil(t, m)
		require.Equal(t, strings.Contains(want, "unknown provider"), errors.Is(err, model.ErrUnknownProvider), ref)
	}
}

func TestProvidersAreSortedCopies(t *testing.T) {
	var names []string
	for name, d := range model.Providers() {
		names = append(names, name)
		if len(d.Env) > 0 {
			d.Env[0] = "changed"
		}
	}
	require.Equal(t, []string{"absent", "example", "hollow", "parrot", "twice"}, names)
	for name, d := range model.Providers() {
		require.NotContains(t, d.Env, "changed")
		if name == "parrot" {
			require.Equal(t, []string{"PARROT_KEY"}, d.Env)
			break // stop early
		}
	}
}

func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				_, err := model.OpenWith(context.Background(), "parrot:polly", model.OpenOptions{APIKey: "k"})
				if err != nil {
					t.Error(err)
				}
				for range model.Providers() {
				}
				_, err = model.Open(context.Background(), "parot:polly")
				if !errors.Is(err, model.ErrUnknownProvider) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestOpenOptionsHideTheKey(t *testing.T) {
	const key = "sk-secret-0123456789"
	o := model.OpenOptions{
		APIKey: key, BaseURL: "https://user:" + key + "@host.test/v1?api-key=" + key, HTTPClient: http.DefaultClient, Getenv: os.Getenv,
		Settings: &model.Settings{ExtraHeaders: map[string]string{"X-Key": key}},
	}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("x", "options", o, "any", []any{o, &o})
	}
	for _, v := range []any{o, &o, []any{o}, struct{ O model.OpenOptions }{o}, map[string]model.OpenOptions{"o": o}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb+"\n", v)
		}
		data, err := json.Marshal(v)
		require.NoError(t, err)
		log.Write(data)
	}
	require.NotContains(t, log.String(), key)
	require.NotContains(t, log.String(), fmt.Sprintf("%x", key))
	require.Contains(t, log.String(), "model.OpenOptions(https://host.test/v1, key set)")
	require.Equal(t, "model.OpenOptions(the provider's URL, no key)", fmt.Sprint(model.OpenOptions{}))
	require.Equal(t, "model.OpenOptions(invalid base URL, no key)", fmt.Sprint(model.OpenOptions{BaseURL: "http://\x7f" + key}))
}

// The provider's package is imported for its side effect, for example
//
//	import _ "github.com/ponte-go/ponte/agent/model/openaimodel"
//
// Then a string is enough.
func ExampleOpen() {
	m, err := model.Open(context.Background(), "example:small")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Info().Provider, m.Info().Name)

	_, err = model.Open(context.Background(), "gpt-5")
	fmt.Println(err)
	// Output:
	// example small
	// model: "gpt-5": unknown provider; did you mean openai:gpt-5?
}

// examples opens the models of a provider.
type examples struct{}

func (examples) OpenModel(_ context.Context, name string, o model.OpenOptions) (model.Model, error) {
	if o.APIKey == "" && o.Getenv("EXAMPLE_API_KEY") == "" {
		return nil, fmt.Errorf("example: no API key: set EXAMPLE_API_KEY, or OpenOptions.APIKey: %w", model.ErrAuth)
	}
	return model.Func(model.Info{Provider: "example", Name: name}, nil), nil
}

func ExampleRegister() {
	// A package calls Register in its init function.
	model.Register("example-with-key", model.Driver{Opener: examples{}, Env: []string{"EXAMPLE_API_KEY"}})
}
