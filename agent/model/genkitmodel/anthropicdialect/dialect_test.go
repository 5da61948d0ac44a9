// SPDX-License-Identifier: Apache-2.0

package anthropicdialect_test

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/anthropicdialect"
)

// stream returns a response with some blocks, each with its deltas.
func stream(blocks ...[]string) string {
	all := []string{`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`}
	for i, b := range blocks {
		all = append(all, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, b[0]))
		for _, d := range b[1:] {
			all = append(all, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d))
		}
		all = append(all, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
	return events(append(all, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`, `{"type":"message_stop"}`)...)
}

func text(s string) []string {
	return []string{`{"type":"text","text":""}`, `{"type":"text_delta","text":` + quote(s) + `}`}
}

func call(id, tool, args string) []string {
	return []string{
		fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, id, tool), `{"type":"input_json_delta","partial_json":""}`,
		`{"type":"input_json_delta","partial_json":` + quote(args) + `}`,
	}
}

func TestSettingsAreSent(t *testing.T) {
	e := serve(t, say(200, stream(text("hi"))))
	m := newModel(t, e)
	tools := []model.ToolDef{{Name: "t", Description: "T.", Schema: json.RawMessage(
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"],"$defs":{"a":{"type":"integer","maximum":5}}}`)}}
	for name, test := range map[string]struct {
		req  model.Request
		want string
	}{
		"nothing":       {want: `"max_tokens":8192`},
		"an empty list": {req: model.Request{Settings: &model.Settings{Stop: []string{}}}, want: `"max_tokens":8192`},
		"sampling": {
			req: model.Request{Settings: &model.Settings{
				MaxTokens: 7, Temperature: new(0.0), TopP: new(0.5), Stop: []string{"x"}, ServiceTier: "auto", Thinking: "off",
				ExtraBody: map[string]json.RawMessage{"top_k": json.RawMessage("5")},
			}},
			want: `"max_tokens":7,"temperature":0,"top_p":0.5,"stop_sequences":["x"],"service_tier":"auto","thinking":{"type":"disabled"},"top_k":5`,
		},
		"thinking":           {req: model.Request{Settings: &model.Settings{Thinking: "low"}}, want: `"max_tokens":12288,"thinking":{"type":"enabled","budget_tokens":4096}`},
		"bounded thinking":   {req: model.Request{Settings: &model.Settings{Thinking: "high", MaxTokens: 2000}}, want: `"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1999}`},
		"one call at a time": {req: model.Request{Tools: tools, Settings: &model.Settings{ParallelToolCalls: new(false)}}, want: `"max_tokens":8192,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		"some tool":          {req: model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}}, want: `"max_tokens":8192,"tool_choice":{"type":"any"}`},
		"no tool":            {req: model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone}}, want: `"max_tokens":8192,"tool_choice":{"type":"none"}`},
		"that tool":          {req: model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "t"}}, want: `"max_tokens":8192,"tool_choice":{"type":"tool","name":"t"}`},
	} {
		t.Run(name, func(t *testing.T) {
			test.req.Messages = hello().Messages
			msg, err := m.Generate(t.Context(), &test.req, nil)
			require.NoError(t, err)
			require.Equal(t, "hi", msg.Text())
			sentTools := `[]`
			if len(test.req.Tools) > 0 {
				sentTools = `[{"name":"t","description":"T.","input_schema":{"type":"object","properties":{"a":{"type":"integer","maximum":5}},"required":["a"]}}]`
			}
			require.JSONEq(t, `{"model":"claude-test","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],"system":[],"tools":`+sentTools+`,`+test.want+`}`, e.lastBody())
		})
	}
}

