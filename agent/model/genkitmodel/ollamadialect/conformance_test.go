// SPDX-License-Identifier: Apache-2.0

package ollamadialect_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/firebase/genkit/go/plugins/ollama"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/ollamadialect"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/dev/matrix"
)

var models atomic.Int64

// open returns a model of a plugin that uses a test server. Its name is unique, because Genkit keeps all models.
func open(t testing.TB, url string, images bool) *genkitmodel.Model {
	t.Helper()
	idle(t)
	plugin := &ollama.Ollama{ServerAddress: url}
	plugin.Init(t.Context())
	m, err := ollamadialect.New(kit(), plugin, ollamadialect.Config{Name: fmt.Sprintf("m%d", models.Add(1)), Images: images})
	require.NoError(t, err)
	return m
}

func TestConformance(t *testing.T) {
	var mu sync.Mutex
	sent := map[testing.TB]*strings.Builder{}
	matrix.Conformance(t, "genkit ollama", modeltest.Harness{
		Provider: true, ArgsAsJSON: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			if why := impossible(s); why != "" {
				t.Skip(why)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				if sent[t] == nil {
					sent[t] = &strings.Builder{}
				}
				sent[t].Write(body)
				mu.Unlock()
				play(w, r, s, strings.Contains(string(body), `"stream":true`))
			}))
			t.Cleanup(server.Close)
			return open(t, server.URL, true)
		},
		Sent: func(t testing.TB) string {
			mu.Lock()
			defer mu.Unlock()
			if sent[t] == nil {
				return ""
			}
			return sent[t].String()
		},
		Known: map[string]string{
			"A response is what the provider sent/text and a call":                     lostText,
			"A response is what the provider sent/a long integer":                      float,
			"A response is what the provider sent/thinking":                            lostThinking,
			"A response is what the provider sent/cut off":                             lostFinish,
			"A streamed response is the same message/text and a call":                  lostText,
			"A streamed response is the same message/a long integer":                   float,
			"A streamed response is the same message/thinking":                         lostThinking,
			"A streamed response is the same message/cut off":                          lostFinish,
			"Usage is what the provider counted/input and output":                      "the plugin drops usage",
			"Long arguments are exact, at linear cost/1 MiB":                           "the plugin does not read streamed lines over 64 KiB",
			"An error of the provider is an APIError/429, with Retry-After":            header,
			"An error of the provider is an APIError/503, with Retry-After":            header,
			"An error of the provider is an APIError/529, with Retry-After":            header,
			"An error within a stream is an APIError, and the stream is not restarted": lostEnd,
			"A truncated stream is a retryable error":                                  lostEnd,
			"An unknown finish reason is not an error/text":                            lostFinish,
		},
	})
}

const (
	lostText     = "the plugin drops text next to a call"
	lostThinking = "the plugin drops thinking"
	lostFinish   = "the plugin drops the finish reason"
	lostEnd      = "the plugin does not check how a stream ends"
	float        = "the plugin decodes numbers in arguments as floating point"
	header       = "the plugin's errors have no headers"
)

// impossible returns the reason why Ollama cannot play a scenario.
func impossible(s modeltest.Scenario) string {
	if e := s.Error; e != nil && (e.Code == "insufficient_quota" || e.Status == http.StatusPaymentRequired) {
		return "Ollama has no quota"
	}
	if s.Answer == nil {
		return ""
	}
	if u := s.Answer.Usage; u.CacheReadTokens+u.CacheWriteTokens+u.ReasoningTokens > 0 {
		return "Ollama counts only input and output"
	}
	if s.Answer.Finish == model.FinishContentFilter {
		return "Ollama withholds nothing"
	}
	for _, p := range s.Answer.Parts {
		switch {
		case p.Kind == model.PartMedia, p.Kind == model.PartOpaque, len(p.Signature) > 0:
			return "Ollama's responses have none"
		case p.Kind == model.PartToolCall && len(p.Args) > 0 && !json.Valid(p.Args):
			return "Ollama sends arguments as JSON values"
		}
	}
	return ""
}
