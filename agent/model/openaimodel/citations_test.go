// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

func cite(provider, url, name, text, data string) model.Part {
	return model.Part{Kind: model.PartCitation, Provider: provider, URL: url, Name: name, Text: text, Data: []byte(data)}
}

const (
	urlAnnotation  = `{"type":"url_citation","url_citation":{"url":"https://a.test/?q=1","title":"A","content":"why","start_index":0,"end_index":2}}`
	flatAnnotation = `{"type":"url_citation","url":"https://a.test/?q=1","title":"A","start_index":0,"end_index":2}`
	fileAnnotation = `{"type":"file_citation","file_id":"file-1","filename":"log.txt","index":3}`
	searchResult   = `{"title":"P","url":"https://p.test","date":"2026-01-02","snippet":"so"}`
	groqResult     = `{"title":"G","url":"https://g.test","content":"found","score":0.9}`
	executedTool   = `{"index":0,"type":"search","arguments":"{\"query\":\"x\"}","output":"Title: G","search_results":{"results":[` + groqResult + `]}}`
)

func TestCitationsFollowTheirText(t *testing.T) {
	for name, test := range map[string]struct {
		provider, plain, stream string
		want                    []model.Part
	}{
		"OpenAI and OpenRouter": {
			provider: "openrouter",
			plain:    `{"choices":[{"message":{"content":"hi","annotations":[` + urlAnnotation + `]},"finish_reason":"stop"}]}`,
			stream:   events(delta(`{"content":"hi"}`), delta(`{"annotations":[`+urlAnnotation+`]}`), delta(`{"annotations":[`+urlAnnotation+`]}`), finish("stop")),
			want:     []model.Part{cite("openrouter", "https://a.test/?q=1", "A", "why", urlAnnotation)},
		},
		"Perplexity": {
			provider: "perplexity",
			plain:    `{"citations":["https://p.test"],"search_results":[` + searchResult + `],"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`,
			stream: events(`{"citations":["https://p.test"],"search_results":[`+searchResult+`],"choices":[{"index":0,"delta":{"content":"hi"}}]}`,
				`{"citations":["https://p.test"],"search_results":[`+searchResult+`],"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
			want: []model.Part{cite("perplexity", "https://p.test", "P", "so", searchResult)},
		},
		"Perplexity, URLs alone": {
			provider: "perplexity",
			plain:    `{"citations":["https://p.test"],"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`,
			stream:   events(`{"citations":["https://p.test"],"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}`),
			want:     []model.Part{cite("perplexity", "https://p.test", "", "", `"https://p.test"`)},
		},
		"Groq": {
			provider: "groq",
			plain:    `{"choices":[{"message":{"content":"hi","executed_tools":[` + executedTool + `]},"finish_reason":"stop"}]}`,
			stream: events(delta(`{"executed_tools":[{"index":0,"type":"search","arguments":"{\"query\":\"x\"}","output":null}]}`),
				delta(`{"executed_tools":[{"index":0,"output":"Title: G","search_results":{"results":[`+groqResult+`]}}]}`), delta(`{"content":"hi"}`), finish("stop")),
			want: []model.Part{
				cite("groq", "https://g.test", "G", "found", groqResult),
				{Kind: model.PartOpaque, Provider: "groq", Data: []byte(`{"executed_tools":[` + executedTool + `]}`)},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := append([]model.Part{model.Text("hi")}, test.want...)
			e := serve(t, answer{Body: test.plain}, answer{Body: test.stream})
			m := newModel(t, e.URL, test.provider, func(c *openaimodel.Config) { c.Provider = test.provider })
			for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
				msg, err := m.Generate(context.Background(), hello(), sink)
				require.NoError(t, err)
				require.Equal(t, want, msg.Parts)
				require.Equal(t, "hi", msg.Text())
				next := &model.Request{Messages: []*model.Message{model.UserText("a"), msg, model.UserText("b")}}
				sent, err := openaimodel.RequestBody(m, next, false)
				require.NoError(t, err)
				require.NotContains(t, string(sent), ".test", "not sent back")
				require.NotContains(t, string(sent), "executed_tools")
				alike, err := openaimodel.ResponsesBody(newResponses(t, "http://x.test", func(c *openaimodel.Config) { c.Provider = test.provider }), next, false)
				require.NoError(t, err)
				require.NotContains(t, string(alike), ".test")
				require.NotContains(t, string(alike), "executed_tools")
			}
		})
	}
}

func TestCitationsOfResponses(t *testing.T) {
	item := `{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"hi","annotations":[` + flatAnnotation + `,` + fileAnnotation + `]}]}`
	annotate := func(raw string) string {
		return `{"type":"response.output_text.annotation.added","item_id":"msg_1","output_index":0,"content_index":0,"annotation":` + raw + `}`
	}
	begin := []string{
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"hi"}`, annotate(flatAnnotation), annotate(fileAnnotation),
	}
	want := []model.Part{
		model.Text("hi"), cite("openai", "https://a.test/?q=1", "A", "", flatAnnotation), cite("openai", "", "log.txt", "", fileAnnotation),
	}
	for name, body := range map[string]string{
		"whole":                finalResponse(item),
		"stream":               itemEvents(append(begin[:4:4], `{"type":"response.output_item.done","output_index":0,"item":`+item+`}`, completed(finalResponse(item)))...),
		"stream without items": itemEvents(append(begin[:4:4], `{"type":"response.completed","response":{"id":"r","status":"completed"}}`)...),
	} {
		msg, err := newResponses(t, serve(t, answer{Body: body}).URL).Generate(context.Background(), hello(), func(model.Delta) error { return nil })
		require.NoError(t, err, name)
		require.Equal(t, want, msg.Parts, name)
	}
}

func TestCallsWithoutArgumentsCount(t *testing.T) {
	call := `{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":""}`
	for name, body := range map[string]string{
		"whole":  finalResponse(call),
		"stream": itemEvents(`{"type":"response.output_item.done","output_index":0,"item":`+call+`}`, completed(finalResponse(call))),
		"without a name": itemEvents(`{"type":"response.output_item.done","output_index":0,"item":`+strings.Replace(call, `"f"`, `""`, 1)+`}`,
			completed(finalResponse(call))),
	} {
		msg, err := newResponses(t, serve(t, answer{Body: body}).URL).Generate(t.Context(), hello(), func(model.Delta) error { return nil })
		require.NoError(t, err, name)
		require.Len(t, msg.Parts, 1, name)
		require.Equal(t, "f", msg.Parts[0].Tool, name)
	}
}

func TestNamespaceAndCallerAreSentBack(t *testing.T) {
	const extra = `"namespace":"crm","caller":{"type":"program","id":"p<1>"}`
	call := `{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":"{}",` + extra + `}`
	for name, body := range map[string]string{
		"whole": finalResponse(call),
		"stream": itemEvents(`{"type":"response.output_item.added","output_index":0,"item":`+call+`}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+call+`}`, completed(finalResponse(call))),
	} {
		m := newResponses(t, serve(t, answer{Body: body}).URL)
		msg, err := m.Generate(context.Background(), hello(), func(model.Delta) error { return nil })
		require.NoError(t, err, name)
		next := &model.Request{Messages: []*model.Message{model.UserText("a"), msg, request(model.ToolReturn("call_1", "f", "ok"))}}
		sent, err := openaimodel.ResponsesBody(m, next, false)
		require.NoError(t, err)
		require.Contains(t, string(sent), `"arguments":"{}",`+extra+`}`, name)
		other := newResponses(t, "http://x.test", func(c *openaimodel.Config) { c.Provider = "xai" })
		sent, err = openaimodel.ResponsesBody(other, next, false)
		require.NoError(t, err)
		require.NotContains(t, string(sent), "crm", "not sent to another provider")
		chat, err := openaimodel.RequestBody(newModel(t, "http://x.test", "openai"), next, false)
		require.NoError(t, err)
		require.NotContains(t, string(chat), "crm", "and nothing for another protocol")
	}
}

func TestGeminiSignaturesAreSentBack(t *testing.T) {
	const google = `{"google":{"thought_signature":"AbC+/=="}}`
	for name, member := range map[string]string{"Google": `"extra_content":` + google, "LiteLLM": `"provider_specific_fields":{"thought_signature":"AbC+/=="}`} {
		body := `{"choices":[{"message":{"content":"hi","extra_content":` + google + `,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"},` + member + `}]},"finish_reason":"stop"}]}`
		streamed := events(delta(`{"content":"hi"}`), delta(`{"content":"","extra_content":`+google+`}`),
			delta(`{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"},`+member+`}]}`), finish("stop"))
		e := serve(t, answer{Body: body}, answer{Body: streamed})
		m := newModel(t, e.URL, "", func(c *openaimodel.Config) { c.Provider = "gemini" })
		var messages []*model.Message
		for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
			msg, err := m.Generate(context.Background(), hello(), sink)
			require.NoError(t, err, name)
			messages = append(messages, msg)
			next := &model.Request{Messages: []*model.Message{model.UserText("a"), msg, request(model.ToolReturn("c1", "f", "ok"))}}
			sent, err := openaimodel.RequestBody(m, next, false)
			require.NoError(t, err)
			require.True(t, json.Valid(sent))
			require.Contains(t, string(sent), `"arguments":"{}"},`+member+`}`, name)
			require.Contains(t, string(sent), `,"extra_content":`+google+`,"tool_calls"`, name)
			sent, err = openaimodel.RequestBody(newModel(t, "http://x.test", "openai"), next, false)
			require.NoError(t, err)
			require.NotContains(t, string(sent), "AbC", "not sent to another provider")
		}
		require.Equal(t, messages[0].Parts, messages[1].Parts, name)
	}
}