func TestUnsupportedRequestsAreErrors(t *testing.T) {
	e := serve(t, say(200, stream(text("hi"))))
	m := newModel(t, e)
	tools := []model.ToolDef{{Name: "t"}}
	media := func(p model.Part) []*model.Message {
		return []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{p}}}
	}
	for name, req := range map[string]*model.Request{
		"seed":                           {Settings: &model.Settings{Seed: new(int64(1))}},
		"headers":                        {Settings: &model.Settings{ExtraHeaders: map[string]string{"A": "b"}}},
		"a member that the API has not":  {Messages: hello().Messages, Settings: &model.Settings{ExtraBody: map[string]json.RawMessage{"top": json.RawMessage("1")}}},
		"a path in the body":             {Settings: &model.Settings{ExtraBody: map[string]json.RawMessage{"a.b": json.RawMessage("1")}}},
		"a level of thinking":            {Settings: &model.Settings{Thinking: "deep"}},
		"thinking without room":          {Settings: &model.Settings{Thinking: "low", MaxTokens: 1024}},
		"thinking and temperature":       {Settings: &model.Settings{Thinking: "low", Temperature: new(1.0)}},
		"thinking and a demanded call":   {Settings: &model.Settings{Thinking: "low"}, Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}},
		"output":                         {Output: &model.OutputSchema{Schema: json.RawMessage("{}")}},
		"PDF, which would go as image":   {Messages: media(model.Media("application/pdf", []byte("x")))},
		"a URL, which would go as image": {Messages: media(model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://example.com/a.png"})},
		"the name of a tool":             {Tools: []model.ToolDef{{Name: "a.b"}}},
	} {
		_, err := m.Generate(t.Context(), req, nil)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
	}
	require.Zero(t, e.count())
}

func TestThinkingAndArgumentsAreSentBackUnchanged(t *testing.T) {
	const args = `{ "n" : 9223372036854775807, "f": 1.0 }`
	e := serve(t, say(200, stream(
		[]string{
			`{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"hm"}`,
			`{"type":"signature_delta","signature":"c2ln"}`,
		},
		text("a"), call("c1", "t", args), text("b"),
	)))
	m := newModel(t, e)
	var deltas []string
	msg, err := m.Generate(t.Context(), hello(), func(d model.Delta) error {
		if d.Usage == nil {
			deltas = append(deltas, fmt.Sprintf("%d %s: %s", d.Part, d.Kind, d.Text))
		}
		return nil
	})
	require.NoError(t, err)
	want := []model.Part{
		{Kind: model.PartThinking, Text: "hm", Provider: "anthropic", Signature: []byte("c2ln")},
		model.Text("a"), model.ToolCall("c1", "t", args), model.Text("b"),
	}
	require.Equal(t, want, msg.Parts)
	require.Equal(t, []string{"0 thinking: hm", "1 text: a", "2 text: b", "3 tool_call: " + args}, deltas)
	require.Equal(t, model.Usage{InputTokens: 3, OutputTokens: 5}, msg.Usage)

	_, err = m.Generate(t.Context(), &model.Request{Messages: []*model.Message{
		model.UserText("go"), msg, {Kind: model.KindRequest, Parts: []model.Part{model.User("and?"), model.ToolReturn("c1", "t", `{"n":9223372036854775807}`)}},
	}}, nil)
	require.NoError(t, err)
	var body struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(e.lastBody()), &body))
	require.Contains(t, string(body.Messages), "9223372036854775807,")
	require.JSONEq(t, `[{"role":"user","content":[{"type":"text","text":"go"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"a"},
			{"type":"tool_use","id":"c1","name":"t","input":{"n":9223372036854775807,"f":1.0}},{"type":"text","text":"b"}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":false,"content":[{"type":"text","text":"{\"n\":9223372036854775807}"}]}]},
		{"role":"user","content":[{"type":"text","text":"and?"}]}]`, string(body.Messages))
}

