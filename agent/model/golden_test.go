// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file, which the flag -update rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
}

func TestAPIErrorsMatchTheGoldenFile(t *testing.T) {
	var told strings.Builder
	for _, status := range []int{0, 100, 199, 200, 299, 300, 400, 401, 403, 429, 500, 529} {
		for _, e := range []model.APIError{
			{}, {Code: "c"}, {Type: "t"}, {Message: "m\n\t n"}, {Code: "c", Message: "\x1b[2Jm"}, {Err: errors.New("cause")}, {Message: "m", Err: errors.New("cause")}, {Code: "context_length_exceeded"}, {Type: "exceed_context_size_error"}, {Provider: "p"}, {Provider: "p", Model: "n", Code: "c", Message: "m"},
		} {
			e.Status = status
			is := ""
			for _, sentinel := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength, model.ErrUnsupported} {
				if errors.Is(&e, sentinel) {
					is += ", is: " + sentinel.Error()
				}
			}
			fmt.Fprintf(&told, "%s%s\n", e.Error(), is)
		}
	}
	golden(t, "api-errors.txt", told.String())
}

func TestNativePartsMatchTheGoldenFile(t *testing.T) {
	opaque := func(data string) model.Part { return model.Part{Kind: model.PartOpaque, Data: []byte(data)} }
	cite := func(url, name, quote, data string) model.Part {
		return model.Part{Kind: model.PartCitation, URL: url, Name: name, Text: quote, Data: []byte(data)}
	}
	const chunk = `{"web":{"uri":"u"}}`
	meta := func(supports string) model.Part {
		return opaque(`{"metadata":{"groundingMetadata":{"groundingChunks":[{"x":1},` + chunk + `],"groundingSupports":[` + supports + `]}}}`)
	}
	var told strings.Builder
	for _, parts := range [][]model.Part{
		nil, {opaque("")}, {opaque("[]")}, {opaque("{")}, {opaque(`{"type":7}`)}, {{Kind: model.PartText, Data: []byte(`{"type":"web_search_call"}`)}},
		{opaque(`{"toolCall":{"id":"a","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["q","r"]}}}`), opaque(`{"toolCall":{"id":"b","toolType":"GOOGLE_SEARCH","args":{"query":"q","queries":["r"]}}}`)}, {opaque(`{"toolCall":{"toolType":"URL_CONTEXT","args":{"urls":["u","v"]}}}`)}, {opaque(`{"toolCall":{"toolType":"CODE_Execution","args":7}}`)},
		{opaque(`{"type":"server_tool_use","id":"a","name":"web_search","input":{"query":"q"}}`), opaque(`{"type":"web_search_tool_result","tool_use_id":"a","content":[]}`)}, {opaque(`{"type":"server_tool_use","id":"a","name":"web_fetch","input":{"url":"u"}}`), opaque(`{"type":"web_fetch_tool_result","tool_use_id":"a","content":{"type":"web_fetch_tool_result_error"}}`)},
		{opaque(`{"type":"server_tool_use","id":"a","name":"n","input":{"code":"c"}}`), opaque(`{"type":"server_tool_use","id":"b","name":"n"}`), opaque(`{"type":"n_tool_result","tool_use_id":"b","content":{"type":"n_error"}}`), opaque(`{"type":"n_tool_result","tool_use_id":"z","content":{"type":"n_error"}}`), opaque(`{"type":"n_tool_result","tool_use_id":"a","content":"n_error"}`), opaque(`{"type":"n_result","tool_use_id":"a","content":{"type":"n_error"}}`), opaque(`{"type":"n_tool_result","content":{"type":"n_error"}}`)},
		{opaque(`{"type":"server_tool_use","id":"a","name":"n"}`), opaque(`{"type":"n_tool_result","tool_use_id":"a"}`)}, {opaque(`{"type":"server_tool_use","id":"a","name":"n"}`), opaque(`{"type":"n_tool_result","tool_use_id":"a","content":{"type":7}}`)},
		{opaque(`{"toolCall":{"id":"a","toolType":"X"}}`), opaque(`{"type":"x_tool_result","tool_use_id":"a","content":{"type":"x_error"}}`)},
		{opaque(`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`)}, {opaque(`{"type":"web_search_call","status":"failed","action":{"type":"open_page","url":"u"}}`)}, {opaque(`{"type":"web_search_call","action":{"type":"find_in_page","url":"u"}}`)}, {opaque(`{"type":"code_interpreter_call","input":{"code":"c"}}`)}, {opaque(`{"type":"x_call","action":{"query":"a"},"input":{"query":"b"}}`)}, {opaque(`{"type":"x_call","action":{"query":7,"url":"u"}}`)},
		{opaque(`{"metadata":{"groundingMetadata":{"webSearchQueries":["q","r"]},"urlContextMetadata":{"urlMetadata":[{"retrievedUrl":"u","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_SUCCESS"},{"retrievedUrl":"v","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_ERROR"},{"retrievedUrl":"w"}]}}}`)},
		{opaque(`{"metadata":{"groundingMetadata":{"webSearchQueries":["q"]}}}`), opaque(`{"type":"x_call"}`)},
		{model.Text("æøå word"), cite("u", "t", "q", `{"start_index":4,"end_index":8}`)}, {model.Text("one "), model.Text("two"), cite("u", "t", "", `{"url_citation":{"start_index":0,"end_index":3}}`)}, {model.Text("a"), cite("u", "", "", `{"type":"char_location"}`), cite("u", "t", "q", `{"type":"page_location"}`), cite("u", "other", "r", `{"type":"x"}`)},
		{model.Text("abc"), cite("u", "t", "", `{"start_index":0,"end_index":3}`), cite("u", "t", "", `{"start_index":0,"end_index":1}`), cite("u", "t", "", `{"start_index":0,"end_index":3}`), cite("u", "t", "", `{"start_index":1,"end_index":2}`)}, {model.Text("abc"), cite("", "t", "", ""), cite("", "s", "", ""), cite("", "t", "q", ""), cite("", "", "q", "")},
		{model.Text("abc"), cite("u", "", "", `{"start_index":3,"end_index":4}`)}, {model.Text("abc"), cite("u", "", "", `{"start_index":-1,"end_index":2}`)}, {model.Text("abc"), cite("u", "", "", `{"start_index":2,"end_index":2}`)}, {model.Text("abc"), cite("u", "", "", `{"start_index":1}`)}, {model.Text("æ"), cite("u", "", "", `{"start_index":0,"end_index":2}`)}, {model.Text("æ"), cite("u", "", "", `{"start_index":0,"end_index":1}`)}, {cite("u", "", "", `{"type":"x_location"}`)}, {cite("u", "", "", `{"start_index":0,"end_index":0}`)}, {model.Text("a"), cite("u", "", "", `7`)},
		{model.Text("one two one"), cite("u", "", "", chunk), meta(`{"segment":{"startIndex":4,"endIndex":7,"text":"two"},"groundingChunkIndices":[1]},{"segment":{"startIndex":9,"endIndex":11,"text":"one"},"groundingChunkIndices":[0,1]},{"segment":{"startIndex":0,"endIndex":3,"text":"one"},"groundingChunkIndices":[0]}`)},
		{model.Text("one two"), cite("u", "", "", chunk), meta(`{"segment":{"startIndex":-1,"endIndex":3,"text":"one"},"groundingChunkIndices":[1]},{"segment":{"startIndex":4,"endIndex":70,"text":"two"},"groundingChunkIndices":[1]},{"segment":{"startIndex":0,"endIndex":3,"text":"none"},"groundingChunkIndices":[1]},{"segment":{"startIndex":0,"endIndex":3},"groundingChunkIndices":[1]},{"segment":{"startIndex":3,"endIndex":3,"text":" "},"groundingChunkIndices":[1]}`)},
		{model.Text("one"), cite("u", "", "", chunk), opaque(`{"metadata":7}`), opaque(`{"other":1}`)}, {model.Text("one"), cite("u", "", "", chunk), meta(`{"segment":{"endIndex":3,"text":"one"},"groundingChunkIndices":[1]}`), opaque(`{"metadata":{}}`)}, {model.Text("one"), cite("u", "", "", chunk), opaque(`{"metadata":7}`), meta(`{"segment":{"endIndex":3,"text":"one"},"groundingChunkIndices":[1]}`)},
	} {
		m := model.Response(parts...)
		shown, err := json.Marshal(m.Parts)
		require.NoError(t, err)
		for _, p := range parts {
			fmt.Fprintf(&told, "%s %q %q %s\n", p.Kind, p.Text, p.URL, p.Data)
		}
		_ = shown
		fmt.Fprintf(&told, "\tcalls %+v\n\tsources %+v\n", model.NativeCalls(m), model.NativeSources(m))
	}
	for _, p := range []model.Part{
		opaque(`{"type":"compaction","content":"s"}`), opaque(`{"type":"compaction_summary","content":"s"}`), opaque(`{"type":"compaction"}`), opaque(`{"type":"compaction","content":[1]}`), opaque(`{"type":"other","content":"s"}`), opaque(`{`), {Kind: model.PartText, Data: []byte(`{"type":"compaction","content":"s"}`)},
	} {
		summary, ok := model.NativeCompaction(&p)
		fmt.Fprintf(&told, "%s %s: %q %t\n", p.Kind, p.Data, summary, ok)
	}
	golden(t, "native.txt", told.String())
}

