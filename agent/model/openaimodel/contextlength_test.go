// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// Compaction's second try depends on it.
func TestContextLengthIsRecognised(t *testing.T) {
	forms := map[string]func(string) string{
		"status 200":        func(body string) string { return body },
		"start of a stream": func(body string) string { return "data: " + body + "\n\n" },
		"named event":       func(body string) string { return "event: error\ndata: " + body + "\n\n" },
		"within a stream":   func(body string) string { return openEvents(delta(`{"content":"hi"}`), body) },
	}
	adaptertest.ContextLength(t, func(t testing.TB, url string) model.Model { return newModel(t, url, "vllm") }, []string{""}, forms)
}

func TestContextLengthIsRecognisedInResponses(t *testing.T) {
	forms := map[string]func(string) string{
		"named event":     func(body string) string { return "event: error\ndata: " + body + "\n\n" },
		"within a stream": func(body string) string { return "data: " + body + "\n\n" },
		"a failed response": func(body string) string {
			return `data: {"type":"response.failed","response":{"id":"r","status":"failed","error":` + body + "}}\n\n"
		},
	}
	of := []string{"OpenAI", "Azure", "xAI", "Groq", "vLLM", "SGLang", "llama.cpp", "LM Studio", "Ollama", "OpenRouter"}
	adaptertest.ContextLength(t, func(t testing.TB, url string) model.Model { return newResponses(t, url) }, of, forms)
}

// Z.ai says so with a finish reason.
func TestEmptyResponseForAFullWindowIsAContextLengthError(t *testing.T) {
	const full = "model_context_window_exceeded"
	for _, body := range []string{
		`{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"` + full + `"}]}`,
		events(delta(`{"role":"assistant","content":""}`), finish(full)),
	} {
		_, err := newModel(t, serve(t, answer{Body: body}).URL, "").Generate(context.Background(), hello(), func(model.Delta) error { return nil })
		require.ErrorIs(t, err, model.ErrContextLength)
		require.ErrorContains(t, err, full)
	}
	msg, err := newModel(t, serve(t, answer{Body: events(delta(`{"content":"On"}`), finish(full))}).URL, "").Generate(context.Background(), hello(), nil)
	require.NoError(t, err, "a response that is cut off is a response")
	require.Equal(t, model.FinishLength, msg.Finish)
}
