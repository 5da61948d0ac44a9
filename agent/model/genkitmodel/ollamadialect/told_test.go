// SPDX-License-Identifier: Apache-2.0

package ollamadialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/ollamadialect"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// name is the name of a model of these tests.
var name = regexp.MustCompile(`\bm[0-9]+\b`)

// Each request is a body, or an error before anything is sent.
func TestBodiesOfRequests(t *testing.T) {
	set := func(s model.Settings) *model.Request { return &model.Request{Settings: &s} }
	tools := []model.ToolDef{{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "b"}}
	choose := func(mode model.ToolChoiceMode) *model.Request {
		return &model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: mode, Tool: map[model.ToolChoiceMode]string{model.ToolChoiceTool: "b"}[mode]}}
	}
	var told strings.Builder
	for _, test := range []struct {
		name string
		req  *model.Request
	}{
		{"a conversation", &model.Request{Instructions: "I", Messages: []*model.Message{
			model.UserText("a"), model.Response(model.Thinking("hm"), model.Text("b"), model.Text("c"), model.ToolCall("c1", "f", `{"n":1}`), model.ToolCall("c2", "g", "")),
			adaptertest.Request(model.ToolReturn("c1", "f", "r"), model.Retry("c2", "g", "bad"), model.User("u"), model.Media("image/png", []byte("png")), model.System("s"), model.User("v"), model.User("w")),
		}}},
		{"tools", choose("")}, {"none", choose(model.ToolChoiceNone)}, {"required", choose(model.ToolChoiceRequired)}, {"a tool", choose(model.ToolChoiceTool)},
		{"tokens", set(model.Settings{MaxTokens: 1})}, {"thinking", set(model.Settings{Thinking: "off"})}, {"headers", set(model.Settings{ExtraHeaders: map[string]string{"A": "b"}})}, {"output", &model.Request{Output: &model.OutputSchema{Schema: json.RawMessage("{}")}}},
		{"audio", &model.Request{Messages: []*model.Message{adaptertest.Request(model.Media("audio/wav", []byte("x")))}}}, {"an image", &model.Request{Messages: []*model.Message{adaptertest.Request(model.Media("image/png", []byte("x")))}}},
	} {
		if len(test.req.Messages) == 0 {
			test.req.Messages = []*model.Message{model.UserText("hi")}
		}
		fmt.Fprintf(&told, "== %s\n", test.name)
		for _, images := range []bool{false, true} {
			e := adaptertest.Serve(t, adaptertest.Answer{Body: `{"message":{"role":"assistant","content":"ok"}}`})
			msg, err := open(t, e.URL, images).Generate(t.Context(), test.req, nil)
			text := ""
			if err != nil {
				require.Zero(t, e.Count())
				text = tell(t, msg, err)
			} else {
				r, body := e.Last()
				decoded, err := genkitmodel.Decode([]byte(body))
				require.NoError(t, err)
				text = r.Method + " " + r.URL.Path + " " + jsonOf(t, decoded) + "\n"
			}
			fmt.Fprintf(&told, "images %t: %s", images, name.ReplaceAllString(text, "MODEL"))
		}
	}
	golden(t, "sent.txt", told.String())
}

