// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/app/offline"
)

func env(pairs ...string) environment {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return values[name] }
}

func demo(pace time.Duration) model.Model { return offline.New(offline.Config{Delay: pace}) }

// nobody is an address at which nothing answers.
func nobody(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return server.URL
}

// ollama is a server with the given models. It answers once it has got something from ready.
func ollama(t *testing.T, list string, ready <-chan struct{}) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ready:
		case <-r.Context().Done():
			return
		}
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"object":"list","data":` + list + `}`))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestTheModelThatIsChosen(t *testing.T) {
	const secret = "sk-secret-key"
	var never chan struct{}
	chosen := make(chan struct{}, 1) // to choose must not wait for the network, which answers later
	for name, c := range map[string]struct {
		flag      string
		env       environment
		want, why string
	}{
		"a key":                     {"", env("OPENAI_API_KEY", secret), "openai:gpt-5-mini", "OPENAI_API_KEY is set"},
		"a key and a model":         {"", env("OPENAI_API_KEY", secret, "OPENAI_MODEL", "x"), "openai:x", "OPENAI_API_KEY is set"},
		"a server without keys":     {"", env("OPENAI_BASE_URL", "http://localhost:8000", "OPENAI_MODEL", "x"), "openai:x", "OPENAI_BASE_URL and OPENAI_MODEL are set"},
		"a local Ollama":            {"", env("OLLAMA_HOST", ollama(t, `[{"id":"nomic-embed-text"},{"id":"qwen3:8b"}]`, chosen)), "ollama:qwen3:8b", "no API key is set, and an Ollama answers"},
		"an Ollama without a model": {"", env("OLLAMA_HOST", ollama(t, `[]`, chosen)), "offline (a demo model: a few rules and no intelligence)", "no API key is set, and the Ollama here has no model"},
		"a slow Ollama":             {"", env("OLLAMA_HOST", ollama(t, `[{"id":"x"}]`, never)), "offline (a demo model: a few rules and no intelligence)", "no API key is set, and no Ollama answers"},
		"an Ollama that is nowhere": {"", env("OLLAMA_HOST", "ftp://x"), "offline (a demo model: a few rules and no intelligence)", `no API key is set, and model: opening "ollama:probe": openaimodel: ollama: OLLAMA_HOST "ftp://x" is not an address`},
		"nothing":                   {"", env("OLLAMA_HOST", nobody(t)), "offline (a demo model: a few rules and no intelligence)", "no API key is set, and no Ollama answers"},
		"another provider's key":    {"", env("MISTRAL_API_KEY", secret, "XAI_API_KEY", secret), "mistral:mistral-medium-latest", "MISTRAL_API_KEY is set"},
		"OpenAI's key goes first":   {"", env("MISTRAL_API_KEY", secret, "OPENAI_API_KEY", secret), "openai:gpt-5-mini", "OPENAI_API_KEY is set"},
		"offline wanted":            {"offline", env("OPENAI_API_KEY", secret), "offline (a demo model: a few rules and no intelligence)", "-model says so"},
		"openai wanted":             {"openai:gpt-x", env("OPENAI_API_KEY", secret), "openai:gpt-x", "-model says so"},
		"groq wanted":               {"groq:qwen/qwen3-32b", env("GROQ_API_KEY", secret, "OPENAI_API_KEY", secret), "groq:qwen/qwen3-32b", "-model says so"},
		"ollama wanted":             {"ollama:qwen3:8b", env(), "ollama:qwen3:8b", "-model says so"},
	} {
		t.Run(name, func(t *testing.T) {
			select {
			case <-chosen: // left by the case before
			default:
			}
			told := make(chan choice, 2)
			patience := time.Minute
			if name == "a slow Ollama" {
				patience = 50 * time.Millisecond
			}
			m, err := chooser{env: c.env, demo: demo, tell: func(c choice) { told <- c }, patience: patience}.choose(t.Context(), c.flag)
			require.NoError(t, err)
			require.NotEmpty(t, m.Info().Name)
			chosen <- struct{}{}
			got := <-told
			require.Equal(t, c.want, got.name)
			require.Equal(t, c.why, got.why)
			require.NotContains(t, got.name+got.why, secret)
		})
	}
}

func TestTheDefaultModelAnswersOnceItIsFound(t *testing.T) {
	m, err := chooser{env: env("OLLAMA_HOST", nobody(t)), demo: demo, tell: func(choice) {}}.choose(t.Context(), "")
	require.NoError(t, err)
	answer, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("help")}}, nil)
	require.NoError(t, err)
	require.Contains(t, answer.Text(), "offline demo model")
}

func TestAWrongModelIsExplained(t *testing.T) {
	for name, want := range map[string]string{
		"openai:gpt-5": `-model: opening "openai:gpt-5": openaimodel: openai: no API key: set OPENAI_API_KEY, or OpenOptions.APIKey: authentication failed`,
		"openai":       `-model: "openai" names a provider but no model; use openai:name`,
		"ollama:":      `-model: "ollama:" names a provider but no model; use ollama:name`,
		"gpt-5":        `-model: "gpt-5": unknown provider; did you mean openai:gpt-5?`,
		"olama:qwen3":  `-model: "olama:qwen3": unknown provider; did you mean ollama:qwen3?`,
		"ofline":       "-model ofline: unknown; did you mean offline?",
	} {
		_, err := chooser{env: env(), demo: demo}.choose(t.Context(), name)
		require.EqualError(t, err, want)
	}
}

func TestDefaultModelsAreOfProvidersThatAreKnown(t *testing.T) {
	for provider := range defaultModels {
		_, err := chooser{env: env(), demo: demo}.named(t.Context(), provider+":x")
		require.Regexp(t, "no API key: set |: import _ ", err)
	}
}

// Without any model, the answer is what to do.
func TestWithoutAModelTheAnswerIsAdvice(t *testing.T) {
	none := chooser{program: "desk"}.none("no key")
	require.Equal(t, [2]string{"none", "no key"}, [2]string{none.name, none.why})
	require.Equal(t, model.Info{Provider: "desk", Name: "none"}, none.Info())
	_, err := none.Generate(t.Context(), nil, nil)
	require.ErrorIs(t, err, model.ErrAuth)
	require.EqualError(t, err, model.ErrAuth.Error()+`: there is no model: run "desk login", set the key of a provider such as OPENAI_API_KEY, start Ollama, or use -model`)
	last := chooser{program: "desk", demo: demo}.none("no key")
	require.Equal(t, [2]string{"offline (a demo model: a few rules and no intelligence)", "no key"}, [2]string{last.name, last.why})
	require.Equal(t, "offline-demo", last.Info().Name)
}
