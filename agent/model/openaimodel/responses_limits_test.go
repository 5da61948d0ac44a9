// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// The total size of a response is limited, whatever the endpoint repeats.
func TestResponsesAreBounded(t *testing.T) {
	t.Parallel() // it takes a second
	repeated := func(n int, event string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(event, i)
		}
		return events(list...)
	}
	half := strings.Repeat("x", 8<<20)
	for name, test := range map[string]struct{ body, says string }{
		"items":     {repeated(5000, `{"type":"response.output_item.done","output_index":%d,"item":{"type":"message"}}`), "more than 4096 items"},
		"messages":  {repeated(5000, `{"type":"response.output_text.delta","output_index":%d,"delta":"x"}`), "more than 4096 items"},
		"calls":     {repeated(5000, `{"type":"response.function_call_arguments.delta","output_index":%d,"delta":"x"}`), "more than 4096 items"},
		"reasoning": {repeated(5000, `{"type":"response.reasoning_text.delta","output_index":%d,"delta":"x"}`), "more than 4096 items"},
		"summaries": {repeated(5000, `{"type":"response.reasoning_summary_text.delta","summary_index":%d,"delta":"x"}`), "more than 4096 items"},
		"whole items": {
			`{"status":"completed","output":[` + strings.Repeat(`{"type":"odd"},`, 5000) + `{"type":"odd"}]}`, "more than 4096 items",
		},
		"whole summaries": {
			`{"status":"completed","output":[{"type":"reasoning","summary":[` + strings.Repeat(`{"text":"x"},`, 5000) + `{"text":"x"}]}]}`, "more than 4096 items",
		},
		"arguments": {repeated(9, `{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"%d","delta":"`+half+`"}`), "longer than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newResponses(t, serve(t, answer{Body: test.body}).URL).Generate(context.Background(), hello(), nil)
			require.ErrorContains(t, apiError(t, err), test.says)
		})
	}
}

func TestResponsesAreOpenedByName(t *testing.T) {
	server := serve(t, answer{Body: responseCases["text"].plain})
	environment := map[string]string{"OPENAI_API_KEY": testKey, "OPENAI_BASE_URL": server.URL}
	m, err := model.OpenWith(t.Context(), "openai-responses:gpt-5", model.OpenOptions{Getenv: func(name string) string { return environment[name] }})
	require.NoError(t, err)
	require.Equal(t, "openai", m.Info().Provider)
	msg, err := m.Generate(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "Hello, wörld", msg.Text())
	require.Equal(t, "/v1/responses", server.Requests[0].URL.Path)
	require.Equal(t, "Bearer "+testKey, server.Requests[0].Header.Get("Authorization"))

	_, err = model.OpenWith(t.Context(), "openai-responses:gpt-5", model.OpenOptions{Getenv: func(string) string { return "" }})
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "OPENAI_API_KEY")
	_, err = model.OpenWith(t.Context(), "openai-responses:gpt-5", model.OpenOptions{BaseURL: "ftp://x"})
	require.ErrorContains(t, err, "BaseURL")
}
