// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
)

// searched has a block of every kind, as an unstreamed response and as a stream.
var searched = struct{ whole, stream string }{
	whole: `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[` + strings.Join([]string{
		`{"type":"thinking","thinking":"Let me <see>.","signature":"c2ln+/=="}`,
		`{"type":"thinking","thinking":"","signature":"silent"}`,
		`{"type":"redacted_thinking","data":"cmVk+/=="}`,
		`{"type":"text","text":""}`,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"rain in <Bergen>"},"caller":{"type":"direct"}}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://x","encrypted_content":"abc","n":9007199254740993}]}`,
		`{"type":"text","text":"It rains","citations":[{"type":"web_search_result_location","encrypted_index":"idx","cited_text":"rain"},{"type":"char_location"}]}`,
		`{"type":"text","text":", always."}`,
		`{"type":"compaction","content":"What was said.","id":7}`,
		`{"type":"tool_use","id":"toolu_1","name":"weather","input":{"zip":5003},"caller":{"type":"direct"}}`,
		`{"type":"tool_use","id":"toolu_2","name":"click","input":{},"toolset_name":"computer","caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`,
	}, ",") + `],"stop_reason":"tool_use","usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"output_tokens":7,` +
		`"output_tokens_details":{"thinking_tokens":4}}}`,
	stream: event(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,`+
		`"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"output_tokens":1}}}`) + strings.Join([]string{
		start(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"Let me "}`),
		delta(0, `{"type":"thinking_delta","thinking":"<see>."}`), delta(0, `{"type":"signature_delta","signature":"c2ln"}`),
		delta(0, `{"type":"signature_delta","signature":"+/=="}`), stop(0),
		start(1, `{"type":"thinking","thinking":"","signature":""}`), delta(1, `{"type":"signature_delta","signature":"silent"}`), stop(1),
		start(2, `{"type":"redacted_thinking","data":"cmVk+/=="}`), stop(2),
		start(3, `{"type":"text","text":""}`), delta(3, `{"type":"text_delta","text":""}`), stop(3),
		start(4, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{},"caller":{"type":"direct"}}`),
		delta(4, `{"type":"input_json_delta","partial_json":"{\"query\":\"rain "}`), delta(4, `{"type":"input_json_delta","partial_json":"in <Bergen>\"}"}`), stop(4),
		start(5, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://x","encrypted_content":"abc","n":9007199254740993}]}`), stop(5),
		start(6, `{"type":"text","text":"","citations":[]}`), delta(6, `{"type":"citations_delta","citation":{"type":"web_search_result_location","encrypted_index":"idx","cited_text":"rain"}}`),
		delta(6, `{"type":"text_delta","text":"It rains"}`), delta(6, `{"type":"citations_delta","citation":{"type":"char_location"}}`), stop(6),
		start(7, `{"type":"text","text":", "}`), delta(7, `{"type":"text_delta","text":"always."}`), delta(7, `{"type":"unheard_of_delta","text":"x"}`), stop(7),
		event(`{"type":"unheard_of","index":3}`),
		start(8, `{"type":"compaction","content":"What ","id":7}`), delta(8, `{"type":"compaction_delta","content":"was said."}`), stop(8),
		start(9, `{"type":"tool_use","id":"toolu_1","name":"weather","input":{},"caller":{"type":"direct"}}`),
		delta(9, `{"type":"input_json_delta","partial_json":""}`), delta(9, `{"type":"input_json_delta","partial_json":"{\"zip\""}`), delta(9, `{"type":"input_json_delta","partial_json":":5003}"}`), stop(9),
		start(10, `{"type":"tool_use","id":"toolu_2","name":"click","input":{},"toolset_name":"computer","caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`), stop(10),
	}, "") + strings.Join(end("tool_use", `{"output_tokens":7,"output_tokens_details":{"thinking_tokens":4}}`), ""),
}

