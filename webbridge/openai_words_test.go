// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// busy is a model that says, calls and draws what its prompt names.
func busy() model.Model {
	return model.Func(model.Info{Provider: "test", Name: "test", Media: []string{"image/png"}}, func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		n, prompt := returns(req)
		m := model.Response(model.Text("All done."))
		switch {
		case prompt == "work" && n == 0:
			m = model.Response(model.Thinking("Hm."), model.Text("I work."), model.ToolCall("a", "look", `{"at": "sea"}`))
		case prompt == "work" && n == 1:
			m = model.Response(model.ToolCall("b", "pay", `{"to":"Ada"}`))
		case prompt == "work" && n == 2:
			m = model.Response(model.ToolCall("c", "fail", `{}`))
		case prompt == "draw":
			m = model.Response(model.Text("Look."), model.Media("image/png", []byte("\x89PNG\r\n\x1a\n")), model.Text("Well?"))
		case prompt == "nothing":
			m = model.Response()
		case prompt == "long":
			m.Finish = model.FinishLength
		case prompt == "filtered":
			m.Finish = model.FinishContentFilter
		case prompt == "half" && sink != nil:
			if err := sink(model.Delta{Kind: model.PartText, Text: "Half"}); err != nil {
				return nil, err
			}
			return nil, errors.New("the provider is away")
		case prompt == "fail" || prompt == "half":
			return nil, errors.New("the provider is away")
		case prompt == "far":
			m = model.Response(model.ToolCall("a", "far", "{}"))
		}
		m.Usage = model.Usage{InputTokens: 70, OutputTokens: 30, CacheReadTokens: 20, ReasoningTokens: 10}
		return m, nil
	})
}

type place struct {
	At string `json:"at"`
}

func busyTools() []*toolset.Tool[openaiNone] {
	return []*toolset.Tool[openaiNone]{
		toolset.Func("look", "Look.", func(_ context.Context, _ *toolset.RunContext[openaiNone], in place) (string, error) {
			return "seen the " + in.At, nil
		}),
		toolset.Func("fail", "Fail.", func(context.Context, *toolset.RunContext[openaiNone], openaiNone) (string, error) {
			return "", toolset.Retry("It is dark: bring a lamp.")
		}),
		openaiPay(nil), toolset.ExternalTool[openaiNone, openaiNone]("far", "Elsewhere."),
	}
}

var (
	openaiChance = regexp.MustCompile(`("(?:created|created_at|completed_at)":)\d+|[A-Z2-7]{26}`)
	openaiID     = regexp.MustCompile(`[A-Z2-7]{26}`)
)

