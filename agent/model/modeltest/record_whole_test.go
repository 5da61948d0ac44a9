// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// conversation makes requests whose histories share what earlier ones had.
func conversation(requests ...*model.Request) func(t testing.TB, m model.Model) {
	return func(t testing.TB, m model.Model) {
		for i, req := range requests {
			var sink model.Sink
			if i%2 == 1 {
				sink = func(d model.Delta) error {
					if strings.Contains(d.Text, "stop") {
						return errRecBoom
					}
					return nil
				}
			}
			_, _ = m.Generate(t.Context(), req, sink)
		}
	}
}

// TestRecordingsHoldAllThatReachesAModel compares a file with every kind of exchange, part, setting
// and error with what people have read and found good, and replays it.
func TestRecordingsHoldAllThatReachesAModel(t *testing.T) {
	frame := model.Request{
		Instructions: "Be <brief>.", Tools: []model.ToolDef{{Name: "look", Schema: json.RawMessage(`{ "a" : "<" }`)}, {Name: "odd", Schema: json.RawMessage(`{`)}},
		Output: &model.OutputSchema{Name: "o", Description: "d", Schema: json.RawMessage(`[ 1 ]`)},
		Settings: &model.Settings{
			MaxTokens: 7, Temperature: new(0.5), TopP: new(0.25), Stop: []string{"x"}, Seed: new(int64(3)), ParallelToolCalls: new(false), Thinking: "low",
			ServiceTier: "flex", NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}, CompactAt: 9,
			ExtraHeaders: map[string]string{"B": "secret", "A": "secret"}, ExtraBody: map[string]json.RawMessage{"k": json.RawMessage(`[ "&" ]`)},
		},
	}
	ask := func(messages ...*model.Message) *model.Request {
		req := frame
		req.Messages = messages
		return &req
	}
	first, other := model.UserText("first"), model.UserText("other")
	usage := model.Usage{InputTokens: 1, OutputTokens: 2}
	every := &model.Message{Kind: model.KindRequest, Parts: []model.Part{
		{Kind: model.PartMedia, MediaType: "image/png", URL: "https://a.test/", Name: "n", Provider: "p", ID: "i", Data: []byte("picture"), Signature: []byte("sign")},
		{Kind: model.PartToolReturn, CallID: "1", Tool: "look", Text: "\xff<", Outcome: model.OutcomeFailed, Args: model.RawArgs(`{"b":1}`)},
	}}
	answer := model.Response(model.Text("said <it>"), model.ToolCall("1", "look", "{}"))
	answer.Usage, answer.Finish = usage, model.FinishToolCalls
	whole := model.Part{Kind: model.PartCitation, URL: "https://a.test/", Provider: "p"}
	later := ask(first, answer, every)
	later.Instructions, later.ToolChoice = "Be long.", model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "look"}
	bare := &model.Request{Messages: []*model.Message{first}}
	api := &model.APIError{
		Provider: "p", Model: "m", Status: 429, Code: "c", Type: "t", Message: "slow down", RequestID: "r", Retryable: true, RetryAfter: 90 * time.Second,
		Err: fmt.Errorf("cut: %w", io.ErrUnexpectedEOF),
	}
	n := 0
	m := model.Func(model.Info{Provider: "p", Name: "m"}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		n++
		if sink != nil {
			for _, d := range []model.Delta{
				{Kind: model.PartText, Text: "said \xc3"}, {Part: 1, Kind: model.PartToolCall, CallID: "1", Tool: "look", Text: "{}"}, {Usage: &usage}, {Whole: &whole},
			} {
				if n == 6 {
					d.Text = "stop"
				}
				if err := sink(d); err != nil {
					return nil, err
				}
			}
		}
		switch n {
		case 3:
			return nil, fmt.Errorf("outside: %w", api)
		case 4:
			return nil, errors.Join(errRecBoom, context.DeadlineExceeded, model.ErrUnsupported)
		case 5:
			return nil, api
		}
		return answer, nil
	})
	requests := []*model.Request{
		ask(first), ask(first, answer), ask(first, answer, other), ask(other), bare, ask(first, other), later, ask(first, answer, every), ask(other, other), ask(),
	}
	talk := conversation(requests...)
	text, replay := record(t, m, func(m model.Model) { talk(t, m) })
	openWording(t).same(t, "file", text)
	require.NotContains(t, text, "secret")
	again, err := modeltest.DecodeRecording([]byte(text))
	require.NoError(t, err)
	require.Equal(t, text, string(again))
	n = 0
	for i, req := range requests {
		want, wantErr := m.Generate(t.Context(), req, nil)
		got, err := replay.Generate(t.Context(), req, nil)
		if i == 5 { // the sink has ended it
			require.ErrorContains(t, err, "the recording ends within this response, because the caller's sink ended it; to record again")
			continue
		}
		require.Equal(t, wantErr == nil, err == nil, "%d: %v", i, err)
		if err != nil {
			require.Equal(t, wantErr.Error(), err.Error())
			continue
		}
		require.Equal(t, want.Parts, got.Parts)
	}
	require.Zero(t, replay.Left())
}