func TestBlocksOfEveryKind(t *testing.T) {
	for name, body := range map[string]string{"whole": searched.whole, "stream": searched.stream} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, answer{Body: body})
			m := newModel(t, e.URL)
			msg, err := stream(t, m, hello())
			require.NoError(t, err)
			opaque := func(data string) model.Part {
				return model.Part{Kind: model.PartOpaque, Provider: "anthropic", Data: []byte(data)}
			}
			thinking := func(text, signature string) model.Part {
				return model.Part{Kind: model.PartThinking, Text: text, Provider: "anthropic", Signature: []byte(signature)}
			}
			call := model.ToolCall("toolu_2", "click", `{}`)
			call.Provider = "anthropic"
			call.Signature = []byte(`{"toolset_name":"computer","caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`)
			direct := model.ToolCall("toolu_1", "weather", `{"zip":5003}`)
			direct.Provider, direct.Signature = "anthropic", []byte(`{"caller":{"type":"direct"}}`)
			require.Equal(t, &model.Message{
				Kind: model.KindResponse, Provider: "anthropic", Model: "claude-x", ResponseID: "msg_1", Finish: model.FinishToolCalls,
				Usage: model.Usage{InputTokens: 1110, OutputTokens: 7, CacheReadTokens: 100, CacheWriteTokens: 1000, ReasoningTokens: 4},
				Parts: []model.Part{
					thinking("Let me <see>.", "c2ln+/=="), thinking("", "silent"), opaque(`{"type":"redacted_thinking","data":"cmVk+/=="}`),
					opaque(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"rain in <Bergen>"},"caller":{"type":"direct"}}`),
					opaque(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://x","encrypted_content":"abc","n":9007199254740993}]}`),
					model.Text("It rains"),
					{Kind: model.PartCitation, Provider: "anthropic", Text: "rain", Data: []byte(`{"type":"web_search_result_location","encrypted_index":"idx","cited_text":"rain"}`)},
					{Kind: model.PartCitation, Provider: "anthropic", Data: []byte(`{"type":"char_location"}`)},
					model.Text(", always."),
					opaque(`{"type":"compaction","content":"What was said.","id":7}`),
					direct, call,
				},
			}, msg)
		})
	}
}

// Passes that compact the conversation or ask an advisor are billed, but not in the counts of the message.
func TestUsageCountsEveryIteration(t *testing.T) {
	const compacting = `[{"type":"compaction","input_tokens":180000,"output_tokens":3500,"cache_read_input_tokens":20,"cache_creation_input_tokens":4},` +
		`{"type":"advisor_message","model":"claude-y","input_tokens":50,"output_tokens":6},{"type":"message","input_tokens":23000,"output_tokens":1000}]`
	const counts = `"input_tokens":23000,"output_tokens":1000,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"iterations":` + compacting
	want := model.Usage{InputTokens: 203074, OutputTokens: 4506, CacheReadTokens: 20, CacheWriteTokens: 4}
	for name, body := range map[string]string{
		"whole": `{"id":"m","type":"message","model":"claude-x","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{` + counts + `}}`,
		"stream": event(`{"type":"message_start","message":{"id":"m","type":"message","model":"claude-x","content":[],"usage":{"input_tokens":180000,"output_tokens":1}}}`) +
			start(0, `{"type":"text","text":"ok"}`) + stop(0) + strings.Join(end("end_turn", `{`+counts+`}`), ""),
	} {
		msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL), hello())
		require.NoError(t, err, name)
		require.Equal(t, want, msg.Usage, name)
	}
}

