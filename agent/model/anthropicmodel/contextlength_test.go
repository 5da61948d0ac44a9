// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// Other providers have this protocol, too, and say it in their own words.
func TestContextLengthIsRecognised(t *testing.T) {
	open := func(t testing.TB, url string) model.Model { return newModel(t, url) }
	adaptertest.ContextLength(t, open, []string{""}, nil) // many servers have an endpoint with this protocol
	adaptertest.ContextLength(t, open, []string{"Anthropic", "OpenRouter"}, map[string]func(string) string{
		"an event":   func(body string) string { return "event: error\ndata: " + body + "\n\n" },
		"status 200": func(body string) string { return body },
	})
}

func TestEmptyResponseForAFullWindowIsAContextLengthError(t *testing.T) {
	body := `{"id":"m","type":"message","role":"assistant","content":[],"model":"claude","stop_reason":"model_context_window_exceeded","usage":{"input_tokens":200000,"output_tokens":0}}`
	_, err := newModel(t, adaptertest.Serve(t, adaptertest.Answer{Body: body}).URL).Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hi")}}, nil)
	require.ErrorIs(t, err, model.ErrContextLength)
}