// TestAnswersInTheWordsOfOpenAI compares all that clients of OpenAI's API are told, answers, streams and errors, with a file. To write
// it anew, set UPDATE, and read what has changed.
func TestAnswersInTheWordsOfOpenAI(t *testing.T) {
	o := openaiOptions{host: host.Config[openaiNone, string]{
		Modes: host.Modes(), Models: []host.Model{{ID: "l", Model: busy()}, {ID: "s", Model: modeltest.Auto()}},
		Agent: agent.Must(agent.New(agent.Config[openaiNone, string]{Model: busy(), Tools: busyTools(), Prices: openaiPrices{Request: 0.25}})),
	}}
	o.api = webbridge.OpenAIOptions{Models: map[string]string{"small": "s", "agent": "l", "big": "l"}, MaxTokens: 500}
	s := openaiServe(t, o)
	strict := o
	strict.api.Strict = true
	careful := openaiServe(t, strict)
	var got strings.Builder
	play := func(s *openaiServer, method, path, body string) {
		res, text := s.send(s.request(t.Context(), method, path, body))
		if len(body) > 300 {
			body = body[:300] + "…"
		}
		fmt.Fprintf(&got, "%s %s %s\n%d %s %s\n", method, path, body, res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("X-Should-Retry"))
		if res.Header.Get("Content-Type") == "text/event-stream" {
			text = joined(t, text)
		}
		got.WriteString(openaiChance.ReplaceAllStringFunc(text, func(found string) string {
			if openaiID.MatchString(found) {
				return "ID"
			}
			return found[:strings.Index(found, ":")+1] + "0"
		}) + "\n")
	}
	for _, prompt := range []string{"hello", "work", "draw", "nothing", "long", "filtered", "fail", "half", "far"} {
		for _, more := range []string{"", `,"stream":true`, `,"stream":true,"stream_options":{"include_usage":true},"temperature":1,"max_completion_tokens":20,"stop":"done"`} {
			play(s, "POST", chatPath, `{"model":"agent","messages":[{"role":"user","content":"`+prompt+`"}]`+more+`}`)
		}
		for _, more := range []string{"", `,"stream":true`, `,"stream":true,"metadata":{"a":1},"instructions":"x","max_output_tokens":700`} {
			play(s, "POST", responsesPath, `{"model":"agent","input":"`+prompt+`"`+more+`}`)
		}
	}
	const png = `data:image/png;base64,iVBORw0KGgo=`
	user := `{"role":"user","content":"hello"}`
	for _, members := range []string{
		``, `"model":7`, `"model":""`, `"model":"gpt-5"`, `"model":"` + strings.Repeat("x", 200) + `"`, `"model":"small","messages":[` + user + `]`,
		`"model":"agent"`, `"model":"agent","messages":7`, `"model":"agent","messages":[]`, `"model":"agent","messages":["hello"]`,
		`"model":"agent","messages":[{"role":"user"}]`, `"model":"agent","messages":[{"role":"user","content":7}]`,
		`"model":"agent","messages":[` + user + `,{"role":"assistant","content":"x"}]`,
		`"model":"agent","messages":[{"role":"` + strings.Repeat("r", 50) + `"}]`, `"model":"agent","messages":[{"role":"tool"}]`, `"model":"agent","messages":[{"role":"function"}]`,
		`"model":"agent","messages":[{"role":"assistant","tool_calls":[{}]}]`, `"model":"agent","messages":[{"role":"assistant","function_call":{}}]`,
		`"model":"agent","messages":[{"role":"user","content":[{"type":"` + strings.Repeat("p", 50) + `"}]}]`,
		`"model":"agent","messages":[{"role":"assistant","content":[{"type":"image_url"}]}]`,
		`"model":"agent","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"https://a.example/a.png"}}]}]`,
		`"model":"agent","messages":[{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,!"}]}]`,
		`"model":"agent","messages":[{"role":"user","content":[{"type":"image_url","image_url":"data:image/gif;base64,R0lGODlhAQABAA=="}]}]`,
		`"model":"agent","messages":[{"role":"user","content":[{"type":"image_url","image_url":"` + png + `","file_id":"f"}]}]`,
		`"model":"agent","messages":[{"role":"user","content":[{"type":"image_url"}]}]`,
		`"model":"agent","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]`,
		`"model":"agent","messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a/b.txt","file_data":"data:text/plain;base64,eA=="}}]}]`,
		`"model":"agent","messages":[{"role":"user","content":[{"type":"refusal","refusal":"no"}]}]`,
		`"model":"agent","messages":[` + user + `],"stream":"yes"`, `"model":"agent","messages":[` + user + `],"stream_options":7`,
		`"model":"agent","messages":[` + user + `],"stop":7`, `"model":"agent","messages":[` + user + `],"stop":["a","b","c","d","e"]`, `"model":"agent","messages":[` + user + `],"stop":[""]`,
		`"model":"agent","messages":[` + user + `],"max_tokens":0`, `"model":"agent","messages":[` + user + `],"max_completion_tokens":"x"`, `"model":"agent","messages":[` + user + `],"max_tokens":-5`,
		`"model":"agent","messages":[{"role":"system","content":"x"},` + user + `],"temperature":1,"` + strings.Repeat("k", 50) + `":1`,
		`"model":"agent","messages":[` + user + `],"temperature":null,"user":"u","metadata":{},"safety_identifier":"s","prompt_cache_key":"k","prompt_cache_retention":"r","service_tier":"auto","parallel_tool_calls":true`,
	} {
		play(s, "POST", chatPath, "{"+members+"}")
	}
	for name, values := range map[string][2]string{
		"tools": {`[]`, `[1]`}, "functions": {`[]`, `[1]`}, "tool_choice": {`"none"`, `"required"`}, "function_call": {`"auto"`, `{}`}, "n": {`1`, `2`},
		"response_format": {`{"type":"text"}`, `{"type":"json_object"}`}, "modalities": {`["text"]`, `["audio"]`}, "audio": {`{}`, `{"voice":"a"}`}, "logprobs": {`false`, `true`},
		"top_logprobs": {`0`, `1`}, "store": {`false`, `true`}, "web_search_options": {`{}`, `{"a":1}`},
	} {
		s.post(chatPath, `{"model":"agent","messages":[`+user+`],"`+name+`":`+values[0]+`}`, 200)
		e := s.refused(chatPath, `{"model":"agent","messages":[`+user+`],"`+name+`":`+values[1]+`}`, 400)
		require.Equal(t, []any{name, "unsupported_parameter", "invalid_request_error"}, []any{e["param"], e["code"], e["type"]})
	}
	for name, values := range map[string][2]string{
		"tools": {`[]`, `[1]`}, "tool_choice": {`"auto"`, `"required"`}, "text": {`{"verbosity":"low"}`, `7`}, "previous_response_id": {`null`, `"resp"`}, "conversation": {`null`, `"c"`},
		"prompt": {`null`, `{}`}, "store": {`false`, `true`}, "background": {`false`, `true`}, "top_logprobs": {`0`, `1`},
	} {
		s.post(responsesPath, `{"model":"agent","input":"hello","`+name+`":`+values[0]+`}`, 200)
		e := s.refused(responsesPath, `{"model":"agent","input":"hello","`+name+`":`+values[1]+`}`, 400)
		require.Equal(t, []any{name, "unsupported_parameter", "invalid_request_error"}, []any{e["param"], e["code"], e["type"]})
	}
	for _, members := range []string{
		`"model":"agent"`, `"model":"agent","input":7`, `"model":"agent","input":[]`, `"model":"agent","input":""`, `"model":"agent","input":[{"type":"item_reference"}]`,
		`"model":"agent","input":[{"type":"` + strings.Repeat("t", 50) + `"}]`, `"model":"agent","input":[{"role":"` + strings.Repeat("r", 50) + `"}]`, `"model":"agent","input":[{"role":"user","content":7}]`,
		`"model":"agent","input":[{"type":"reasoning"},{"type":"mcp_call"},{"type":"mcp_list_tools"},{"type":"image_generation_call"},{"role":"system"},{"role":"developer"},` + user + `]`,
		`"model":"agent","input":"hello","max_output_tokens":0`, `"model":"agent","input":"hello","metadata":7`, `"model":"agent","input":"hello","stream":7`,
		`"model":"agent","input":"hello","tools":[1]`, `"model":"agent","input":"hello","background":true`, `"model":"agent","input":"hello","conversation":"c"`,
	} {
		play(s, "POST", responsesPath, "{"+members+"}")
	}
	for _, body := range []string{`{"model":"agent","messages":[` + user + `],"temperature":1,"top_p":1}`, `{"model":"agent","messages":[` + user + `]}`} {
		play(careful, "POST", chatPath, body)
	}
	for _, at := range [][2]string{
		{"GET", "/v1/models"}, {"GET", "/v1/models/agent"}, {"GET", "/v1/models/big"}, {"GET", "/v1/models/a/b"}, {"GET", "/v1/nothing"}, {"POST", "/v1/embeddings"},
		{"GET", "/v1/responses/resp_1"}, {"DELETE", "/v1/responses/resp_1"}, {"POST", "/v1/conversations"}, {"POST", chatPath}, {"POST", responsesPath},
	} {
		body := ""
		if at[1] == chatPath {
			body = "[]"
		}
		play(s, at[0], at[1], body)
	}
	const path = "testdata/openai.want"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// joined returns the events of a stream, one a line. Pieces of a text are joined, because how many they are is chance.
func joined(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	all, done := parsed(t, text)
	var open openaiObject
	place := func(o openaiObject) *any { // where the piece of a text is
		if choices, ok := o["choices"].([]any); ok && len(choices) > 0 {
			delta := choices[0].(openaiObject)["delta"].(openaiObject)
			if _, ok := delta["content"].(string); ok && delta["role"] == nil {
				v := delta["content"]
				return &v
			}
		}
		if v, ok := o["delta"].(string); ok {
			var a any = v
			return &a
		}
		return nil
	}
	said := ""
	sequence := 0
	flush := func() {
		if open != nil {
			fmt.Fprintf(&b, "text %q in %s\n", said, string(must(json.Marshal(open))))
		}
		open, said = nil, ""
	}
	for _, e := range all {
		if n, ok := e.data["sequence_number"]; ok {
			require.InDelta(t, sequence, n, 0)
			sequence++
			delete(e.data, "sequence_number")
		}
		piece := place(e.data)
		if piece == nil {
			flush()
			if e.name != "" {
				b.WriteString(e.name + " ")
			}
			b.Write(append(must(json.Marshal(e.data)), '\n'))
			continue
		}
		said += (*piece).(string)
		if e.data["delta"] != nil {
			e.data["delta"] = ""
		} else {
			e.data["choices"].([]any)[0].(openaiObject)["delta"].(openaiObject)["content"] = ""
		}
		open = e.data
	}
	flush()
	return b.String() + fmt.Sprintln("done:", done)
}