// Blocks are sent back unchanged and in order, after the history was stored and read again, and to no provider with
// another name.
func TestBlocksAreSentBackUnchanged(t *testing.T) {
	e := serve(t, answer{Body: searched.stream}, answer{Body: events(say("ok")...)})
	msg, err := newModel(t, e.URL).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	req := &model.Request{Messages: []*model.Message{
		model.UserText("hi"), again(t, msg), request(model.ToolReturn("toolu_1", "weather", "rain"), model.ToolReturn("toolu_2", "click", "done")),
	}}
	blocks := func(body string) []json.RawMessage {
		var sent struct {
			Messages []struct{ Content []json.RawMessage }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &sent))
		return sent.Messages[1].Content
	}
	_, err = newModel(t, e.URL).Generate(context.Background(), req, nil)
	require.NoError(t, err)
	var whole struct{ Content []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(searched.whole), &whole))
	want := append(whole.Content[:3:3], whole.Content[4:]...) // the empty text is left out
	got := blocks(e.Bodies[1])
	require.Len(t, got, len(want))
	for i := range want {
		require.JSONEq(t, string(want[i]), string(got[i]))
	}
	require.Contains(t, e.Bodies[1], "9007199254740993")

	other := newModel(t, e.URL, func(c *anthropicmodel.Config) { c.Provider = "kimi" })
	_, err = other.Generate(context.Background(), req, nil)
	require.NoError(t, err)
	got = blocks(e.Bodies[2])
	require.Len(t, got, 4)
	require.JSONEq(t, `{"type":"text","text":"It rains"}`, string(got[0]))
	require.JSONEq(t, `{"type":"tool_use","id":"toolu_2","name":"click","input":{}}`, string(got[3]))
}

func TestFinishReasons(t *testing.T) {
	call := []string{start(0, `{"type":"tool_use","id":"a","name":"weather","input":{}}`), stop(0)}
	for reason, want := range map[string]model.FinishReason{
		"end_turn": model.FinishStop, "stop_sequence": model.FinishStop, "max_tokens": model.FinishLength,
		"model_context_window_exceeded": model.FinishLength, "refusal": model.FinishRefusal, "tool_use": model.FinishToolCalls,
		"": model.FinishStop, "unheard_of": model.FinishOther,
	} {
		m := newModel(t, serve(t, answer{Body: finished(reason, say("x")...)}).URL)
		msg, err := stream(t, m, hello())
		require.NoError(t, err)
		require.Equal(t, want, msg.Finish, reason)
	}
	for reason, want := range map[string]model.FinishReason{
		"end_turn": model.FinishToolCalls, "": model.FinishToolCalls, "unheard_of": model.FinishToolCalls,
		"max_tokens": model.FinishLength, "refusal": model.FinishRefusal,
	} {
		msg, err := stream(t, newModel(t, serve(t, answer{Body: finished(reason, call...)}).URL), hello())
		require.NoError(t, err)
		require.Equal(t, want, msg.Finish, "some servers send another reason for tool calls: %q", reason)
	}
}

func TestPausedTurnIsContinued(t *testing.T) {
	first := finished("pause_turn",
		start(0, `{"type":"thinking","thinking":"Hm.","signature":"sig"}`), stop(0),
		start(1, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"rain"}}`), stop(1))
	first = strings.Replace(first, `"content":[]`, `"content":[],"container":{"id":"container_1"}`, 1)
	e := serve(t, answer{Body: first}, answer{Body: finished("end_turn", say("Rain.")...)})
	m := newModel(t, e.URL)
	msg, err := stream(t, m, hello())
	require.NoError(t, err)
	require.Equal(t, 2, e.Count())
	require.Contains(t, e.Bodies[1], `{"content":[{"signature":"sig","thinking":"Hm.","type":"thinking"},`+
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"rain"}}],"role":"assistant"}]}`)
	require.Contains(t, e.Bodies[1], `"container":"container_1"`)
	require.NotContains(t, e.Bodies[0], `container`)
	require.Len(t, msg.Parts, 3)
	require.Equal(t, "Rain.", msg.Text())
	require.Equal(t, model.FinishStop, msg.Finish)
	require.Equal(t, model.Usage{InputTokens: 6, OutputTokens: 14}, msg.Usage)

	e = serve(t, answer{Body: first})
	msg, err = newModel(t, e.URL).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, 11, e.Count())
	require.Len(t, msg.Parts, 22)
	require.Equal(t, model.FinishOther, msg.Finish)
}