func TestPricesOfNamesWithDates(t *testing.T) {
	table := model.Prices{"p/m": {Input: 1}, "p/m-20240101": {Input: 2}, "n": {Input: 3}, "q/n": {Input: 4}, "q/*": {Input: 5}, "": {Input: 6}}
	for name, want := range map[string]float64{
		"p m": 1, "p m-20240101": 2, "p m-20240102": 1, "p m@20240102": 1, "p m-2024-01-02": 1, "p m@2024-01-02": 1, "p m:20240102": 0, "p m-20241301": 0, "p m-20000101": 1, "p m-19991231": 0, "p m-20991231": 1, "p m-21000101": 0, "p m-2024010": 0, "p x": 0,
		"p n": 3, "q n": 4, "q n-20240101": 4, "r n-20240101": 3, "q m": 5, "q m-20240101": 5, "r x": 0, "q -20240101": 6, "r 20240101": 0, "r @2024-01-02": 6,
	} {
		provider, of, _ := strings.Cut(name, " ")
		price, ok := table.Price(provider, of, time.Time{})
		require.Equal(t, want != 0, ok, name)
		require.InDelta(t, want, price.Input, 0, name)
	}
}

func TestEachNumberOfAPriceCounts(t *testing.T) {
	usage := model.Usage{InputTokens: 1e6 + 3e5, OutputTokens: 1e6, CacheReadTokens: 1e5, CacheWriteTokens: 2e5, ReasoningTokens: 4e5}
	for _, c := range []struct {
		price model.Price
		want  float64
	}{
		{model.Price{}, 0}, {model.Price{Request: 7}, 7}, {model.Price{Input: 10}, 13}, {model.Price{Input: 10, CachedInput: 1}, 12.1}, {model.Price{Input: 10, CacheWrite: 20}, 15}, {model.Price{Output: 10}, 10}, {model.Price{Output: 10, Reasoning: 20}, 14}, {model.Price{CachedInput: 10}, 1}, {model.Price{CacheWrite: 10}, 2}, {model.Price{Reasoning: 10}, 4},
		{model.Price{Input: 1, Tiers: []model.PriceTier{{Above: 1299999, Input: 10}}}, 13}, {model.Price{Input: 1, Tiers: []model.PriceTier{{Above: 1300000, Input: 10}}}, 1.3}, {model.Price{Input: 1, Tiers: []model.PriceTier{{Above: 1, Input: 10}, {Above: 2, Input: 100, Output: 1, CachedInput: 1, CacheWrite: 2, Reasoning: 3}}}, 100 + 0.1 + 0.4 + 0.6 + 1.2},
	} {
		require.InDelta(t, c.want, c.price.Of(usage), 1e-9, "%+v", c.price)
		_, known := model.Prices{"m": c.price}.Price("p", "m", time.Time{})
		require.True(t, known)
	}
	require.InDelta(t, 4.0, model.Price{Input: 1, Output: 2}.Of(model.Usage{InputTokens: 1e6, CacheReadTokens: 2e6, OutputTokens: 1e6, ReasoningTokens: 3e6}), 1e-9, "impossible counts are not negative")
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		for i, price := range []model.Price{
			{Input: bad}, {Output: bad}, {CachedInput: bad}, {CacheWrite: bad}, {Reasoning: bad}, {Request: bad}, {Tiers: []model.PriceTier{{Input: bad}}}, {Tiers: []model.PriceTier{{Output: bad}}}, {Tiers: []model.PriceTier{{CachedInput: bad}}}, {Tiers: []model.PriceTier{{CacheWrite: bad}}}, {Tiers: []model.PriceTier{{Reasoning: bad}, {}}},
		} {
			for _, table := range []model.Prices{{"m": price}, {"p/m": price}, {"p/*": price}} {
				got, known := table.Price("p", "m", time.Time{})
				require.False(t, known, i)
				require.Zero(t, got.Input)
			}
			require.False(t, price.Free(), i)
		}
	}
	_, known := model.Prices{"m": {Input: math.MaxFloat64}}.Price("p", "m", time.Time{})
	require.True(t, known)
	require.True(t, model.Price{Tiers: []model.PriceTier{{Above: 5}}}.Free())
}

