// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/dev/matrix"
)

func TestConformance(t *testing.T) {
	var seen seen
	matrix.Conformance(t, "openaimodel", seen.watch(modeltest.Harness{
		Provider: true, Citations: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			server := seen.serve(t, func(w http.ResponseWriter, r *http.Request, body string) {
				play(w, r, s, strings.Contains(body, `"stream":true`))
			})
			provider := "openai"
			if s.Answer != nil {
				for _, p := range s.Answer.Parts {
					switch {
					case p.Kind == model.PartThinking && len(p.Signature) > 0:
						t.Skip("Chat Completions does not sign thinking")
					case p.Kind == model.PartOpaque, p.Kind == model.PartMedia:
						provider = "openrouter" // the only one with reasoning to send back, and images
					}
				}
			}
			return newModel(t, server, provider)
		},
	}))
}

// seen records what the fake servers of a harness have received, by test.
type seen struct {
	mu     sync.Mutex
	sent   map[testing.TB]*strings.Builder
	header map[testing.TB]http.Header
}

// serve starts a server and returns its address.
func (s *seen) serve(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, body string)) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		if s.sent == nil {
			s.sent, s.header = map[testing.TB]*strings.Builder{}, map[testing.TB]http.Header{}
		}
		if s.sent[t] == nil {
			s.sent[t] = &strings.Builder{}
		}
		s.sent[t].Write(body)
		s.header[t] = r.Header
		s.mu.Unlock()
		answer(w, r, string(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// watch adds Sent and SentHeader to a harness.
func (s *seen) watch(h modeltest.Harness) modeltest.Harness {
	h.Sent = func(t testing.TB) string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sent[t] == nil {
			return ""
		}
		return s.sent[t].String()
	}
	h.SentHeader = func(t testing.TB) http.Header {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.header[t]
	}
	return h
}