func TestBrokenContinuationIsNotRetriedAfterADelta(t *testing.T) {
	retrying := func(c *anthropicmodel.Config) { c.Retry = model.RetryPolicy{Attempts: 2, Base: 1} }
	busy := answer{Status: 529, Body: `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`}
	paused := answer{Body: finished("pause_turn", say("Let me look.")...)}
	e := serve(t, paused, busy)
	_, err := stream(t, newModel(t, e.URL, retrying), hello())
	require.Equal(t, 529, apiError(t, err).Status)
	require.Equal(t, 2, e.Count())

	e = serve(t, paused, busy, answer{Body: finished("end_turn", start(0, `{"type":"tool_use","id":"a","name":"weather","input":{}}`))})
	msg, err := newModel(t, e.URL, retrying).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, 3, e.Count())
	require.Equal(t, []model.Part{model.Text("Let me look."), model.ToolCall("a", "weather", "{}")}, msg.Parts)
}

func TestInvalidStreams(t *testing.T) {
	for name, test := range map[string]struct {
		body, want string
		retryable  bool
	}{
		"ends at once":              {"", "unexpected EOF", true},
		"ends in a block":           {begin() + say("x")[0], "unexpected EOF", true},
		"ends before its stop":      {begin() + strings.Join(say("x"), ""), "unexpected EOF", true},
		"was not started":           {event(`{"type":"message_stop"}`), "no message", true},
		"is no JSON":                {"event: message_start\ndata: {\n\n", "is invalid", false},
		"adds to no block":          {begin() + delta(0, `{"type":"input_json_delta","partial_json":"{"}`), "was not started", false},
		"has a block of a list":     {begin() + start(0, `[]`), "not a valid object", false},
		"has a block of nothing":    {begin() + start(0, `null`), "not a valid object", false},
		"adds to another block":     {begin() + say("x")[0] + delta(0, `{"type":"input_json_delta","partial_json":"{"}`), `which is of type "text"`, false},
		"calls nothing":             {begin() + start(0, `{"type":"tool_use","id":"x"}`), "no name", false},
		"whole without content":     {`{"type":"message","id":"x"}`, "no message", true},
		"whole that breaks off":     {`{"type":"message","content":[{"type":"te`, "unexpected EOF", true},
		"whole that is another":     {`{"choices":[]}`, "no message", true},
		"whole that says why":       {`{"detail":"not here"}`, "HTTP 200 OK: not here", true},
		"whole of a proxy":          {`{"status":"error","reason":"loading"}`, `is no message but {"status":"error","reason":"loading"}`, true},
		"string":                    {`"busy"`, `is no message but "busy"`, false},
		"whole with content of one": {`{"type":"message","content":7}`, "not a valid message", false},
		"page":                      {`<html><title>Welcome</title>`, "an HTML page: Welcome (is Config.BaseURL right?", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
				_, err := newModel(t, serve(t, answer{Body: test.body}).URL).Generate(context.Background(), hello(), sink)
				e := apiError(t, err)
				require.ErrorContains(t, err, test.want)
				require.Equal(t, test.retryable, e.Retryable)
				if test.want == "unexpected EOF" {
					require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				}
			}
		})
	}
}

// Servers of others end after the stop reason, or as OpenAI does. Without a stop reason the answer is incomplete.
func TestStreamMayEndWithItsStopReason(t *testing.T) {
	text, ending := begin()+strings.Join(say("x"), ""), end("end_turn", `{"output_tokens":7}`)
	done := "data: [DONE]\n\n"
	for _, body := range []string{text + ending[0], text + ending[0] + done, text + ending[0] + done + ending[1], strings.TrimSpace(text + ending[0])} {
		for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
			msg, err := newModel(t, serve(t, answer{Body: body}).URL).Generate(context.Background(), hello(), sink)
			require.NoError(t, err)
			require.Equal(t, "x", msg.Text())
			require.Equal(t, model.FinishStop, msg.Finish)
			require.Equal(t, model.Usage{InputTokens: 3, OutputTokens: 7}, msg.Usage)
		}
	}
	started := strings.Replace(text, `"stop_reason":null`, `"stop_reason":"end_turn"`, 1)
	for _, body := range []string{text + done, started, text + strings.Replace(ending[0], `"end_turn"`, `null`, 1)} {
		_, err := newModel(t, serve(t, answer{Body: body}).URL).Generate(context.Background(), hello(), nil)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
}

