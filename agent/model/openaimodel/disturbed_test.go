// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestDisturbedStreamIsTheSameAnswer(t *testing.T) {
	stream := events(
		delta(`{"role":"assistant","content":""}`), delta(`{"reasoning":"Let me "}`), delta(`{"reasoning":"think."}`),
		delta(`{"content":"Hello, "}`), delta(`{"content":"wörld"}`),
		delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"time","arguments":""}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\":1}"}}]}`), finish("tool_calls"),
		`{"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}`)
	open := func(t testing.TB, url string) model.Model { return newModel(t, url, "vllm") }
	adaptertest.CheckDisturbed(t, open, stream, map[string]func(string) string{
		"the first chunk twice": func(s string) string { return openEvents(delta(`{"role":"assistant","content":""}`)) + s },
		"named chunks":          func(s string) string { return strings.ReplaceAll(s, "data: {", "event: chunk\ndata: {") },
		"chunks without choices": func(s string) string {
			return openEvents(`{"id":"c1","choices":[]}`, `{"choices":[],"prompt_filter_results":[]}`, `{}`) + s
		},
		"events after the end": func(s string) string { return s + "event: ping\ndata: {}\n\n" },
	}, nil)
}

func TestDisturbedStreamOfResponsesIsTheSameAnswer(t *testing.T) {
	const created = `{"type":"response.created","response":{"id":"r","model":"m","status":"in_progress"}}`
	all := []string{
		created, `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":0,"item_id":"m1","delta":"Hello, "}`,
		`{"type":"response.output_text.delta","output_index":0,"item_id":"m1","delta":"wörld"}`,
		`{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","usage":{"input_tokens":9,"output_tokens":4},"output":[` +
			`{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"Hello, wörld","annotations":[]}]}]}}`,
	}
	open := func(t testing.TB, url string) model.Model { return newResponses(t, url) }
	own := map[string]func(string) string{
		"the first event twice": func(s string) string { return openEvents(created) + s },
		"a newer event":         func(s string) string { return openEvents(`{"type":"response.mood","message":"new"}`) + s },
	}
	adaptertest.CheckDisturbed(t, open, openEvents(all...), own, nil)
	named := ""
	for _, e := range all {
		kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		named += "event: " + kind + "\n" + openEvents(e)
	}
	t.Run("named", func(t *testing.T) { adaptertest.CheckDisturbed(t, open, named, nil, nil) })
}
