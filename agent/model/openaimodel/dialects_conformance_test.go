// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// The contract holds for every profile: what is not supported is an error, and nothing is dropped.
func TestDialectsConform(t *testing.T) {
	// TestConformance covers openai and openrouter. Together with these, every switch that a rule depends on is covered.
	for _, provider := range []string{"deepseek", "llamacpp", "mistral", "together"} {
		t.Run(provider, func(t *testing.T) {
			var seen seen
			modeltest.Conformance(t, seen.watch(modeltest.Harness{
				Provider: true, Citations: true,
				New: func(t testing.TB, s modeltest.Scenario) model.Model {
					server := seen.serve(t, func(w http.ResponseWriter, r *http.Request, body string) {
						play(w, r, s, strings.Contains(body, `"stream":true`))
					})
					if s.Answer != nil {
						for i := range s.Answer.Parts {
							switch p := &s.Answer.Parts[i]; {
							case p.Kind == model.PartThinking && len(p.Signature) > 0:
								t.Skip("Chat Completions does not sign thinking")
							case p.Kind == model.PartOpaque, p.Kind == model.PartMedia:
								t.Skip("OpenRouter alone answers so")
							}
						}
					}
					return newModel(t, server, provider)
				},
			}))
		})
	}
}
