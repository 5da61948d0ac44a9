// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// finalResponse returns the response at the end of a stream, or an unstreamed response.
func finalResponse(output ...string) string {
	return `{"id":"resp_1","object":"response","status":"completed","error":null,"incomplete_details":null,"model":"gpt-5","output":[` +
		strings.Join(output, ",") + `],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":2},"output_tokens":4,` +
		`"output_tokens_details":{"reasoning_tokens":1},"total_tokens":13}}`
}

func completed(response string) string {
	return `{"type":"response.completed","response":` + response + `}`
}

func responseMessage(finish model.FinishReason, parts ...model.Part) *model.Message {
	return &model.Message{
		Kind: model.KindResponse, Provider: "openai", Model: "gpt-5", ResponseID: "resp_1", Finish: finish, Parts: parts,
		Usage: model.Usage{InputTokens: 9, OutputTokens: 4, CacheReadTokens: 2, ReasoningTokens: 1},
	}
}

const (
	twoSummaries = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"First."},{"type":"summary_text","text":"Then."}],` +
		`"encrypted_content":"gAAA+/=","status":null}`
	rawReasoning = `{"id":"rs_1", "type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"I <see> 9007199254740993."}],"status":"completed"}`
	webSearch    = `{"id":"ws_1", "type":"web_search_call","status":"completed","action":{"type":"search","query":"<rain>","n":9007199254740993}}`
	aMessage     = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"Hello, "},{"type":"output_text","text":"wörld"}]}`
	aCall        = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{ \"city\": \"Oslo\" }","call_id":"call_1","name":"weather"}`
	aRefusal     = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`
)

// responseCases lists responses of the Responses API, streamed and not.
var responseCases = map[string]pair{
	"text": {
		plain: finalResponse(aMessage),
		stream: itemEvents(
			`{"type":"response.created","response":{"id":"resp_1","status":"in_progress","model":"gpt-5","output":[]}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}`,
			`{"type":"response.content_part.added","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":""}}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello, ","logprobs":[]}`,
			`{"type":"response.output_text.done","item_id":"msg_1","output_index":0,"content_index":0,"text":"Hello, "}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":1,"delta":"w\u00f6rld"}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+aMessage+`}`,
			completed(finalResponse(aMessage))),
		want: responseMessage(model.FinishStop, model.Text("Hello, wörld")),
	},
	"reasoning with summaries, commentary and a call": {
		plain: finalResponse(twoSummaries, strings.Replace(aMessage, `"role"`, `"phase":"commentary","role"`, 1), aCall),
		stream: itemEvents(
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA-begin"}}`,
			`{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Fir"}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"st."}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Then."}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+twoSummaries+`}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","phase":"commentary","content":[],"role":"assistant"}}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"delta":"Hello, wörld"}`,
			`{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","arguments":"","call_id":"call_1","name":"weather"}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{ \"city"}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"\": \"Oslo\" }"}`,
			`{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":2,"arguments":"{ \"city\": \"Oslo\" }"}`,
			`{"type":"response.output_item.done","output_index":2,"item":`+aCall+`}`,
			completed(finalResponse(twoSummaries, strings.Replace(aMessage, `"role"`, `"phase":"commentary","role"`, 1), aCall))),
		want: responseMessage(model.FinishToolCalls,
			model.Part{Kind: model.PartThinking, Text: "First.", Provider: "openai", ID: "rs_1", Signature: []byte("gAAA+/=")},
			model.Part{Kind: model.PartThinking, Text: "Then.", Provider: "openai", ID: "rs_1"},
			model.Part{Kind: model.PartText, Text: "Hello, wörld", Provider: "openai", Signature: []byte("commentary")},
			model.ToolCall("call_1", "weather", `{ "city": "Oslo" }`)),
	},
	"reasoning that is hidden": {
		plain: finalResponse(`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}`, aMessage),
		stream: itemEvents(
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"delta":"Hello, wörld"}`,
			completed(finalResponse(`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}`, aMessage))),
		want: responseMessage(model.FinishStop,
			model.Part{Kind: model.PartThinking, Provider: "openai", ID: "rs_1", Signature: []byte("gAAA")}, model.Text("Hello, wörld")),
	},
	"reasoning that can be read": {
		plain: finalResponse(rawReasoning, aMessage),
		stream: itemEvents(
			`{"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":0,"delta":"I <see>"}`,
			`{"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":0,"delta":" 9007199254740993."}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+rawReasoning+`}`,
			completed(finalResponse(rawReasoning, aMessage))),
		want: responseMessage(model.FinishStop,
			model.Part{Kind: model.PartThinking, Text: "I <see> 9007199254740993.", Provider: "openai", ID: "rs_1"},
			model.Part{Kind: model.PartOpaque, Provider: "openai", ID: "rs_1", Data: []byte(
				`{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"I <see> 9007199254740993."}]}`)},
			model.Text("Hello, wörld")),
	},
	"a tool of the provider": {
		plain: finalResponse(webSearch, aMessage),
		stream: itemEvents(
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}`,
			`{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+webSearch+`}`,
			`{"type":"response.output_item.done","output_index":1,"item":`+aMessage+`}`,
			completed(finalResponse(webSearch, aMessage))),
		want: responseMessage(model.FinishStop,
			model.Part{Kind: model.PartOpaque, Provider: "openai", ID: "ws_1", Data: []byte(strings.Replace(webSearch, ", ", ",", 1))},
			model.Text("Hello, wörld")),
	},
	"an image": {
		plain: finalResponse(`{"id":"ig_1","type":"image_generation_call","status":"completed","output_format":"webp","result":"cG5n"}`),
		stream: itemEvents(
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"ig_1","type":"image_generation_call","result":null}}`,
			`{"type":"response.image_generation_call.partial_image","item_id":"ig_1","output_index":0,"partial_image_b64":"cA=="}`,
			completed(finalResponse(`{"id":"ig_1","type":"image_generation_call","status":"completed","output_format":"webp","result":"cG5n"}`))),
		want: responseMessage(model.FinishStop,
			model.Part{Kind: model.PartMedia, MediaType: "image/webp", Data: []byte("png"), Provider: "openai", ID: "ig_1"}),
	},
	"a refusal": {
		plain: finalResponse(aRefusal),
		stream: itemEvents(
			`{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"N"}`,
			`{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"o."}`,
			completed(finalResponse(aRefusal))),
		want: responseMessage(model.FinishRefusal, model.Text("No.")),
	},
}

func TestStreamedAndUnstreamedResponsesAreEqual(t *testing.T) {
	for name, p := range responseCases {
		t.Run(name, func(t *testing.T) {
			for _, body := range []string{p.plain, p.stream} { // in whatever form it was requested
				m := newResponses(t, serve(t, answer{Body: body}).URL)
				got, err := m.Generate(context.Background(), hello(), nil)
				require.NoError(t, err)
				require.Equal(t, p.want, got)
				got, err = stream(t, m, hello())
				require.NoError(t, err)
				require.Equal(t, p.want, got)
			}
		})
	}
}

// Other servers with this protocol leave out what OpenAI repeats, and count differently.
func TestIncompleteStreamsAreUnderstood(t *testing.T) {
	call := model.ToolCall("call_1", "weather", `{ "city": "Oslo" }`)
	empty := `{"type":"response.completed","response":{"id":"resp_1","model":"gpt-5","output":[]}}`
	for name, test := range map[string]struct {
		events []string
		want   []model.Part
	}{
		"items at the end alone": {[]string{completed(finalResponse(aMessage, aCall))}, []model.Part{model.Text("Hello, wörld"), call}},
		"no items at the end": {
			[]string{`{"type":"response.output_item.done","output_index":0,"item":` + aCall + `}`, empty}, []model.Part{call},
		},
		"no response at the end": {
			[]string{`{"type":"response.output_text.delta","delta":"Hi"}`, `{"type":"response.completed"}`}, []model.Part{model.Text("Hi")},
		},
		"the name of a call only when it is done": {
			[]string{
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{ \"city\""}`,
				`{"type":"response.output_item.done","output_index":0,"item":` + aCall + `}`, empty,
			}, []model.Part{call},
		},
		"every item at index 0": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"weather"}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{ \"city\""}`,
				`{"type":"response.output_item.done","output_index":0,"item":` + aCall + `}`,
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"time"}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"time","arguments":"{}"}}`,
				empty,
			}, []model.Part{call, model.ToolCall("call_2", "time", "{}")},
		},
		"no index, and another item id each time": {
			[]string{
				`{"type":"response.output_item.added","item":{"id":"a","type":"function_call","call_id":"call_1","name":"weather"}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"b","delta":"{ \"city\": "}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"c","delta":"\"Oslo\" }"}`,
				empty,
			}, []model.Part{call},
		},
		"items out of order": {
			[]string{
				`{"type":"response.output_text.delta","output_index":1,"delta":"Hi"}`,
				`{"type":"response.output_item.done","output_index":0,"item":` + aCall + `}`, empty,
			}, []model.Part{call, model.Text("Hi")},
		},
		"an item that comes up at the end": {
			[]string{
				`{"type":"response.output_text.delta","output_index":1,"delta":"Hello"}`,
				completed(finalResponse(aCall, aMessage)),
			}, []model.Part{call, model.Text("Hello, wörld")},
		},
		"an end that says something else": {
			[]string{`{"type":"response.output_text.delta","output_index":0,"delta":"Hello there"}`, completed(finalResponse(aMessage))},
			[]model.Part{model.Text("Hello there")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for end, body := range map[string]string{
				"": itemEvents(test.events...), " and unnamed events": events(test.events...),
			} {
				got, err := stream(t, newResponses(t, serve(t, answer{Body: body}).URL), hello())
				require.NoError(t, err, end)
				require.Equal(t, test.want, got.Parts, end)
			}
		})
	}
}

