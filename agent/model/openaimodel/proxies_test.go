// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// MiniMax ends a stream with the whole message, LiteLLM with the calls once more.
func TestWhatAStreamRepeatsAtItsEndCountsOnce(t *testing.T) {
	whole := func(message string) string {
		return `{"id":"c1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":` + message + `}]}`
	}
	call := delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"pay","arguments":"{\"x\":1}"}}]}`)
	for name, test := range map[string]struct {
		chunks []string
		want   []model.Part
	}{
		"text": {
			[]string{delta(`{"content":"Hel"}`), delta(`{"content":"lo"}`), whole(`{"role":"assistant","content":"Hello"}`)},
			[]model.Part{model.Text("Hello")},
		},
		"text and more": {
			[]string{delta(`{"content":"Hel"}`), whole(`{"role":"assistant","content":"Hello"}`)},
			[]model.Part{model.Text("Hello")},
		},
		"only a whole message": {
			[]string{whole(`{"role":"assistant","content":"Hello"}`)},
			[]model.Part{model.Text("Hello")},
		},
		"the last piece in a message": {
			[]string{delta(`{"content":"Hel"}`), whole(`{"content":"lo"}`)},
			[]model.Part{model.Text("Hello")},
		},
		"thinking": {
			[]string{
				delta(`{"reasoning_content":"Hm."}`), delta(`{"reasoning_details":[{"type":"reasoning.text","text":"Hm."}]}`), delta(`{"content":"ha"}`), delta(`{"content":"ha"}`),
				whole(`{"reasoning_content":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm."}],"content":"haha"}`),
			},
			[]model.Part{
				{Kind: model.PartThinking, Text: "Hm.", Provider: "vllm"},
				{Kind: model.PartOpaque, Data: []byte(`[{"type":"reasoning.text","text":"Hm."}]`), Provider: "vllm"}, model.Text("haha"),
			},
		},
		"a call": {
			[]string{call, call, finish("tool_calls")},
			[]model.Part{model.ToolCall("a", "pay", `{"x":1}`)},
		},
		"a call in a message": {
			[]string{call, whole(`{"tool_calls":[{"id":"a","function":{"name":"pay","arguments":"{\"x\":1}"}}]}`)},
			[]model.Part{model.ToolCall("a", "pay", `{"x":1}`)},
		},
		"a call in pieces": {
			[]string{
				fragment(0, "a", "pay", ""), fragment(0, "a", "", `{"x":`), fragment(0, "a", "", `1}`),
				delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"pay","arguments":"\"{\\\"x\\\":1}\""}}]}`), finish("tool_calls"),
			},
			[]model.Part{model.ToolCall("a", "pay", `{"x":1}`)},
		},
		"another call with the same id": {
			[]string{call, delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"pay","arguments":"{\"x\":2}"}}]}`), finish("tool_calls")},
			[]model.Part{model.ToolCall("a", "pay", `{"x":1}`), model.ToolCall("a_2", "pay", `{"x":2}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			msg, err := stream(t, newModel(t, serve(t, answer{Body: events(test.chunks...)}).URL, "vllm"), hello())
			require.NoError(t, err)
			require.Equal(t, test.want, msg.Parts)
		})
	}
}

func TestZerosDoNotReplaceUsage(t *testing.T) {
	zeros := `{"id":"c1","choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`
	body := events(zeros, delta(`{"content":"x"}`), finish("stop"), `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, zeros)
	msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL, ""), hello())
	require.NoError(t, err)
	require.Equal(t, model.Usage{InputTokens: 10, OutputTokens: 2}, msg.Usage)
}

func TestCountsMayBeStringsOrHaveAFraction(t *testing.T) {
	body := events(delta(`{"content":"x"}`), finish("stop"), `{"choices":[],"usage":{"prompt_tokens":"10","completion_tokens":2.0,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":"4"}}}`)
	msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL, ""), hello())
	require.NoError(t, err)
	require.Equal(t, model.Usage{InputTokens: 10, OutputTokens: 2, CacheReadTokens: 4}, msg.Usage)
}

func TestACallThatResponsesRepeatCountsOnce(t *testing.T) {
	item := func(id, call, args string) string {
		return `{"id":"` + id + `","type":"function_call","call_id":"` + call + `","name":"pay","arguments":` + args + `}`
	}
	once, other, more := item("fc_1", "a", `"{}"`), item("fc_2", "b", `"{}"`), item("fc_1", "a", `"{\"x\":1}"`)
	done := func(item string) string { return `{"type":"response.output_item.done","item":` + item + `}` }
	body := openEvents(done(once), done(once), done(other), done(other), done(more),
		`{"type":"response.completed","response":{"id":"r","status":"completed"}}`)
	m, err := openaimodel.NewResponses(openaimodel.Config{Name: "m", BaseURL: serve(t, answer{Body: body}).URL})
	require.NoError(t, err)
	msg, err := stream(t, m, hello())
	require.NoError(t, err)
	require.Equal(t, []model.Part{model.ToolCall("a", "pay", `{}`), model.ToolCall("b", "pay", `{}`), model.ToolCall("a_2", "pay", `{"x":1}`)}, msg.Parts)
}

// An answer of something else than a model, with status 200, says what it is and where.
func TestWhatIsNoAnswerIsQuoted(t *testing.T) {
	for body, want := range map[string]string{
		"Please log in.\n\nThank you.": "is no chat completion but Please log in. (is Config.BaseURL right?",
		`"hello"`:                      `is no chat completion but "hello" (is Config.BaseURL right?`,
		`["hello"]`:                    `is no chat completion but ["hello"] (is Config.BaseURL right?`,
		`true`:                         `is no chat completion but true (is Config.BaseURL right?`,
		`17`:                           `is no chat completion but 17 (is Config.BaseURL right?`,
		`{"status":"ok"}`:              `the response contains no message: {"status":"ok"}`,
		"data: <html>\n\n":             `not valid JSON: invalid character '<' looking for beginning of value: <html>`,
		"data: Busy\n\n":               `: Busy`,
		`"{\"error\":{\"message\":\"prompt is too long: 5 tokens > 4 maximum\"}}"`: "prompt is too long: 5 tokens > 4 maximum",
		// What may be the beginning of a stream has broken off.
		"x-trace: 1\n" + openEvents(delta(`{"content":"x"}`)): "broke off",
		"da": "broke off", ": keep-alive\n\n": "broke off", "id: 7\n\n": "broke off", "\n": "broke off", "": "broke off",
	} {
		for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
			e := serve(t, answer{Body: body})
			_, err := newModel(t, e.URL, "").Generate(t.Context(), hello(), sink)
			require.ErrorContains(t, err, want, body)
			require.Equal(t, want == "broke off" || strings.HasPrefix(body, "{"), apiError(t, err).Retryable, body)
			if strings.Contains(want, "BaseURL") {
				require.ErrorContains(t, err, e.URL)
			}
		}
	}
	_, err := newModel(t, serve(t, answer{Body: openEvents(`{"id":"x"}`, "[DONE]")}).URL, "").Generate(t.Context(), hello(), nil)
	require.ErrorContains(t, err, "the response contains no message: no choices")
	long := strings.Repeat("x", 10_000)
	_, err = newModel(t, serve(t, answer{Body: `{"status":"` + long + `"}`}).URL, "").Generate(t.Context(), hello(), nil)
	require.Less(t, len(err.Error()), 500)
}

// Google's endpoint, and proxies, write errors into a stream as they would write them without one.
func TestBareErrorsWithinAStreamAreRead(t *testing.T) {
	begin := openEvents(delta(`{"content":"x"}`))
	for _, body := range []string{
		begin + `{"error":{"code":503,"message":"overloaded"}}`,
		begin + "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"overloaded\"\n  }\n}\n",
		begin + `[{"error":{"code":503,"message":"overloaded"}}]` + "\n\n",
	} {
		_, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL, ""), hello())
		require.ErrorContains(t, err, "overloaded")
		require.Equal(t, 503, apiError(t, err).Status)
	}
}
