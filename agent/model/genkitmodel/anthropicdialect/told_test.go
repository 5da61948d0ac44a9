// SPDX-License-Identifier: Apache-2.0

package anthropicdialect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/anthropicdialect"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// Each request is a body, or an error before anything is sent.
func TestBodiesOfRequests(t *testing.T) {
	set := func(s model.Settings) *model.Request { return &model.Request{Settings: &s} }
	tools := []model.ToolDef{{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}, {Name: "b"}}
	choose := func(mode model.ToolChoiceMode, parallel *bool, s model.Settings) *model.Request {
		s.ParallelToolCalls = parallel
		return &model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: mode, Tool: map[model.ToolChoiceMode]string{model.ToolChoiceTool: "b"}[mode]}, Settings: &s}
	}
	none := model.Settings{}
	said := func(messages ...*model.Message) *model.Request { return &model.Request{Messages: messages} }
	var told strings.Builder
	for _, test := range []struct {
		name string
		req  *model.Request
	}{
		{"a conversation", &model.Request{Instructions: "I", Messages: []*model.Message{
			model.UserText("a"), model.Response(model.Part{Kind: model.PartThinking, Text: "hm", Provider: "anthropic", Signature: []byte("s")}, model.Text("b"), model.ToolCall("c", "f", `{"n":9007199254740993}`)),
			adaptertest.Request(model.ToolReturn("c", "f", `{"r":1}`), model.User("u"), model.Media("image/png", []byte("png"))),
		}}},
		{"a response at the start and at the end", said(model.Response(model.Text("a")), model.UserText("b"), model.Response(model.Text("c")))}, {"a system prompt before a response", said(adaptertest.Request(model.System("s")), model.Response(model.Text("a")), model.UserText("b"))},
		{"a system prompt alone", said(adaptertest.Request(model.System("s")))}, {"instructions alone", &model.Request{Instructions: "I", Messages: []*model.Message{model.UserText(" ")}}}, {"a result at the end", said(model.UserText("a"), model.Response(model.ToolCall("c", "f", "")), adaptertest.Request(model.ToolReturn("c", "f", "")))},
		{"tokens", set(model.Settings{MaxTokens: 1})}, {"temperature", set(model.Settings{Temperature: new(0.0)})}, {"top p", set(model.Settings{TopP: new(0.25)})}, {"stop", set(model.Settings{Stop: []string{"x"}})}, {"tier", set(model.Settings{ServiceTier: "auto"})},
		{"seed", set(model.Settings{Seed: new(int64(1))})}, {"headers", set(model.Settings{ExtraHeaders: map[string]string{"A": "b"}})}, {"body", set(model.Settings{ExtraBody: map[string]json.RawMessage{"top_k": json.RawMessage("5")}})}, {"a path", set(model.Settings{ExtraBody: map[string]json.RawMessage{"a.b": json.RawMessage("5")}})},
		{"off", set(model.Settings{Thinking: "off"})}, {"off with a temperature", set(model.Settings{Thinking: "off", Temperature: new(0.5)})}, {"minimal", set(model.Settings{Thinking: "minimal"})}, {"low", set(model.Settings{Thinking: "low"})}, {"medium", set(model.Settings{Thinking: "medium"})}, {"high", set(model.Settings{Thinking: "high"})}, {"another level", set(model.Settings{Thinking: "own"})},
		{"off with a limit", set(model.Settings{Thinking: "off", MaxTokens: 5})}, {"thinking within a limit", set(model.Settings{Thinking: "high", MaxTokens: 1025})}, {"thinking beyond a limit", set(model.Settings{Thinking: "minimal", MaxTokens: 1024})}, {"thinking below a limit", set(model.Settings{Thinking: "low", MaxTokens: 4097})}, {"thinking far below a limit", set(model.Settings{Thinking: "low", MaxTokens: 100_000})},
		{"thinking with a temperature", set(model.Settings{Thinking: "low", Temperature: new(0.5)})}, {"thinking with a required call", choose(model.ToolChoiceRequired, nil, model.Settings{Thinking: "low"})}, {"thinking with a named call", choose(model.ToolChoiceTool, nil, model.Settings{Thinking: "low"})}, {"thinking without calls", choose(model.ToolChoiceNone, nil, model.Settings{Thinking: "low"})},
		{"tools", choose("", nil, none)}, {"none", choose(model.ToolChoiceNone, nil, none)}, {"required", choose(model.ToolChoiceRequired, nil, none)}, {"a tool", choose(model.ToolChoiceTool, nil, none)},
		{"several calls", choose("", new(true), none)}, {"one call", choose("", new(false), none)}, {"one of none", choose(model.ToolChoiceNone, new(false), none)}, {"one required call", choose(model.ToolChoiceRequired, new(false), none)}, {"several required calls", choose(model.ToolChoiceRequired, new(true), none)}, {"one named call", choose(model.ToolChoiceTool, new(false), none)},
		{"one call of no tools", set(model.Settings{ParallelToolCalls: new(false)})}, {"none of no tools", &model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone}}}, {"the longest name", &model.Request{Tools: []model.ToolDef{{Name: strings.Repeat("n", 64)}}}}, {"a dot in a name", &model.Request{Tools: []model.ToolDef{{Name: "a.b"}}}},
		{"output", &model.Request{Output: &model.OutputSchema{Schema: json.RawMessage("{}")}}}, {"a document", said(adaptertest.Request(model.Media("application/pdf", []byte("x"))))},
	} {
		if len(test.req.Messages) == 0 {
			test.req.Messages = []*model.Message{model.UserText("hi")}
		}
		e := serve(t, say(200, stream(text("hi"))))
		msg, err := newModel(t, e).Generate(t.Context(), test.req, nil)
		fmt.Fprintf(&told, "== %s\n", test.name)
		if err != nil {
			require.Zero(t, e.count())
			told.WriteString(tell(t, msg, err))
			continue
		}
		decoded, err := genkitmodel.Decode([]byte(e.lastBody())) // the SDK's order is not the same each time
		require.NoError(t, err)
		body := decoded.(map[string]any)
		require.Equal(t, true, body["stream"])
		delete(body, "stream")
		told.WriteString(jsonOf(t, body) + "\n")
	}
	golden(t, "sent.txt", told.String())
}

