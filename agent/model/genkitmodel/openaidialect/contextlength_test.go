// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

import (
	"net/http/httptest"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestContextLengthIsRecognised(t *testing.T) {
	open := func(t testing.TB, url string) model.Model {
		return newModel(t, &endpoint{Server: &httptest.Server{URL: url}})
	}
	adaptertest.ContextLength(t, open, []string{"OpenAI", "Azure", "Groq", "xAI", "Mistral", "vLLM", "SGLang", "Together", "llama.cpp", "LM Studio", "OpenRouter", "GitHub"}, map[string]func(string) string{
		"an event": func(body string) string { return "data: " + body + "\n\n" },
	})
}