func TestUserIsFirstAndLast(t *testing.T) {
	e := serve(t, say(200, stream(text("hi"))))
	const none = `{"role":"user","content":[{"type":"text","text":"(no text)"}]}`
	for want, messages := range map[string][]*model.Message{
		none: {model.UserText(" ")},
		none + `,{"role":"assistant","content":[{"type":"text","text":"a"}]},` + none: {model.Response(model.Text("a")), {Kind: model.KindRequest}},
	} {
		_, err := newModel(t, e).Generate(t.Context(), &model.Request{Instructions: "Be kind.", Messages: messages}, nil)
		require.NoError(t, err)
		var body struct{ Messages, System json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(e.lastBody()), &body))
		require.JSONEq(t, "["+want+"]", string(body.Messages))
		require.JSONEq(t, `[{"type":"text","text":"Be kind."}]`, string(body.System))
	}
}

func TestSDKErrorsAreRead(t *testing.T) {
	begun := `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{}}}`
	for name, test := range map[string]struct {
		status int
		body   string
		header []string
		want   model.APIError
		is     error
	}{
		"an error": {
			429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, []string{"Retry-After", "3", "Request-Id", "r1"},
			model.APIError{Status: 429, Type: "rate_limit_error", Message: "slow down", RetryAfter: 3 * time.Second, RequestID: "r1", Retryable: true}, model.ErrRateLimited,
		},
		"an error that quotes the key": {
			401, `{"type":"error","error":{"type":"authentication_error","message":"no such key: ` + testKey + `"}}`, nil,
			model.APIError{Status: 401, Type: "authentication_error", Message: "no such key: [redacted]"}, model.ErrAuth,
		},
		"too long": {
			400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`, nil,
			model.APIError{Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 9 tokens > 8 maximum"}, model.ErrContextLength,
		},
		"an error of a shape of its own": {502, `{"detail":"bad gateway"}`, nil, model.APIError{Status: 502, Message: `{"detail":"bad gateway"}`, Retryable: true}, nil},
		"an error within a stream": {
			200, events(begun, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), []string{"Request-Id", "r1"},
			model.APIError{Type: "overloaded_error", Message: "busy", RequestID: "r1", Retryable: true}, nil,
		},
		"a stream that breaks off": {200, events(begun), nil, model.APIError{Message: "the plugin returned no response: unexpected EOF", Retryable: true}, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, say(test.status, test.body, append(test.header, "X-Should-Retry", "false")...))
			_, err := newModel(t, e).Generate(t.Context(), hello(), nil)
			var got *model.APIError
			require.ErrorAs(t, err, &got)
			plain := *got
			plain.Err, plain.Provider, plain.Model = nil, "", ""
			require.Equal(t, test.want, plain)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
			if test.status >= 400 {
				var sdk *anthropic.Error
				require.ErrorAs(t, err, &sdk)
			}
		})
	}
}

// What cannot be fixed is at least an error, not a wrong response.
func TestUnreadableResponsesAreErrors(t *testing.T) {
	for name, body := range map[string]string{
		"redacted thinking": stream([]string{`{"type":"redacted_thinking","data":"x"}`}, text("a")),
		"no JSON":           stream(call("c", "t", `{"a":`)),
	} {
		_, err := newModel(t, serve(t, say(200, body))).Generate(t.Context(), hello(), nil)
		var e *model.APIError
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, name == "no JSON", e.Retryable)
	}
}

func TestInvalidConfigsAreErrors(t *testing.T) {
	for says, config := range map[string]anthropicdialect.Config{
		"Config.Name is empty":          {},
		"Config.APIKey is empty":        {Name: "m"},
		"white space":                   {Name: "m", APIKey: "sk-1\n"},
		"must start with http":          {Name: "m", APIKey: "k", BaseURL: "localhost:1"},
		"not in lower case":             {Name: "m", APIKey: "k", Provider: "Anthropic"},
		"Config.ContextWindow is negat": {Name: "m", APIKey: "k", ContextWindow: -1},
	} {
		_, err := anthropicdialect.New(config)
		require.ErrorContains(t, err, says)
	}
	_, err := anthropicdialect.New(anthropicdialect.Config{Name: "m"})
	require.ErrorIs(t, err, model.ErrAuth)
}

func TestKeyIsNotPrinted(t *testing.T) {
	config := anthropicdialect.Config{Name: "m", APIKey: testKey, BaseURL: "http://user:pass@host/v1/"}
	text, err := json.Marshal(config)
	require.NoError(t, err)
	m, err := anthropicdialect.New(config)
	require.NoError(t, err)
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s", config, config, config, config), config.LogValue().String(), string(text), fmt.Sprintf("%+v %#v", m, m)} {
		require.NotContains(t, s, testKey)
		require.NotContains(t, s, "pass@")
	}
	require.Equal(t, "anthropicdialect.Config(m at http://host/, key set)", fmt.Sprint(config))
	require.Equal(t, "anthropicdialect.Config( at invalid base URL, no key)", fmt.Sprint(anthropicdialect.Config{BaseURL: ":"}))
}

func TestSchemaReferencesAreResolved(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`: `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b","description":"D."},"l":{"items":[{"$ref":"#/definitions/c"}]}},
			"$defs":{"a/b":{"type":"object","properties":{"c":{"$ref":"#/definitions/c"}}}},"definitions":{"c":{"type":"null"}}}`: `{"type":"object","properties":{
			"a":{"type":"object","properties":{"c":{"type":"null"}},"description":"D."},"l":{"items":[{"type":"null"}]}}}`,
		// A tree, and references to nothing.
		`{"type":"object","properties":{"t":{"$ref":"#/$defs/t"},"x":{"$ref":"https://example.com"},"y":{"$ref":"#/$defs/t/type/no"},"r":{"$ref":"#"}},
			"$defs":{"t":{"type":"object","properties":{"left":{"$ref":"#/$defs/t"}}}}}`: "",
	} {
		e := serve(t, say(200, stream(text("hi"))))
		req := hello()
		req.Tools = []model.ToolDef{{Name: "t", Schema: json.RawMessage(schema)}}
		_, err := newModel(t, e).Generate(t.Context(), req, nil)
		require.NoError(t, err)
		var body struct {
			Tools []struct {
				Schema json.RawMessage `json:"input_schema"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(e.lastBody()), &body))
		if want != "" {
			require.JSONEq(t, want, string(body.Tools[0].Schema))
			continue
		}
		require.NotContains(t, string(body.Tools[0].Schema), "$ref")
		require.Contains(t, string(body.Tools[0].Schema), `"t":{"properties":{"left":{}},"type":"object"},"x":{},"y":{}`)
	}
}

func TestSchemaSizeIsLimited(t *testing.T) {
	e := serve(t, say(200, stream(text("hi"))))
	twice := map[string]any{"d0": map[string]any{"type": "string"}}
	chain := map[string]any{"d0": map[string]any{"type": "string"}}
	for n := 1; n < 100; n++ {
		ref := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", n-1)}
		twice[fmt.Sprintf("d%d", n)] = map[string]any{"type": "object", "properties": map[string]any{"left": ref, "right": ref}}
		chain[fmt.Sprintf("d%d", n)] = ref
	}
	for name, test := range map[string]struct {
		defs    map[string]any
		ref     string
		refused bool
	}{
		"forty times twice": {twice, "#/$defs/d40", true}, "nine times twice": {twice, "#/$defs/d9", false},
		"a long chain": {chain, "#/$defs/d99", true}, "a chain": {chain, "#/$defs/d30", false},
	} {
		text, err := json.Marshal(map[string]any{"type": "object", "$defs": test.defs, "properties": map[string]any{"a": map[string]any{"$ref": test.ref}}})
		require.NoError(t, err)
		req := hello()
		req.Tools = []model.ToolDef{{Name: "t", Schema: text}}
		_, err = newModel(t, e).Generate(t.Context(), req, nil)
		if test.refused {
			require.EqualError(t, err, `genkitmodel: the schema of tool "t": too large after resolving references`, name)
			continue
		}
		require.NoError(t, err, name)
	}
}