// What is told of answers: deltas, then the message or the error. The SDK and the plugin read them first.
func TestEverythingThatIsToldOfAnswers(t *testing.T) {
	begun := `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":5}}}`
	ended := func(reason string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":7}}`
	}
	block := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	words := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`
	stop := `{"type":"content_block_stop","index":0}`
	end := `{"type":"message_stop"}`
	all := func(reason string) string { return events(begun, block, words, stop, ended(reason), end) }
	failed := func(kind, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
	}
	var told strings.Builder
	for _, test := range []struct {
		name, body string
		status     int
		header     []string
	}{
		{"text", all("end_turn"), 200, nil}, {"length", all("max_tokens"), 200, nil}, {"a stop string", all("stop_sequence"), 200, nil}, {"a refusal", all("refusal"), 200, nil}, {"a pause", all("pause_turn"), 200, nil}, {"something new", all("new"), 200, nil},
		{"thinking, text, a call and text", stream([]string{`{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"hm"}`, `{"type":"signature_delta","signature":"c2ln"}`}, text("a"), call("c1", "f", `{"n":9007199254740993}`), text("b")), 200, nil},
		{"arguments that are no JSON", stream(call("c", "f", `{"a":`)), 200, nil}, {"a stream that breaks off", events(begun, block, words), 200, nil}, {"nothing", "", 200, nil},
		{"an error in the stream", events(begun, block, words, failed("overloaded_error", "busy")), 200, []string{"Request-Id", "r1"}}, {"an error of another form in the stream", events(begun, `{"type":"error","detail":"x"}`), 200, nil},
		{"rate", failed("rate_limit_error", "slow "+testKey), 429, []string{"Retry-After", "3", "X-Request-Id", "r1"}}, {"billing", failed("billing_error", "pay"), 403, nil}, {"billing with a status", failed("billing_error", "pay"), 402, nil}, {"refused", failed("invalid_request_error", "no"), 400, []string{"Request-Id", "r2", "X-Request-Id", "r1"}},
		{"another form", `{"detail":"x"}`, 500, nil}, {"no message", `{"error":{"type":"t"}}`, 400, nil}, {"a page", "<html>", 502, nil}, {"no body", "", 503, nil}, {"too long", failed("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), 400, nil}, {"unauthenticated", failed("authentication_error", "no"), 401, nil},
	} {
		fmt.Fprintf(&told, "== %s\n", test.name)
		e := serve(t, say(test.status, test.body, append(test.header, "X-Should-Retry", "false")...))
		req := hello()
		req.Tools = []model.ToolDef{{Name: "f"}}
		msg, err := newModel(t, e).Generate(t.Context(), req, func(d model.Delta) error {
			told.WriteString("delta " + jsonOf(t, d) + "\n")
			return nil
		})
		told.WriteString(strings.ReplaceAll(tell(t, msg, err), e.URL, "http://URL"))
	}
	golden(t, "told.txt", madeUp.ReplaceAllString(told.String(), "call_MADEUP"))
}

// schemaOf returns what the dialect makes of a schema.
func schemaOf(schema map[string]any) (map[string]any, error) {
	return anthropicdialect.Dialect().Schema(&genkitmodel.Call{}, schema)
}

func TestSchemasAreResolved(t *testing.T) {
	var told strings.Builder
	for _, text := range []string{
		`{}`, `{"type":"object"}`, `{"type":"object","properties":{}}`, `{"properties":{"a":{"type":"string","enum":["x",1,null,true]}},"required":["a"]}`, `{"properties":null}`,
		`{"$defs":{"a":{}},"definitions":{"b":{}},"other":[{"$ref":"#/$defs/a"}]}`, `{"properties":{"a":{"$ref":"#/$defs/a","description":"own"}},"$defs":{"a":{"type":"integer","description":"its","list":[1,["x"]]}}}`,
		`{"properties":{"a":{"$ref":7}}}`, `{"properties":{"a":{"$ref":"#/none","type":"string"}}}`, `{"properties":{"self":{"$ref":"#"}}}`, `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/b"}}},"b":{"$ref":"#/$defs/c"},"c":{"type":"null"}}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"n":{"type":"integer"}}}}}`,
	} {
		decoded, err := genkitmodel.Decode([]byte(text))
		require.NoError(t, err)
		out, err := schemaOf(decoded.(map[string]any))
		require.NoError(t, err)
		again, err := genkitmodel.Decode([]byte(text))
		require.NoError(t, err)
		require.Equal(t, again, decoded, "the schema itself is not changed")
		fmt.Fprintf(&told, "%s\n  %s\n", text, jsonOf(t, out))
	}
	golden(t, "schemas.txt", told.String())
}

