// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func opaque(data string) model.Part {
	return model.Part{Kind: model.PartOpaque, Provider: "p", Data: []byte(data)}
}

func cites(url, title, quote, data string) model.Part {
	return model.Part{Kind: model.PartCitation, Provider: "p", URL: url, Name: title, Text: quote, Data: []byte(data)}
}

func TestCallsOfEveryProviderAreRead(t *testing.T) {
	for name, test := range map[string]struct {
		parts []model.Part
		want  []model.NativeCall
	}{
		"OpenAI": {[]model.Part{
			opaque(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"tea","sources":[]}}`),
			opaque(`{"type":"web_search_call","id":"ws_2","status":"completed","action":{"type":"search","queries":["a","b"]}}`),
			opaque(`{"type":"web_search_call","id":"ws_3","status":"failed","action":{"type":"open_page","url":"https://a.test/"}}`),
			opaque(`{"type":"code_interpreter_call","code":"1+1"}`), opaque(`{"type":"reasoning"}`), opaque(`[1]`), opaque(`{`),
		}, []model.NativeCall{{Tool: "web_search", Input: "tea"}, {Tool: "web_search", Input: "a, b"}, {Tool: "web_fetch", Input: "https://a.test/", Failed: true}, {Tool: "code_interpreter"}}},
		"Anthropic": {[]model.Part{
			opaque(`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"tea"}}`),
			opaque(`{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","url":"https://a.test/","encrypted_content":"E"}]}`),
			opaque(`{"type":"server_tool_use","id":"s2","name":"web_fetch","input":{"url":"https://a.test/"}}`),
			opaque(`{"type":"web_fetch_tool_result","tool_use_id":"s2","content":{"type":"web_fetch_tool_result_error","error_code":"url_not_accessible"}}`),
			opaque(`{"type":"server_tool_use","id":"s3","name":"web_fetch","input":"odd"}`),
			opaque(`{"type":"web_fetch_tool_result","tool_use_id":"s3","content":{"type":"web_fetch_result","url":"https://a.test/"}}`),
		}, []model.NativeCall{{Tool: "web_search", Input: "tea"}, {Tool: "web_fetch", Input: "https://a.test/", Failed: true}, {Tool: "web_fetch"}}},
		"Google": {[]model.Part{
			opaque(`{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["tea","cups"]},"id":"g1"},"thoughtSignature":"AA=="}`),
			opaque(`{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{},"id":"g1"}}`),
			opaque(`{"toolCall":{"toolType":"URL_CONTEXT","args":{"urls":["https://a.test/"]},"id":"g2"}}`),
			opaque(`{"metadata":{"groundingMetadata":{"webSearchQueries":["tea"]}}}`),
		}, []model.NativeCall{{Tool: "web_search", Input: "tea, cups"}, {Tool: "web_fetch", Input: "https://a.test/"}}},
		"Google without other tools": {[]model.Part{
			opaque(`{"metadata":{"groundingMetadata":{"webSearchQueries":["tea"]},"urlContextMetadata":{"urlMetadata":[{"retrievedUrl":"https://a.test/","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_ERROR"}]}}}`),
		}, []model.NativeCall{{Tool: "web_search", Input: "tea"}, {Tool: "web_fetch", Input: "https://a.test/", Failed: true}}},
	} {
		require.Equal(t, test.want, model.NativeCalls(model.Response(test.parts...)), name)
	}
}

