// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/dev/matrix"
)

// By default every response is streamed, because it may be long.
func TestConformance(t *testing.T) {
	matrix.Conformance(t, "anthropicmodel", harness(uncached))
}

// Short responses are not streamed if there is no sink.
func TestConformanceUnstreamed(t *testing.T) {
	modeltest.Conformance(t, harness(func(c *anthropicmodel.Config) {
		c.Settings = &model.Settings{MaxTokens: 1000}
	}))
}

// Newer models support other settings, and system messages within the conversation.
func TestConformanceOfNewerModels(t *testing.T) {
	modeltest.Conformance(t, harness(named("claude-opus-5-5")))
}

func harness(change func(*anthropicmodel.Config)) modeltest.Harness {
	var mu sync.Mutex
	bodies, headers := map[testing.TB]*strings.Builder{}, map[testing.TB]http.Header{}
	return modeltest.Harness{
		Provider: true, Citations: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				if bodies[t] == nil {
					bodies[t] = &strings.Builder{}
				}
				bodies[t].Write(body)
				headers[t] = r.Header
				mu.Unlock()
				play(w, r, inBlocks(s), strings.Contains(string(body), `"stream":true`))
			}))
			t.Cleanup(server.Close)
			m := newModel(t, server.URL, change)
			skipWhatTheWireCannotSay(t, s, m)
			return m
		},
		Sent: func(t testing.TB) string {
			mu.Lock()
			defer mu.Unlock()
			if bodies[t] == nil {
				return ""
			}
			return bodies[t].String()
		},
		SentHeader: func(t testing.TB) http.Header {
			mu.Lock()
			defer mu.Unlock()
			return headers[t]
		},
	}
}

// inBlocks returns a scenario in which each passage with sources is a text of its own, followed by its citations, as
// Anthropic answers.
func inBlocks(s modeltest.Scenario) modeltest.Scenario {
	if s.Answer == nil || !slices.ContainsFunc(s.Answer.Parts, func(p model.Part) bool { return p.Kind == model.PartCitation }) {
		return s
	}
	passages := map[model.NativeSpan][]model.Part{}
	for _, source := range model.NativeSources(s.Answer) {
		for _, span := range source.Spans {
			passages[span] = append(passages[span], model.Part{Kind: model.PartCitation, Data: []byte(fmt.Sprintf(
				`{"type":"web_search_result_location","url":%s,"title":%s,"encrypted_index":"Eo8B","cited_text":"as it is there"}`, quote(source.URL), quote(source.Title)))})
		}
	}
	text, from := s.Answer.Text(), 0
	answer := *s.Answer
	answer.Parts = nil
	for _, span := range slices.SortedFunc(maps.Keys(passages), func(a, b model.NativeSpan) int { return a.Start - b.Start }) {
		if span.Start > from {
			answer.Parts = append(answer.Parts, model.Text(text[from:span.Start]))
		}
		answer.Parts = append(append(answer.Parts, model.Text(text[span.Start:span.End])), passages[span]...)
		from = span.End
	}
	if from < len(text) {
		answer.Parts = append(answer.Parts, model.Text(text[from:]))
	}
	s.Answer = &answer
	return s
}

func skipWhatTheWireCannotSay(t testing.TB, s modeltest.Scenario, m *anthropicmodel.Model) {
	if s.Answer == nil {
		return
	}
	for _, p := range s.Answer.Parts {
		switch {
		case p.Kind == model.PartMedia:
			t.Skip("the Messages API returns no media")
		case p.Kind == model.PartToolCall && len(p.Signature) > 0:
			t.Skip("the Messages API does not sign calls")
		case p.Kind == model.PartToolCall && !json.Valid(p.Args) && !anthropicmodel.Streams(m, &model.Request{}) && !strings.HasPrefix(s.Rule, "Streamed"):
			t.Skip("arguments in an answer in one piece are JSON")
		}
	}
}