func TestFinishReasonsOfResponses(t *testing.T) {
	for response, want := range map[string]model.FinishReason{
		`"status":"completed"`: model.FinishStop,
		`"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`: model.FinishLength,
		`"status":"incomplete","incomplete_details":{"reason":"content_filter"}`:    model.FinishContentFilter,
		`"status":"incomplete","incomplete_details":{"reason":"tired"}`:             model.FinishError,
		`"status":"incomplete","incomplete_details":null`:                           model.FinishError,
		`"status":"exhausted"`: model.FinishOther,
		`"object":"response"`:  model.FinishStop,
	} {
		m := newResponses(t, serve(t, answer{Body: `{"id":"r",` + response + `,"output":[` + aMessage + `]}`}).URL)
		msg, err := m.Generate(context.Background(), hello(), nil)
		require.NoError(t, err)
		require.Equal(t, want, msg.Finish, response)
	}
}

func TestFailedResponsesAreErrors(t *testing.T) {
	failed := func(code, message string) string {
		return itemEvents(`{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}`,
			`{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"`+code+`","message":"`+message+`"}}}`)
	}
	for name, test := range map[string]struct {
		body, says string
		is         error
		retryable  bool
	}{
		"too long":            {failed("context_length_exceeded", "too long"), "too long", model.ErrContextLength, false},
		"too many":            {failed("rate_limit_exceeded", "slow down"), "slow down", model.ErrRateLimited, true},
		"broken":              {failed("server_error", "sorry"), "sorry", nil, true},
		"quota":               {failed("insufficient_quota", "pay"), "pay", model.ErrRateLimited, false},
		"bad image":           {failed("invalid_image", "what is this?"), "what is this?", nil, false},
		"without an error":    {itemEvents(`{"type":"response.failed","response":{"status":"failed"}}`), "the response was failed", nil, false},
		"cancelled":           {`{"id":"r","status":"cancelled","output":[]}`, "the response was cancelled", nil, false},
		"unstreamed":          {`{"id":"r","status":"failed","error":{"code":"server_error","message":"sorry"},"output":[]}`, "sorry", nil, true},
		"error event":         {itemEvents(`{"type":"error","code":"server_error","message":"sorry","param":null}`), "sorry", nil, true},
		"error in error":      {itemEvents(`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}`), "too long", model.ErrContextLength, false},
		"event without type":  {"data: {\"error\":{\"message\":\"sorry\",\"code\":\"server_error\"}}\n\n", "sorry", nil, true},
		"named event":         {"event: error\ndata: {\"message\":\"sorry\",\"code\":\"server_error\"}\n\n", "sorry", nil, true},
		"object of its own":   {`{"detail":"model not loaded"}`, "model not loaded", nil, false},
		"in the background":   {`{"id":"r","status":"queued","output":[]}`, "its status is queued", nil, true},
		"nothing":             {`{"id":"r","status":"completed","output":[]}`, "contains no message", nil, true},
		"a chat completion":   {`{"id":"c","choices":[]}`, "contains no message", nil, true},
		"an HTML page":        {"<html><title>Welcome</title></html>", "the answer is no response but an HTML page: Welcome", nil, false},
		"no end":              {itemEvents(`{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}`), "broke off", io.ErrUnexpectedEOF, true},
		"no end but a [DONE]": {events(`{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}`), "broke off", io.ErrUnexpectedEOF, true},
		"no JSON":             {"data: {oh\n\ndata: {}\n\n", "not valid JSON", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, answer{Body: test.body})
			for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
				_, err := newResponses(t, server.URL).Generate(context.Background(), hello(), sink)
				e := apiError(t, err)
				require.ErrorContains(t, err, test.says)
				require.Equal(t, test.retryable, e.Retryable, err)
				for _, id := range []error{model.ErrContextLength, model.ErrRateLimited, io.ErrUnexpectedEOF} {
					require.Equal(t, id == test.is, errors.Is(err, id), "%v: %v", err, id)
				}
			}
		})
	}
}