func TestSourcesSayWhichTextTheyAreFor(t *testing.T) {
	for name, test := range map[string]struct {
		parts []model.Part
		want  []model.NativeSource
	}{
		"OpenAI, in characters": {[]model.Part{
			model.Text("Größe: "), model.Text("日本 is big (a.test)."),
			cites("https://a.test/", "A", "", `{"type":"url_citation","start_index":13,"end_index":19,"url":"https://a.test/"}`),
			cites("https://a.test/", "A", "", `{"type":"url_citation","start_index":0,"end_index":2,"url":"https://a.test/"}`),
		}, []model.NativeSource{{URL: "https://a.test/", Title: "A", Spans: []model.NativeSpan{{9, 15}, {26, 32}}}}},
		"chat": {[]model.Part{
			model.Text("Tea."), cites("https://a.test/", "A", "", `{"type":"url_citation","url_citation":{"start_index":0,"end_index":3,"url":"https://a.test/"}}`),
		}, []model.NativeSource{{URL: "https://a.test/", Title: "A", Spans: []model.NativeSpan{{0, 3}}}}},
		"Anthropic, whole blocks": {[]model.Part{
			model.Text("I looked. "), model.Text("Tea is green."),
			cites("https://a.test/", "A", "green tea", `{"type":"web_search_result_location","encrypted_index":"E"}`), model.Text(" Yes."),
		}, []model.NativeSource{{URL: "https://a.test/", Title: "A", Quote: "green tea", Spans: []model.NativeSpan{{10, 23}}}}},
		"Google, in bytes": {[]model.Part{
			model.Text("Größe zählt. Tea too."),
			cites("https://r.test/1", "a.test", "", `{"web":{"uri":"https://r.test/1","title":"a.test"}}`),
			cites("https://r.test/2", "b.test", "", `{"web":{"uri":"https://r.test/2","title":"b.test"}}`),
			opaque(`{"metadata":{"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://r.test/1","title":"a.test"}},{"web":{"uri":"https://r.test/2","title":"b.test"}}],` +
				`"groundingSupports":[{"segment":{"endIndex":15,"text":"Größe zählt."},"groundingChunkIndices":[0]},{"segment":{"startIndex":1,"endIndex":3,"text":"Tea too."},"groundingChunkIndices":[0,1]}]}}}`),
		}, []model.NativeSource{
			{URL: "https://r.test/1", Title: "a.test", Spans: []model.NativeSpan{{0, 15}, {16, 24}}},
			{URL: "https://r.test/2", Title: "b.test", Spans: []model.NativeSpan{{16, 24}}},
		}},
		"no place": {[]model.Part{
			model.Text("Tea."), cites("https://a.test/", "", "", `"https://a.test/"`), cites("", "file.pdf", "", `{}`), cites("", "", "x", `{}`),
			cites("https://a.test/", "A", "q", `{"start_index":-1,"end_index":99}`),
		}, []model.NativeSource{{URL: "https://a.test/", Title: "A", Quote: "q"}, {Title: "file.pdf"}}},
	} {
		msg := model.Response(test.parts...)
		require.Equal(t, test.want, model.NativeSources(msg), name)
		for _, s := range model.NativeSources(msg) {
			for _, span := range s.Spans {
				require.NotEmpty(t, msg.Text()[span.Start:span.End], name)
			}
		}
	}
}

func TestCompactionsAreFound(t *testing.T) {
	for data, want := range map[string]string{
		`{"type":"compaction","content":"They drank tea."}`:         "They drank tea.",
		`{"type":"compaction","id":"c","encrypted_content":"gAAA"}`: "",
		`{"type":"compaction","content":null}`:                      "",
	} {
		p := opaque(data)
		summary, ok := model.NativeCompaction(&p)
		require.True(t, ok, data)
		require.Equal(t, want, summary)
	}
	for _, p := range []model.Part{opaque(`{"type":"server_tool_use"}`), opaque(`x`), model.Text(`{"type":"compaction"}`)} {
		_, ok := model.NativeCompaction(&p)
		require.False(t, ok)
	}
}

// TestRandomPartsDoNoHarm reads parts that are damaged at random.
func TestRandomPartsDoNoHarm(t *testing.T) {
	forms := []string{
		`{"type":"url_citation","start_index":1,"end_index":3}`, `{"type":"web_search_result_location"}`, `{"url_citation":{"start_index":0,"end_index":9}}`,
		`{"metadata":{"groundingMetadata":{"groundingChunks":[1],"groundingSupports":[{"segment":{"startIndex":5,"endIndex":1,"text":"a"},"groundingChunkIndices":[0,-1]}]}}}`,
		`{"type":"server_tool_use","id":"1","name":"x","input":{"query":["a"]}}`, `{"type":"compaction","content":{}}`, `{"toolCall":{"args":1}}`,
	}
	rng := rand.New(rand.NewPCG(3, 4))
	form := func() string {
		data := []byte(forms[rng.IntN(len(forms))])
		for range rng.IntN(3) {
			data[rng.IntN(len(data))] = "0123456789-,{}[]\"ae"[rng.IntN(19)]
		}
		return string(data)
	}
	for range 5000 {
		m := model.Response(model.Text("größe"), cites("https://a.test/", "", "", form()), cites("https://b.test/", "", "", "1"), opaque(form()), opaque(form()))
		model.NativeCalls(m)
		model.NativeCompaction(&m.Parts[3])
		for _, s := range model.NativeSources(m) {
			for _, span := range s.Spans {
				require.Greater(t, span.End, span.Start)
				_ = m.Text()[span.Start:span.End]
			}
		}
	}
}

func ExampleNativeSources() {
	m := model.Response(
		model.Text("Tea is a plant."),
		model.Part{Kind: model.PartCitation, URL: "https://tea.test/", Name: "On tea", Data: []byte(`{"type":"url_citation","start_index":0,"end_index":3}`)},
	)
	for _, s := range model.NativeSources(m) {
		fmt.Printf("%s (%s) for %q\n", s.Title, s.URL, m.Text()[s.Spans[0].Start:s.Spans[0].End])
	}
	// Output:
	// On tea (https://tea.test/) for "Tea"
}