// TestTheNearestExchangeIsNamed asks for what is not in a recording.
func TestTheNearestExchangeIsNamed(t *testing.T) {
	ask := func(texts string) *model.Request {
		req := &model.Request{}
		for text := range strings.FieldsSeq(texts) {
			req.Messages = append(req.Messages, model.UserText(text))
		}
		return req
	}
	for _, c := range []struct {
		recorded, used []string
		asked          string
		want           int
	}{
		{[]string{"a", "a b", "c d"}, nil, "a x", 2},
		{[]string{"a", "a b", "c d"}, nil, "x", 1},
		{[]string{"a", "a b", "c d"}, nil, "x y", 2},
		{[]string{"a", "a b", "c d"}, []string{"a b"}, "x y", 3},
		{[]string{"a", "a b", "c d"}, nil, "a b z", 2},
		{[]string{"a", "a b", "c d"}, []string{"c d"}, "c d e", 3},
		{[]string{"p q", "a"}, []string{"a"}, "a z", 2},
		{[]string{"p", "a b"}, []string{"p"}, "x", 1},
		{[]string{"p", "q"}, []string{"p"}, "x", 2},
		{[]string{"p", "q"}, []string{"p", "q"}, "x", 1},
	} {
		steps := make([]modeltest.Step, len(c.recorded))
		for i := range steps {
			steps[i] = modeltest.SayText("ok")
		}
		_, replay := record(t, modeltest.Script(steps...), func(m model.Model) {
			for _, texts := range c.recorded {
				generate(t, m, ask(texts))
			}
		})
		for _, texts := range c.used {
			generate(t, replay, ask(texts))
		}
		require.ErrorContains(t, recFailure(t, replay, ask(c.asked)), fmt.Sprintf("; nearest is exchange %d, except for messages[", c.want), "%v", c)
	}
}

// TestDifferencesAreShownInExcerpts has texts that differ at both sides of each bound.
func TestDifferencesAreShownInExcerpts(t *testing.T) {
	many := func(n int) string { return strings.Repeat("ö", n) }
	for _, c := range []struct{ recorded, now, want string }{
		{many(20) + "a", many(20) + "b", `recorded "` + many(20) + `a", now "` + many(20) + `b"`},
		{many(21) + "a", many(21) + "b", `recorded …"` + many(20) + `a", now …"` + many(20) + `b"`},
		{"a" + many(59), "b" + many(60), `recorded "a` + many(59) + `", now "b` + many(59) + `"…`},
		{many(3), many(4), `recorded "` + many(3) + `", now "` + many(4) + `"`},
		{many(4), many(3), `recorded "` + many(4) + `", now "` + many(3) + `"`},
		{"", "b", `recorded nothing, now "b"`},
		{"b", "", `recorded "b", now nothing`},
	} {
		_, replay := record(t, modeltest.Script(modeltest.SayText("ok")), func(m model.Model) { generate(t, m, recAsk(c.recorded)) })
		require.ErrorContains(t, recFailure(t, replay, recAsk(c.now)), "except for messages[0].parts[0].text: "+c.want+"; to record again, run the test with PONTE_RECORD=1")
	}
	body := func(extra map[string]json.RawMessage) *model.Request {
		req := recAsk("go")
		req.Settings = &model.Settings{ExtraBody: extra}
		return req
	}
	for _, c := range []struct {
		now  map[string]json.RawMessage
		want string
	}{
		{map[string]json.RawMessage{"b": json.RawMessage("1"), "d": json.RawMessage("2"), "a": json.RawMessage("0")}, `settings.extra_body.a: recorded nothing, now "0"`},
		{map[string]json.RawMessage{"b": json.RawMessage("1")}, `settings.extra_body.d: recorded "2", now nothing`},
		{map[string]json.RawMessage{"b": json.RawMessage("3"), "d": json.RawMessage("2")}, `settings.extra_body.b: recorded "1", now "3"`},
		{map[string]json.RawMessage{"b": json.RawMessage("1"), "c": json.RawMessage("1"), "d": json.RawMessage("2")}, `settings.extra_body.c: recorded nothing, now "1"`},
	} {
		_, replay := record(t, modeltest.Script(modeltest.SayText("ok")), func(m model.Model) {
			generate(t, m, body(map[string]json.RawMessage{"b": json.RawMessage("1"), "d": json.RawMessage("2")}))
		})
		require.ErrorContains(t, recFailure(t, replay, body(c.now)), c.want+"; to record again")
	}
}

