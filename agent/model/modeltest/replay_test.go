// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

func TestReplayKeepsErrors(t *testing.T) {
	api := &model.APIError{
		Provider: "p", Model: "m", Status: 429, Code: "c", Type: "t", Message: "slow down", RequestID: "r", Retryable: true, RetryAfter: 1500 * time.Millisecond,
		Err: fmt.Errorf("cause: %w", model.ErrContextLength),
	}
	for name, test := range map[string]struct {
		err error
		is  []error
	}{
		"an APIError":           {api, []error{model.ErrRateLimited, model.ErrContextLength}},
		"an APIError of status": {&model.APIError{Provider: "p", Status: 401, Message: "who?"}, []error{model.ErrAuth}},
		"a wrapped APIError":    {fmt.Errorf("outside: %w", api), []error{model.ErrRateLimited, model.ErrContextLength}},
		"another error":         {errRecBoom, nil},
		"unsupported":           {fmt.Errorf("no: %w", model.ErrUnsupported), []error{model.ErrUnsupported}},
		"a broken connection":   {&model.APIError{Provider: "p", Err: io.ErrUnexpectedEOF}, []error{io.ErrUnexpectedEOF}},
		"a timeout":             {fmt.Errorf("late: %w", os.ErrDeadlineExceeded), []error{os.ErrDeadlineExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			_, replay := record(t, modeltest.Script(modeltest.Fail(test.err)), func(m model.Model) {
				require.Equal(t, test.err, recFailure(t, m, recAsk("go")))
			})
			err := recFailure(t, replay, recAsk("go"))
			require.Equal(t, test.err.Error(), err.Error())
			for _, id := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength, model.ErrUnsupported, context.Canceled, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded} {
				require.Equal(t, errors.Is(test.err, id), errors.Is(err, id), id)
			}
			var want, got *model.APIError
			require.Equal(t, errors.As(test.err, &want), errors.As(err, &got))
			if want != nil {
				a, b := *want, *got
				a.Err, b.Err = nil, nil
				require.Equal(t, a, b)
			}
			for _, id := range test.is {
				require.ErrorIs(t, err, id)
			}
		})
	}
}

func TestReplayOfStoppedExchanges(t *testing.T) {
	synctest.Test(t, testWhatTheCallerStopped) // with fake time, so that the deadline is not missed
}