// What is told of answers, of which a second one is asked for if the first is empty: deltas, then the message or the error.
func TestEverythingThatIsToldOfAnswers(t *testing.T) {
	type answers = []adaptertest.Answer
	line := func(s string) adaptertest.Answer { return adaptertest.Answer{Body: s + "\n"} }
	text, whole := line(`{"message":{"role":"assistant","content":"a"}}`+"\n"+`{"message":{"role":"assistant","content":"b"},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}`), line(`{"message":{"role":"assistant","content":"ab"},"done":true,"done_reason":"length"}`)
	status := func(n int, body string) adaptertest.Answer { return adaptertest.Answer{Status: n, Body: body} }
	var told strings.Builder
	for _, test := range []struct {
		name    string
		answers answers
	}{
		{"text", answers{text}}, {"whole text", answers{whole}}, {"a call", answers{line(`{"message":{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"n":1}}}]},"done":true}`)}}, {"nothing and text", answers{line(strings.TrimSpace(empty)), whole}}, {"nothing and a failure", answers{line(strings.TrimSpace(empty)), status(503, `{"error":"busy"}`)}},
		{"nothing twice", answers{line(strings.TrimSpace(empty))}}, {"nothing and no JSON", answers{line(strings.TrimSpace(empty)), line("<html>")}}, {"no JSON", answers{line("<html>")}}, {"no JSON and text", answers{line("<html>"), whole}}, {"no JSON and nothing", answers{line("<html>"), line(strings.TrimSpace(empty))}},
		{"no JSON and a failure", answers{line("<html>"), status(404, `{"error":"no model"}`)}}, {"no JSON after text", answers{line(`{"message":{"role":"assistant","content":"a"}}` + "\n" + `<html>`), whole}}, {"a line that breaks off", answers{adaptertest.Answer{Body: `{"message":{"role":"assistant","content":"a"}}` + "\n" + `{"mess`, Cut: true}}},
		{"a failure", answers{status(400, `{"error":"bad"}`)}}, {"a failure in other words", answers{status(502, " <html>\nbad ")}}, {"a failure without words", answers{status(500, "")}}, {"a failure with an empty error", answers{status(500, `{"error":""}`)}}, {"too many", answers{status(429, `{"error":"slow"}`)}}, {"unauthenticated", answers{status(401, "who?")}},
		{"too long a line", answers{line(`{"message":{"role":"assistant","content":"` + strings.Repeat("x", 1<<17) + `"}}`)}}, {"too long a conversation", answers{status(400, `{"error":"prompt too long; exceeded max context length by 7 tokens"}`)}},
	} {
		for _, streamed := range []bool{true, false} {
			e := adaptertest.Serve(t, test.answers...)
			if !streamed && len(test.answers) > 1 {
				continue
			}
			fmt.Fprintf(&told, "== %s, streamed %t\n", test.name, streamed)
			var sink model.Sink
			if streamed {
				sink = func(d model.Delta) error {
					told.WriteString("delta " + jsonOf(t, d) + "\n")
					return nil
				}
			}
			req := adaptertest.Hello()
			req.Tools = []model.ToolDef{{Name: "f"}}
			msg, err := open(t, e.URL, false).Generate(t.Context(), req, sink)
			said := strings.ReplaceAll(tell(t, msg, err), e.URL, "http://URL")
			if len(said) > 1500 {
				said = said[:300] + "…\n"
			}
			fmt.Fprintf(&told, "%s  %d requests\n", name.ReplaceAllString(said, "MODEL"), e.Count())
		}
	}
	golden(t, "told.txt", madeUp.ReplaceAllString(told.String(), "call_MADEUP"))
}

// The plugin's errors are text, by which they are told apart.
func TestErrorsOfThePlugin(t *testing.T) {
	read := ollamadialect.Dialect(nil).Error
	_, bounds := func() (_ int, err error) {
		defer func() { err, _ = recover().(error) }()
		var none []int
		return none[len(none)], nil
	}()
	var told strings.Builder
	for _, err := range []error{
		errors.New("other"), errors.New("x: server returned non-200 status: 418, body: "), errors.New("server returned non-200 status: 503, body: line\nline"), errors.New(`server returned non-200 status: 400, body: {"error":"e"}`), errors.New("server returned non-200 status: x, body: y"),
		errors.New("x (Client.Timeout exceeded)"), errors.New("token too long"), errors.New("failed to send request: x"), errors.New("failed to read response body: x"), errors.New("error reading response stream: x"), errors.New("failed to translate chunk: x"), errors.New("failed to parse response: x"),
		&genkitmodel.PanicError{Value: bounds, Origin: "github.com/firebase/genkit/go/plugins/ollama.f"}, &genkitmodel.PanicError{Value: bounds, Origin: "github.com/other.f"},
	} {
		e := &model.APIError{Err: err}
		known := read(err, e)
		fmt.Fprintf(&told, "%q: %t status %d retryable %t message %q cause %q end %t deadline %t\n", err, known, e.Status, e.Retryable, e.Message, e.Err, errors.Is(e.Err, io.ErrUnexpectedEOF), errors.Is(e.Err, os.ErrDeadlineExceeded))
	}
	golden(t, "errors.txt", told.String())
}

func TestDialectOfThePlugin(t *testing.T) {
	d := ollamadialect.Dialect(nil)
	require.Equal(t, []any{false, true, 0, 0, 0, false, false, false, false}, []any{d.NativeOutput, d.NoForcedCalls, len(d.Media), len(d.MediaURLs), d.CallIDMax, d.Thinking, d.RawArguments, d.ContentRequired, d.EmptyTextEndsPart})
	returned, said := model.ToolReturn("c", "f", "r"), model.Text("x")
	out := ai.NewTextPart("out")
	got, err := d.Part(nil, &returned, out)
	require.NoError(t, err)
	require.Equal(t, "r", got.Text)
	got, err = d.Part(nil, &said, out)
	require.NoError(t, err)
	require.Same(t, out, got)
}