// What references add is bounded: 1 MiB of values and text, and 63 in a chain.
func TestWhatReferencesAddIsBounded(t *testing.T) {
	with := func(target any) map[string]any {
		return map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/a"}}, "$defs": map[string]any{"a": target}}
	}
	for name, test := range map[string]struct {
		of   func(n int) map[string]any
		want int // how many fit
	}{
		"a text":    {func(n int) map[string]any { return with(map[string]any{"description": strings.Repeat("x", n)}) }, 1<<20 - 2},
		"two texts": {func(n int) map[string]any { return with(map[string]any{"l": []any{"ab", strings.Repeat("x", n)}}) }, 1<<20 - 6},
		"values":    {func(n int) map[string]any { return with(map[string]any{"l": make([]any, n)}) }, 1<<20 - 2},
		"a chain": {func(n int) map[string]any {
			defs := map[string]any{"d0": map[string]any{"type": "string"}}
			for i := 1; i < min(n, 100); i++ {
				defs[fmt.Sprintf("d%d", i)] = map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i-1)}
			}
			return map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", min(n, 100)-1)}}, "$defs": defs}
		}, 63},
	} {
		_, err := schemaOf(test.of(test.want))
		require.NoError(t, err, name)
		out, err := schemaOf(test.of(test.want + 1))
		require.EqualError(t, err, "too large after resolving references", name)
		require.Nil(t, out)
	}
	for name, own := range map[string]any{"text": strings.Repeat("x", 1<<21), "members": make([]any, 1<<21)} {
		_, err := schemaOf(map[string]any{"examples": own})
		require.NoError(t, err, "own %s", name)
	}
}

func TestFinishOfTheDialect(t *testing.T) {
	d := anthropicdialect.Dialect()
	require.Equal(t, []any{false, false, []string{"image"}, 0, 64, true, true, true, true}, []any{d.NativeOutput, d.NoForcedCalls, d.Media, len(d.MediaURLs), d.CallIDMax, d.Thinking, d.RawArguments, d.ContentRequired, d.EmptyTextEndsPart})
	c := &genkitmodel.Call{Request: hello(), Settings: &model.Settings{}, Genkit: &ai.ModelRequest{}}
	_, err := d.Prepare(t.Context(), c)
	require.NoError(t, err)
	require.True(t, c.Stream, "the plugin streams always")
	for _, test := range []struct {
		resp *ai.ModelResponse
		want model.FinishReason
	}{{nil, model.FinishStop}, {&ai.ModelResponse{FinishReason: ai.FinishReasonUnknown}, model.FinishError}, {&ai.ModelResponse{FinishReason: ai.FinishReasonOther}, model.FinishStop}} {
		msg := &model.Message{Finish: model.FinishStop}
		require.NoError(t, c.Finish(test.resp, msg))
		require.Equal(t, test.want, msg.Finish)
	}
}

func TestConfigs(t *testing.T) {
	var told strings.Builder
	for _, c := range []anthropicdialect.Config{
		{}, {Name: "m"}, {Name: "m", APIKey: "a b"}, {Name: "m", APIKey: testKey}, {Name: "m", APIKey: testKey, BaseURL: "http://x.test"}, {Name: "m", APIKey: testKey, BaseURL: "http://u:p@x.test/a/v1/"}, {Name: "m", APIKey: testKey, BaseURL: "x"}, {Name: "m", APIKey: testKey, BaseURL: "http://x.test?a=1"},
		{Name: "m", APIKey: testKey, Provider: "own", ContextWindow: 5}, {Name: "m", APIKey: testKey, ContextWindow: -1}, {Name: "m", APIKey: testKey, Settings: &model.Settings{MaxTokens: -1}},
	} {
		m, err := anthropicdialect.New(c)
		text, failed := c.MarshalText()
		require.NoError(t, failed)
		require.Equal(t, []string{fmt.Sprint(c), fmt.Sprint(c)}, []string{string(text), c.LogValue().String()})
		if err != nil {
			require.Nil(t, m)
			fmt.Fprintf(&told, "%s\n  %s", c, tell(t, nil, err))
			continue
		}
		fmt.Fprintf(&told, "%s\n  %s %s\n", c, m, jsonOf(t, m.Info()))
	}
	golden(t, "configs.txt", told.String())
}