func TestFailedResponseIsRetriedBeforeADelta(t *testing.T) {
	failed := `{"type":"response.failed","response":{"error":{"code":"server_error","message":"sorry"}}}`
	twice := func(c *openaimodel.Config) { c.Retry = model.RetryPolicy{Attempts: 2, Base: 1} }

	server := serve(t, answer{Body: itemEvents(failed)}, answer{Body: responseCases["text"].stream})
	msg, err := stream(t, newResponses(t, server.URL, twice), hello())
	require.NoError(t, err)
	require.Equal(t, "Hello, wörld", msg.Text())
	require.Equal(t, "/v1/responses", server.Requests[0].URL.Path)
	require.Equal(t, "Bearer "+testKey, server.Requests[0].Header.Get("Authorization"))

	server = serve(t, answer{Body: itemEvents(`{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}`, failed)}, answer{Body: responseCases["text"].stream})
	_, err = newResponses(t, server.URL, twice).Generate(context.Background(), hello(), func(model.Delta) error { return nil })
	apiError(t, err)
	require.Equal(t, 1, server.Count())
}

// A response is sent back unchanged, through the JSON form of messages, and not to a Chat Completions model.
func TestItemsAreSentBackUnchanged(t *testing.T) {
	for name, want := range map[string]string{
		"reasoning with summaries, commentary and a call": `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"First."},{"type":"summary_text","text":"Then."}],"encrypted_content":"gAAA+/="},` +
			`{"type":"message","role":"assistant","phase":"commentary","content":"Hello, wörld"},{"type":"function_call","call_id":"call_1","name":"weather","arguments":"{ \"city\": \"Oslo\" }"}`,
		"reasoning that is hidden":   `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"message","role":"assistant","content":"Hello, wörld"}`,
		"reasoning that can be read": `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"I <see> 9007199254740993."}]},{"type":"message","role":"assistant","content":"Hello, wörld"}`,
		"a tool of the provider":     strings.Replace(webSearch, ", ", ",", 1) + `,{"type":"message","role":"assistant","content":"Hello, wörld"}`,
		"an image":                   `{"type":"image_generation_call","status":"completed","id":"ig_1","result":"cG5n"}`,
		"a refusal":                  `{"type":"message","role":"assistant","content":"No."}`,
	} {
		t.Run(name, func(t *testing.T) {
			msg, err := stream(t, newResponses(t, serve(t, answer{Body: responseCases[name].stream}).URL), hello())
			require.NoError(t, err)
			data, err := json.Marshal(msg)
			require.NoError(t, err)
			var read model.Message
			require.NoError(t, json.Unmarshal(data, &read))
			require.Equal(t, want, input(t, &read))

			chat := messages(t, "openai", model.UserText("hi"), &read)
			for _, private := range []string{"gAAA", "rs_1", "ws_1", "commentary", "summary"} {
				require.NotContains(t, chat, private)
			}
			foreign := read.Clone()
			for i := range foreign.Parts {
				foreign.Parts[i].Provider = "azure"
			}
			for _, private := range []string{"gAAA", "rs_1", "ws_1", "commentary", "summary"} {
				require.NotContains(t, input(t, foreign), private)
			}
		})
	}
	t.Run("a history of Chat Completions", func(t *testing.T) {
		history := input(t, responseMessage(model.FinishStop,
			model.Part{Kind: model.PartThinking, Text: "Hm.", Provider: "openai"},
			model.Part{Kind: model.PartOpaque, Provider: "openai", Data: []byte(detailsJSON)},
			model.Part{Kind: model.PartOpaque, Provider: "openai", Data: []byte(`{"broken`)},
			model.Text("42"),
			model.Part{Kind: model.PartToolCall, CallID: "c", Tool: "f", Provider: "openai", Signature: []byte(`{"google":1}`)}))
		require.Equal(t, `{"type":"message","role":"assistant","content":"42"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`, history)
	})
}

// input returns the encoded items of a history.
func input(t testing.TB, history ...*model.Message) string {
	t.Helper()
	b, err := openaimodel.ResponsesBody(newResponses(t, "http://golden.test"), &model.Request{Messages: history}, false)
	require.NoError(t, err)
	require.True(t, json.Valid(b), "%s", b)
	_, list, ok := strings.Cut(string(b), `"input":[`)
	require.True(t, ok)
	return strings.TrimSuffix(list, "]}")
}