func TestBlockWithoutStart(t *testing.T) {
	m := newModel(t, serve(t, answer{Body: events(
		delta(0, `{"type":"thinking_delta","thinking":"Hm."}`), delta(0, `{"type":"signature_delta","signature":"s"}`),
		delta(1, `{"type":"text_delta","text":"Yes."}`))}).URL)
	msg, err := stream(t, m, hello())
	require.NoError(t, err)
	require.Equal(t, []model.Part{{Kind: model.PartThinking, Text: "Hm.", Provider: "anthropic", Signature: []byte("s")}, model.Text("Yes.")}, msg.Parts)
}

func TestSinkErrorIsReturnedUnwrapped(t *testing.T) {
	m := newModel(t, serve(t, answer{Body: searched.stream}).URL)
	for at := range 9 {
		mine := fmt.Errorf("at %d", at)
		n := -1
		_, err := m.Generate(context.Background(), hello(), func(model.Delta) error {
			if n++; n == at {
				return mine
			}
			return nil
		})
		require.Equal(t, mine, err)
		require.Equal(t, at, n)
	}
	_, err := m.Generate(context.Background(), hello(), func(model.Delta) error { return &model.APIError{Retryable: true} })
	require.Equal(t, &model.APIError{Retryable: true}, err)
	require.False(t, errors.Is(err, model.ErrAuth))
}

func TestCitationsAreSentBackUnchanged(t *testing.T) {
	citations := []struct{ raw, url, name, text string }{
		{`{"type":"char_location","cited_text":"<rain>","document_index":0,"document_title":"Log","start_char_index":0,"end_char_index":9}`, "", "Log", "<rain>"},
		{`{"type":"page_location","cited_text":"p","document_index":0,"document_title":null,"start_page_number":1,"end_page_number":2}`, "", "", "p"},
		{`{"type":"content_block_location","cited_text":"c","document_index":1,"document_title":"B","start_block_index":0,"end_block_index":1}`, "", "B", "c"},
		{`{"type":"web_search_result_location","cited_text":"w","encrypted_index":"EqQB+/==","title":"W","url":"https://w.test/?q=1"}`, "https://w.test/?q=1", "W", "w"},
		{`{"type":"search_result_location","cited_text":"s","search_result_index":0,"source":"kb://1","title":"S","start_block_index":0,"end_block_index":1}`, "kb://1", "S", "s"},
		{`{"type":"newer_location", "n": 9007199254740993}`, "", "", ""},
	}
	list, deltas := "", []string{start(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"It rains"}`)}
	want := []model.Part{model.Text("It rains")}
	for i, c := range citations {
		if i > 0 {
			list += ","
		}
		list += c.raw
		deltas = append(deltas, delta(0, `{"type":"citations_delta","citation":`+c.raw+`}`))
		want = append(want, model.Part{Kind: model.PartCitation, Provider: "anthropic", URL: c.url, Name: c.name, Text: c.text, Data: []byte(c.raw)})
	}
	head := `{"type":"message_start","message":{"id":"m","type":"message","model":"claude-x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`
	for name, body := range map[string]string{
		"whole":  `{"id":"m","type":"message","model":"claude-x","content":[{"type":"text","text":"It rains","citations":[` + list + `]}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
		"stream": event(head) + strings.Join(deltas, "") + stop(0) + strings.Join(end("end_turn", `{"output_tokens":1}`), ""),
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, answer{Body: body}, answer{Body: events(say("ok")...)})
			msg, err := stream(t, newModel(t, e.URL), hello())
			require.NoError(t, err)
			require.Equal(t, want, msg.Parts)
			req := &model.Request{Messages: []*model.Message{model.UserText("hi"), again(t, msg), model.UserText("go on")}}
			_, err = newModel(t, e.URL).Generate(context.Background(), req, nil)
			require.NoError(t, err)
			require.Contains(t, e.Bodies[1], `{"type":"text","text":"It rains","citations":[`+list+`]}`)
			_, err = newModel(t, e.URL, func(c *anthropicmodel.Config) { c.Provider = "kimi" }).Generate(context.Background(), req, nil)
			require.NoError(t, err)
			require.NotContains(t, e.Bodies[2], "citations")
		})
	}
}