func TestSettingsThatCannotBeAreAllNamed(t *testing.T) {
	s := model.Settings{
		MaxTokens: -1, CompactAt: -2, Temperature: new(math.NaN()), TopP: new(math.Inf(-1)),
		ExtraBody: map[string]json.RawMessage{"a": nil, "b": json.RawMessage("{"), "c": json.RawMessage("1")}, ExtraHeaders: map[string]string{"A": "\n", "B\n": "x", "C": "d"},
	}
	require.EqualError(t, s.Check(), "the setting MaxTokens is -1, must not be negative\nthe setting CompactAt is -2, must not be negative\nthe setting Temperature is NaN, must be a number\nthe setting TopP is -Inf, must be a number\n"+
		"the setting ExtraBody[\"b\"] is not valid JSON\nthe setting ExtraHeaders[\"B\\n\"] is not a valid header")
	require.NoError(t, (&model.Settings{MaxTokens: 0, Temperature: new(-1.0), TopP: new(2.0)}).Check())
	require.NoError(t, (*model.Settings)(nil).Check())
}

func TestRefsOfUnknownProvidersMatchTheGoldenFile(t *testing.T) {
	var told strings.Builder
	for _, ref := range []string{
		"gpt-oss", "gpt-5", "GPT-5", "chatgpt-4o", "o1", "o3-mini", "o4", "o2", "claude-opus", "gemini-3", "deepseek-chat", "grok-4", "mistral-large", "magistral-s", "codestral-x", "devstral-1", "llama3", "anthropic/claude", "nobody/claude", "anthropic/", "openai", "opnai", "claude", "claude:opus", "gemini:x", "google-ai:x", "GPT:x", "Chat_GPT:x", "grok:4", "vertex ai:x", "aws:x", "azure.openai:x", "hf:x", "together-ai:x",
		"llama3.2:3b", "llama3:latest", "qwen2:0.5b", "phi3:mini", "phi3:x", "openai2:3b", "llama:b", "llama:3", "llama:3.5b-x", "gemma:7c", "nothing:alike", "zzz", "zzz:x", "xai:grok", "nvidia:x", "vllm:x", "vertex:x", "google:x", "openrouter:z-ai/glm", "bedrock:x", "bedrock", "lmstudio:x", "azure:x", "cerebras:x", "deepseek:x", "fireworks:x", "groq:x", "huggingface:x", "llamacpp:x", "mistral:x", "ollama:x", "openai:x", "openai-responses:x", "together:x", "anthropic:x",
	} {
		_, err := model.OpenWith(t.Context(), ref, model.OpenOptions{})
		if err == nil {
			fmt.Fprintf(&told, "%s: opened\n", ref)
			continue
		}
		text, _, _ := strings.Cut(err.Error(), "; use provider:name; known providers: ")
		fmt.Fprintf(&told, "%s: %s\n", ref, text)
	}
	golden(t, "refs.txt", told.String())
}
