// SPDX-License-Identifier: Apache-2.0

package genkitmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file in testdata, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update, and read what it writes")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}

// madeUp is an id that the package makes up.
var madeUp = regexp.MustCompile(`call_[A-Z2-7]{26}`)

// tell tells all of a message or an error.
func tell(t testing.TB, msg *model.Message, err error) string {
	var b strings.Builder
	if err != nil {
		require.Nil(t, msg)
		fmt.Fprintf(&b, "error %s\n", err)
		var e *model.APIError
		if errors.As(err, &e) {
			cause := ""
			if e.Err != nil {
				cause = e.Err.Error()
			}
			fmt.Fprintf(&b, "  %s %s status %d code %q type %q id %q retryable %t after %s cause %q\n  message %q\n",
				e.Provider, e.Model, e.Status, e.Code, e.Type, e.RequestID, e.Retryable, e.RetryAfter, cause, e.Message)
		}
		for _, is := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength, model.ErrUnsupported} {
			if errors.Is(err, is) {
				fmt.Fprintf(&b, "  is %s\n", is)
			}
		}
		return b.String()
	}
	fmt.Fprintf(&b, "message %s %s %s %s %s usage %s\n", msg.Kind, msg.Provider, msg.Model, msg.ResponseID, msg.Finish, jsonOf(t, msg.Usage))
	for i := range msg.Parts {
		p := msg.Parts[i]
		data, signature, args := p.Data, p.Signature, p.Args
		p.Data, p.Signature, p.Args = nil, nil, nil
		fmt.Fprintf(&b, "  %s", jsonOf(t, p))
		if args != nil {
			fmt.Fprintf(&b, " args %s", args)
		}
		if data != nil {
			fmt.Fprintf(&b, " data %q", data)
		}
		if signature != nil {
			fmt.Fprintf(&b, " signature %q", signature)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// part returns a part of a kind that a provider has made.
func part(provider string, kind model.PartKind, change func(*model.Part)) model.Part {
	p := model.Part{Kind: kind, Provider: provider}
	change(&p)
	return p
}

func request(parts ...model.Part) *model.Message {
	return &model.Message{Kind: model.KindRequest, Parts: parts}
}

// asks are requests with everything that requests can have.
func asks() []struct {
	name string
	req  *model.Request
} {
	type named = struct {
		name string
		req  *model.Request
	}
	said := func(messages ...*model.Message) *model.Request { return &model.Request{Messages: messages} }
	set := func(s model.Settings) *model.Request { return &model.Request{Settings: &s} }
	choose := func(n int, mode model.ToolChoiceMode, tool string) *model.Request {
		return &model.Request{Tools: []model.ToolDef{{Name: "a"}, {Name: "b"}}[:n], ToolChoice: model.ToolChoice{Mode: mode, Tool: tool}}
	}
	schema := func(s string) *model.Request {
		return &model.Request{Tools: []model.ToolDef{{Name: "a", Description: "d", Schema: json.RawMessage(s)}}}
	}
	return []named{
		{"nothing", &model.Request{}},
		{"instructions", &model.Request{Instructions: "I", Messages: []*model.Message{model.UserText("a")}}},
		{"blank instructions", &model.Request{Instructions: " ", Messages: []*model.Message{model.UserText("a")}}},
		{"blank text", said(request(model.User(""), model.User(" \n"), model.User("a")), request(model.System(" "), model.User("")))},
		{"results, system prompts and runs of the user", said(
			model.Response(model.ToolCall("c1", "f", "{}"), model.ToolCall("c2", "g.h", `{"x":1}`), model.ToolCall("c3", "g", "")),
			request(model.User("a"), model.ToolReturn("c2", "g.h", "two"), model.System("s1"), model.System("s2"), model.Retry("c1", "f", "bad")),
			request(model.User("b"), model.Retry("", "", "again"), model.ToolReturn("c3", "g", "[1]"), model.System("s3")),
		)},
		{"ids of calls", said(
			model.Response(model.ToolCall("c 1", "f", "{}"), model.ToolCall("c", "f", "{}"), model.ToolCall("c", "f", "{}"), model.ToolCall(strings.Repeat("x", 21), "f", "{}")),
			request(model.ToolReturn("c 1", "f", ""), model.ToolReturn("c", "f", "1"), model.ToolReturn("c", "f", "2"), model.ToolReturn(strings.Repeat("x", 21), "f", ""), model.ToolReturn("none", "f", "")),
			model.Response(model.ToolCall("c", "f", "{}")), request(model.ToolReturn("c", "f", "3")),
		)},
		{"own ids of calls", said(
			func() *model.Message {
				m := model.Response(model.ToolCall("c 1", "f", "{}"))
				m.Provider = "fake"
				return m
			}(), request(model.ToolReturn("c 1", "f", "")),
		)},
		{"responses that say nothing", said(model.UserText("a"), model.Response(), model.Response(model.Thinking("hm")), model.Response(model.Text(" ")), model.UserText("b"))},
		{"adjacent responses", said(model.Response(model.Text("a"), model.Text(" ")), model.Response(model.ToolCall("c", "f", "{}"), model.Text("b")))},
		{"parts of responses", said(model.UserText("a"), model.Response(
			part("fake", model.PartThinking, func(p *model.Part) { p.Text, p.Signature = "mine", []byte("s") }),
			part("fake", model.PartThinking, func(p *model.Part) { p.Text = "unsigned" }),
			part("other", model.PartThinking, func(p *model.Part) { p.Text, p.Signature = "theirs", []byte("s") }),
			part("fake", model.PartOpaque, func(p *model.Part) { p.Data = []byte("{}") }),
			part("fake", model.PartCitation, func(p *model.Part) { p.URL = "https://x.test" }),
			part("fake", model.PartMedia, func(p *model.Part) { p.MediaType, p.Data, p.Name = "image/png", []byte("png"), "cat" }),
			model.Text("x"), part("fake", model.PartThinking, func(p *model.Part) { p.Text, p.Signature = "at the end", []byte("s") }),
		), model.UserText("b"))},
		{"arguments", said(model.Response(model.ToolCall("1", "f", ""), model.ToolCall("2", "f", "null"), model.ToolCall("3", "f", "[1]"), model.ToolCall("4", "f", `{"n":-1,"u":18446744073709551615,"f":1.5,"s":["x",{"m":1}]}`)))}, {"arguments that are too large", said(model.Response(model.ToolCall("1", "f", `{"e":1e400}`)))},
		{"media", said(request(model.Media("image/JPG; q=1", []byte("jpg")), model.User("text"), part("", model.PartMedia, func(p *model.Part) { p.MediaType, p.URL = "image/png", "https://x.test/a.png" })))},
		{"media of another kind", said(request(model.Media("video/mp4", []byte("x"))))},
		{"media by URL", said(request(part("", model.PartMedia, func(p *model.Part) { p.MediaType, p.URL = "audio/wav", "https://x.test/a.wav" })))},
		{"media of no kind", said(request(model.Media("", []byte("x"))))},
		{"a part that no request has", said(request(model.Text("x")))},
		{"a part that no response has", said(model.Response(model.System("x")))},
		{"a message of no kind", said(&model.Message{Parts: []model.Part{model.User("x")}})},
		{"a message of another kind", said(&model.Message{Kind: "note", Parts: []model.Part{model.User("x")}})},
		{"tools", &model.Request{Tools: []model.ToolDef{{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object","maxProperties":1}`)}, {Name: "b"}}}},
		{"a schema that is no object", schema(`[1]`)}, {"a schema that is invalid", schema(`{`)}, {"a schema that the dialect refuses", schema(`{"refused":true}`)},
		{"a tool without a name", &model.Request{Tools: []model.ToolDef{{}}}},
		{"none of two tools", choose(2, model.ToolChoiceNone, "")}, {"some tool", choose(2, model.ToolChoiceRequired, "")}, {"one of two tools", choose(2, model.ToolChoiceTool, "b")},
		{"the only tool", choose(1, model.ToolChoiceTool, "a")}, {"a tool that is not there", choose(1, model.ToolChoiceTool, "b")}, {"a tool of none", choose(0, model.ToolChoiceRequired, "")},
		{"output", &model.Request{Output: &model.OutputSchema{Name: "o", Schema: json.RawMessage("{}")}}}, {"output of an invalid schema", &model.Request{Output: &model.OutputSchema{Name: "o"}}},
		{"tokens", set(model.Settings{MaxTokens: 1})}, {"fewer than no tokens", set(model.Settings{MaxTokens: -1})},
		{"temperature", set(model.Settings{Temperature: new(0.5)})}, {"temperature of 0", set(model.Settings{Temperature: new(0.0)})},
		{"top p", set(model.Settings{TopP: new(0.5)})}, {"top p of 0", set(model.Settings{TopP: new(0.0)})}, {"both", set(model.Settings{Temperature: new(0.5), TopP: new(0.0)})}, {"stop", set(model.Settings{Stop: []string{"x"}})},
		{"seed", set(model.Settings{Seed: new(int64(0))})}, {"parallel calls without tools", set(model.Settings{ParallelToolCalls: new(false)})},
		{"parallel calls", &model.Request{Tools: []model.ToolDef{{Name: "a"}}, Settings: &model.Settings{ParallelToolCalls: new(false)}}},
		{"thinking", set(model.Settings{Thinking: "low"})}, {"tier", set(model.Settings{ServiceTier: "x"})}, {"headers", set(model.Settings{ExtraHeaders: map[string]string{"A": "b"}})},
		{"body", set(model.Settings{ExtraBody: map[string]json.RawMessage{"a": json.RawMessage("1")}})},
		{"a search", set(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}})}, {"compaction", set(model.Settings{CompactAt: 1})},
	}
}

// Each request is given to a plugin of which nothing is known, and to one whose dialect says all that can be said.
func TestWhatPluginsAreAsked(t *testing.T) {
	generic := genkitmodel.Generic()
	full := genkitmodel.Dialect{
		NativeOutput: true, Media: []string{"image", "audio"}, MediaURLs: []string{"image"}, CallIDMax: 20, Thinking: true, RawArguments: true, ContentRequired: true,
		Result: genkitmodel.JSONResult,
		Part: func(_ *genkitmodel.Call, in *model.Part, out *ai.Part) (*ai.Part, error) {
			switch {
			case in.Text == "refused":
				return nil, errors.New("the dialect refuses the part")
			case in.Kind == model.PartCitation:
				return ai.NewTextPart("[cited]"), nil
			case in.Kind == model.PartSystem && in.Text == "s2":
				return nil, nil
			}
			return out, nil
		},
		Schema: func(_ *genkitmodel.Call, schema map[string]any) (map[string]any, error) {
			if schema["refused"] == true {
				return nil, errors.New("the dialect refuses the schema")
			}
			schema["seen"] = true
			return schema, nil
		},
	}
	all := asks()
	all = append(all, []struct {
		name string
		req  *model.Request
	}{
		{"a part of a request that the dialect refuses", &model.Request{Messages: []*model.Message{request(model.User("refused"))}}},
		{"a result that the dialect refuses", &model.Request{Messages: []*model.Message{request(model.ToolReturn("c", "f", "refused"))}}},
		{"a system prompt that the dialect refuses", &model.Request{Messages: []*model.Message{request(model.System("refused"))}}},
		{"a part of a response that the dialect refuses", &model.Request{Messages: []*model.Message{model.Response(model.Text("refused"))}}},
	}...)
	var told strings.Builder
	for _, ask := range all {
		fmt.Fprintf(&told, "== %s\n", ask.name)
		for _, d := range []struct {
			name    string
			dialect *genkitmodel.Dialect
		}{{"generic", &generic}, {"full", &full}} {
			given, err := asked(t, d.dialect, ask.req)
			if err != nil {
				require.Nil(t, given)
				fmt.Fprintf(&told, "-- %s\n%s", d.name, tell(t, nil, err))
				continue
			}
			fmt.Fprintf(&told, "-- %s\n", d.name)
			for _, msg := range given.Messages {
				fmt.Fprintf(&told, "%s\n", msg.Role)
				for _, p := range msg.Content {
					fmt.Fprintf(&told, "  %s\n", jsonOf(t, p))
					if p.IsToolRequest() {
						fmt.Fprintf(&told, "    as %T\n", p.ToolRequest.Input)
					}
				}
			}
			rest := *given
			rest.Messages = nil
			fmt.Fprintf(&told, "%s\n", jsonOf(t, rest))
		}
	}
	golden(t, "asked.txt", told.String())
}

// answers are what plugins return, after chunks.
func answers() []struct {
	name   string
	chunks []*ai.ModelResponseChunk
	resp   *ai.ModelResponse
} {
	type named = struct {
		name   string
		chunks []*ai.ModelResponseChunk
		resp   *ai.ModelResponse
	}
	chunk := func(parts ...*ai.Part) *ai.ModelResponseChunk { return &ai.ModelResponseChunk{Content: parts} }
	chunks := func(list ...*ai.ModelResponseChunk) []*ai.ModelResponseChunk { return list }
	text, thought := ai.NewTextPart, func(s string) *ai.Part { return ai.NewReasoningPart(s, nil) }
	call := func(ref, name string, input any) *ai.Part {
		return ai.NewToolRequestPart(&ai.ToolRequest{Ref: ref, Name: name, Input: input})
	}
	type args = map[string]any
	with := func(change func(*ai.ModelResponse), parts ...*ai.Part) *ai.ModelResponse {
		resp := answer(parts...)
		change(resp)
		return resp
	}
	signed := func(key string, value any) *ai.Part {
		p := call("c", "f", args{})
		p.Metadata = map[string]any{key: value}
		return p
	}
	unnamed := ai.NewToolRequestPart(nil)
	finish := func(reason ai.FinishReason, message string, parts ...*ai.Part) *ai.ModelResponse {
		return with(func(r *ai.ModelResponse) { r.FinishReason, r.FinishMessage = reason, message }, parts...)
	}
	return []named{
		{"text alone", nil, answer(text("a"), text(""), text("b"))},
		{"no parts", nil, answer()}, {"parts that are nil", chunks(chunk(nil, text("a")), nil), answer(nil, text("a"))},
		{"text and thinking in pieces", chunks(chunk(thought("h")), chunk(thought("m"), text("a")), chunk(text("")), chunk(text("b"))), answer(thought("hm"), text("ab"))},
		{"thinking between texts", chunks(chunk(text("a")), chunk(thought("hm")), chunk(text("b"))), answer(text("a"), thought("hm"), text("b"))},
		{"thinking with signatures", nil, answer(ai.NewReasoningPart("a", []byte("s1")), ai.NewReasoningPart("b", []byte("s2")), ai.NewReasoningPart("", nil), thought("c"), ai.NewReasoningPart("d", []byte("s3")), ai.NewReasoningPart("", []byte("s4")))},
		{"more text than was streamed", chunks(chunk(text("a"))), answer(text("abc"))},
		{"more thinking than was streamed, before text", chunks(chunk(thought("a")), chunk(text("x")), chunk(thought("b")), chunk(text("y"))), answer(thought("abc"), text("xyz"))},
		{"less text than was streamed", chunks(chunk(text("abc"))), answer(text("a"))},
		{"no text although some was streamed", chunks(chunk(text("abc"))), answer(call("c", "f", args{}))},
		{"other text in the middle", chunks(chunk(text("a")), chunk(call("c", "f", args{})), chunk(text("b"))), answer(thought("hm"), call("c", "f", args{}), text("other"), call("d", "f", args{"x": 1}), text("more"))},
		{"other thinking", chunks(chunk(thought("a")), chunk(text("x")), chunk(thought("b"))), answer(ai.NewReasoningPart("other", []byte("s")), text("x"))},
		{"calls that were streamed", chunks(chunk(call("c", "f", args{"x": int64(1)}), text("a")), chunk(call("c", "g", args{}))), answer(text("a"), call("c", "f", args{"x": int64(1)}), call("c", "g", args{}))},
		{"calls that were not streamed", chunks(chunk(text("a"))), answer(text("a"), call("", "f", args{"x": int64(1)}), call("", "f", args{"x": int64(1)}), call("c", "g", nil))},
		{"calls in another order", chunks(chunk(call("1", "f", args{"x": int64(1)})), chunk(call("2", "f", args{"x": int64(2)}))), answer(call("b", "f", args{"x": int64(2)}), call("a", "f", args{"x": int64(1)}))},
		{"a call of another tool", chunks(chunk(call("1", "f", args{}))), answer(call("1", "g", args{}))},
		{"a call with other arguments", chunks(chunk(call("1", "f", args{"x": int64(1)}))), answer(call("1", "f", args{"x": int64(2)}))},
		{"a call that the response lacks", chunks(chunk(call("1", "f", args{"x": int64(1)}))), answer(text("a"))},
		{"calls that are not whole", chunks(chunk(call("1", "f", nil)), chunk(call("1", "f", args(nil))), chunk(call("1", "f", `{}`)), chunk(ai.NewToolRequestPart(&ai.ToolRequest{Ref: "1", Name: "f", Input: args{}, Partial: true})), chunk(call("1", "f", args{"x": make(chan int)}))), answer(call("1", "f", args{}))},
		{"a call without a name in a chunk", chunks(chunk(call("1", "", args{})), chunk(unnamed)), answer(text("a"))},
		{"a chunk that repeats others", chunks(chunk(text("a")), &ai.ModelResponseChunk{Aggregated: true, Content: []*ai.Part{text("a")}}), answer(text("a"))},
		{"media and other parts in chunks", chunks(chunk(text("a")), chunk(ai.NewMediaPart("image/png", "https://x.test")), chunk(text("b"))), answer(text("ab"))},
		{"arguments in every form", nil, answer(
			call("1", "f", nil), call("2", "f", json.RawMessage(`{"a": 1}`)), call("3", "f", json.RawMessage(" ")), call("4", "f", []byte(`{"b":1}`)), call("5", "f", []byte{}), call("6", "f", `{"c":1}`), call("7", "f", ""),
			call("8", "f", args(nil)), call("9", "f", args{"<": int64(1)}), call("10", "f", 5), call("11", "f", []any{"x"}), call("12", "f", struct{ A int }{1}), call("13", "f", "\n"),
		)},
		{"arguments without a form", nil, answer(call("1", "f", make(chan int)))},
		{"a call without a name", nil, answer(call("1", "", args{}))}, {"a call that is not there", nil, answer(unnamed)},
		{"signatures of calls", nil, answer(signed("signature", []byte("s")), signed("thoughtSignature", []byte("t")), signed("signature", "dQ=="), signed("signature", "*"), signed("signature", ""), signed("signature", []byte{}), signed("signature", 5), signed("other", []byte("x")))},
		{"media", nil, answer(ai.NewMediaPart("image/png", "data:image/gif;base64,cG5n"), ai.NewMediaPart("", "data:image/gif;base64,cG5n"), ai.NewMediaPart("image/png", "data:image/png,cG5n"), ai.NewMediaPart("image/png", "data:image/png;base64"), ai.NewMediaPart("image/png", "data:image/png;base64,*"), ai.NewMediaPart("image/png", "https://x.test/a,b"), ai.NewMediaPart("", "image/png;base64,cG5n"))},
		{"other parts", nil, answer(ai.NewDataPart("d"), ai.NewCustomPart(map[string]any{"k": "v"}))}, {"a part without a form", nil, answer(ai.NewCustomPart(map[string]any{"k": make(chan int)}))},
		{"usage", nil, with(func(r *ai.ModelResponse) {
			r.Usage = &ai.GenerationUsage{InputTokens: 1, OutputTokens: 2, CachedContentTokens: 3, ThoughtsTokens: 4, TotalTokens: 10}
		}, text("a"))},
		{"usage of nothing", chunks(chunk(text("a"))), with(func(r *ai.ModelResponse) { r.Usage = &ai.GenerationUsage{} }, text("a"))},
		{"length", nil, finish(ai.FinishReasonLength, "m", text("a"))}, {"length with a call", nil, finish(ai.FinishReasonLength, "", call("1", "f", args{}))},
		{"blocked", nil, finish(ai.FinishReasonBlocked, "why")}, {"blocked with text", nil, finish(ai.FinishReasonBlocked, "why", text("a"))}, {"blocked for no reason", nil, finish(ai.FinishReasonBlocked, "")},
		{"stopped, with a reason", nil, finish(ai.FinishReasonStop, "why")}, {"another reason", nil, finish(ai.FinishReasonOther, "why", text("a"))}, {"another reason with a call", nil, finish(ai.FinishReasonOther, "", call("1", "f", args{}))},
		{"an unknown reason", nil, finish(ai.FinishReasonUnknown, "", text("a"))}, {"no reason", nil, finish("", "", text("a"))}, {"no message", nil, &ai.ModelResponse{FinishReason: ai.FinishReasonStop}}, {"nothing", chunks(chunk(text("a"))), nil},
	}
}

// Each response of a plugin is told as deltas, a message or an error, and a sink that fails ends it.
func TestEverythingThatIsToldOfResponses(t *testing.T) {
	for _, endsPart := range []bool{false, true} {
		var told strings.Builder
		for _, test := range answers() {
			fmt.Fprintf(&told, "== %s\n", test.name)
			d := genkitmodel.Generic()
			d.EmptyTextEndsPart = endsPart
			m, err := genkitmodel.New(stub{f: func(ctx context.Context, _ *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				if cb != nil {
					for _, c := range test.chunks {
						if err := cb(ctx, c); err != nil {
							return nil, err
						}
					}
				}
				return test.resp, nil
			}}, genkitmodel.Config{Dialect: &d})
			require.NoError(t, err)
			deltas := 0
			msg, err := m.Generate(t.Context(), hello(), func(d model.Delta) error {
				deltas++
				told.WriteString("delta " + jsonOf(t, d) + "\n")
				return nil
			})
			told.WriteString(tell(t, msg, err))
			for n := range deltas {
				failed, calls := errors.New("sink"), 0
				msg, err := m.Generate(t.Context(), hello(), func(model.Delta) error {
					if calls++; calls == n+1 {
						return failed
					}
					return nil
				})
				require.Nil(t, msg)
				require.Same(t, failed, err, "%s, call %d", test.name, n+1)
				require.Equal(t, n+1, calls)
			}
			msg, err = m.Generate(t.Context(), hello(), nil)
			fmt.Fprintf(&told, "without a sink: %s", tell(t, msg, err))
		}
		golden(t, fmt.Sprintf("told_%t.txt", endsPart), madeUp.ReplaceAllString(told.String(), "call_MADEUP"))
	}
}