func testWhatTheCallerStopped(t *testing.T) {
	cause := errors.New("gone")
	waiting := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		if req.Messages[0].Text(); req.Messages[0].Parts[0].Text == "wait" {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return model.Response(model.Text("one two three")), nil
	})
	cancelled := func(m model.Model, text string) error {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Millisecond, func() { cancel(cause) })
		_, err := m.Generate(ctx, recAsk(text), nil)
		return err
	}
	stopped := func(m model.Model) (seen []string, err error) {
		_, err = m.Generate(t.Context(), recAsk("stop"), func(d model.Delta) error {
			if seen = append(seen, d.Text); len(seen) == 2 {
				return errRecBoom
			}
			return nil
		})
		return seen, err
	}
	_, replay := record(t, waiting, func(m model.Model) {
		require.ErrorIs(t, cancelled(m, "wait"), cause)
		require.ErrorIs(t, cancelled(m, "wait"), cause)
		for range 2 {
			_, err := stopped(m)
			require.Equal(t, errRecBoom, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := m.Generate(ctx, recAsk("never sent"), nil)
		require.ErrorIs(t, err, context.Canceled)
	})
	require.Equal(t, 4, replay.Left(), "a request that was not sent is not in the file")
	require.ErrorIs(t, cancelled(replay, "wait"), cause)
	seen, err := stopped(replay)
	require.Equal(t, errRecBoom, err)
	require.Equal(t, []string{"one ", "two "}, seen)

	_, err = replay.Generate(context.Background(), recAsk("wait"), nil)
	require.ErrorContains(t, err, "the recording ends within this response, because the caller's context ended it; to record again")
	_, _, err = deltas(t, replay, recAsk("stop"))
	require.ErrorContains(t, err, "because the caller's sink ended it")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = replay.Generate(ctx, recAsk("wait"), nil)
	require.Equal(t, cause, err)
}

func TestReplayEndsWithTheContext(t *testing.T) {
	_, replay := record(t, modeltest.Script(modeltest.SayText("one two three")), func(m model.Model) {
		_, _, err := deltas(t, m, recAsk("go"))
		require.NoError(t, err)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	_, err := replay.Generate(ctx, recAsk("go"), func(model.Delta) error {
		n++
		cancel(errRecBoom)
		return nil
	})
	require.Equal(t, errRecBoom, err)
	require.Equal(t, 1, n)
}

func TestMismatchDescribesTheDifference(t *testing.T) {
	base := func() *model.Request {
		one := 1.0
		return &model.Request{
			Instructions: "Be brief.",
			Messages: []*model.Message{model.UserText(strings.Repeat("long ", 20) + "question"), model.Response(model.ToolCall("1", "look", `{"at":"x"}`)),
				{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("1", "look", "nothing to see")}}},
			Tools:    []model.ToolDef{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}},
			Settings: &model.Settings{MaxTokens: 5, Temperature: &one, ExtraHeaders: map[string]string{"A": "1"}, ExtraBody: map[string]json.RawMessage{"a": json.RawMessage(`1`)}},
		}
	}
	_, replay := record(t, modeltest.Script(modeltest.SayText("first"), modeltest.SayText("ok")), func(m model.Model) {
		req := base()
		req.Messages = req.Messages[:1]
		generate(t, m, req)
		generate(t, m, base())
	})
	two := 2.0
	for name, test := range map[string]struct {
		change func(*model.Request)
		want   string
	}{
		"instructions": {func(r *model.Request) { r.Instructions = "Be long." }, `exchange 2, except for instructions: recorded "Be brief.", now "Be long."`},
		"text": {func(r *model.Request) { r.Messages[0] = model.UserText(strings.Repeat("long ", 20) + "answer") },
			`messages[0].parts[0].text: recorded …"long long long long question", now …"long long long long answer"`},
		"cut text": {func(r *model.Request) { r.Messages[2].Parts[0].Text = "" }, `messages[2].parts[0].text: recorded "nothing to see", now nothing`},
		"arguments": {func(r *model.Request) { r.Messages[1].Parts[0].Args = model.RawArgs(`{"at":"y"}`) },
			`exchange 2, except for messages[1].parts[0].args: recorded "{\"at\":\"x\"}", now "{\"at\":\"y\"}"`},
		"a part more": {func(r *model.Request) { r.Messages[2].Parts = append(r.Messages[2].Parts, model.User("and?")) },
			`messages[2].parts[1]: recorded nothing, now {"kind":"user","text":"and?"}`},
		"a message less": {func(r *model.Request) { r.Messages = r.Messages[:2] },
			`messages[2]: recorded {"kind":"request","parts":[{"kind":"tool_return","text":"nothing to see","call_id":"1","tool":"look"}]}, now nothing`},
		"tool":        {func(r *model.Request) { r.Tools[0].Name = "see" }, `tools[0].name: recorded "look", now "see"`},
		"schema":      {func(r *model.Request) { r.Tools[0].Schema = json.RawMessage(`{"type": "string"}`) }, `tools[0].schema: recorded "{\"type\":\"object\"}", now "{\"type\":\"string\"}"`},
		"no tools":    {func(r *model.Request) { r.Tools = nil }, `tools[0]: recorded {"name":"look","schema":{"type":"object"}}, now nothing`},
		"choice":      {func(r *model.Request) { r.ToolChoice.Mode = model.ToolChoiceNone }, `tool_choice: recorded nothing, now {"mode":"none"}`},
		"settings":    {func(r *model.Request) { r.Settings.MaxTokens = 6 }, `settings.max_tokens: recorded 5, now 6`},
		"temperature": {func(r *model.Request) { r.Settings.Temperature = &two }, `settings.temperature: recorded 1, now 2`},
		"headers":     {func(r *model.Request) { r.Settings.ExtraHeaders = nil }, `settings.extra_headers[0]: recorded "A", now nothing`},
		"extra body":  {func(r *model.Request) { r.Settings.ExtraBody = map[string]json.RawMessage{"b": json.RawMessage("2")} }, `settings.extra_body.a: recorded "1", now nothing`},
		"no settings": {func(r *model.Request) { r.Settings = nil }, `settings: recorded {"max_tokens":5,`},
	} {
		t.Run(name, func(t *testing.T) {
			req := base()
			test.change(req)
			err := recFailure(t, replay, req)
			require.ErrorContains(t, err, "modeltest: replay ")
			require.ErrorContains(t, err, "the request is not in the recording; nearest is exchange ")
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "; to record again, run the test with PONTE_RECORD=1")
		})
	}
	require.Equal(t, 2, replay.Left(), "a request without a match uses no exchange")
	req := base()
	req.Settings.ExtraHeaders["A"] = "another secret"
	req.Messages[0].Metadata = map[string]string{"a": "b"}
	req.Messages[0].RunID = "r"
	req.Messages[1].Usage.InputTokens = 7
	require.Equal(t, "ok", generate(t, replay, req).Text(), "only what reaches the model is compared")

	_, empty := record(t, modeltest.Script(), func(model.Model) {})
	require.ErrorContains(t, recFailure(t, empty, base()), "the recording is empty; to record again")
}