// TestRequestsAreDescribed compares what a script says of a request that it has no step for.
func TestRequestsAreDescribed(t *testing.T) {
	failed := model.ToolReturn("1", "look", "no")
	failed.Outcome = model.OutcomeFailed
	long := strings.Repeat("ä", 200)
	for _, c := range []struct {
		req  *model.Request
		want string
	}{
		{&model.Request{}, "0 messages"},
		{recAsk("hi"), `1 messages, the last: user "hi"`},
		{recAsk(long), `1 messages, the last: user "` + long + `"`},
		{recAsk(long + "x"), `1 messages, the last: user "` + long + `…"`},
		{&model.Request{Messages: []*model.Message{
			model.UserText("a"), model.Response(model.Text("b")), {Kind: model.KindRequest, Parts: []model.Part{failed, model.Retry("2", "see", "again")}},
			{Kind: model.KindRequest, Parts: []model.Part{model.Media("image/png", nil), model.ToolReturn("3", "look", "yes")}},
		}, Tools: []model.ToolDef{{Name: "look"}, {Name: "see"}}},
			`4 messages, the last: tool_return of look (failed) "no"; retry of see "again"; media image/png; tool_return of look "yes"; tools: look, see`},
		{&model.Request{Messages: []*model.Message{model.UserText("a"), model.Response(model.Text("b"))}}, "2 messages"},
	} {
		s := modeltest.Script(modeltest.SayText("one"))
		require.Equal(t, 1, s.Left())
		require.Nil(t, s.Last())
		generate(t, s, recAsk("first"))
		require.EqualError(t, recFailure(t, s, c.req), "modeltest: request 2, but the script has 1 steps; the request: "+c.want)
		require.Zero(t, s.Left())
		require.Len(t, s.Requests(), 2)
		require.Equal(t, c.req.Messages, s.Last().Messages)
	}
}

// TestDoublesAnswerWhole looks at all of the responses of steps.
func TestDoublesAnswerWhole(t *testing.T) {
	call := model.ToolCall("1", "look", "{}")
	usage := model.Usage{InputTokens: 10, OutputTokens: 5}
	for name, c := range map[string]struct {
		step modeltest.Step
		want *model.Message
	}{
		"text":   {modeltest.SayText("hi"), &model.Message{Kind: model.KindResponse, Parts: []model.Part{model.Text("hi")}, Finish: model.FinishStop, Usage: usage}},
		"call":   {modeltest.Say(call), &model.Message{Kind: model.KindResponse, Parts: []model.Part{call}, Finish: model.FinishToolCalls, Usage: usage}},
		"finish": {modeltest.Finish(model.FinishLength, call), &model.Message{Kind: model.KindResponse, Parts: []model.Part{call}, Finish: model.FinishLength}},
	} {
		got, err := c.step(t.Context(), recAsk("go"))
		require.NoError(t, err)
		got.Time = time.Time{}
		require.Equal(t, c.want, got, name)
	}
	none := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, nil })
	require.EqualError(t, recFailure(t, none, recAsk("go")), "modeltest: the function returned neither a response nor an error")
	require.Equal(t, model.Info{
		Provider: "modeltest", Name: "func", NativeOutput: true, Media: []string{"image", "audio", "application/pdf"},
	}, none.Info())

	var got []string
	parts := model.Response(model.Thinking("a b\nc"), model.Media("image/png", nil), model.Text(""), call)
	parts.Usage = usage
	require.NoError(t, modeltest.Emit(t.Context(), parts, func(d model.Delta) error {
		got = append(got, fmt.Sprintf("%d %s %q %s %s %v", d.Part, d.Kind, d.Text, d.CallID, d.Tool, d.Usage != nil))
		return nil
	}))
	require.Equal(t, []string{
		`0 thinking "a "   false`, `0 thinking "b\n"   false`, `0 thinking "c"   false`, `1 text ""   false`, `2 tool_call "{}" 1 look false`, `0  ""   true`,
	}, got)
	for at := range got {
		n := 0
		err := modeltest.Emit(t.Context(), parts, func(model.Delta) error {
			if n++; n == at+1 {
				return errRecBoom
			}
			return nil
		})
		require.Equal(t, errRecBoom, err)
		require.Equal(t, at+1, n)
	}
}
