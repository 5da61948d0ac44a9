// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// sentinels are all errors that are one value, with the kind of each; empty for those that have none of their own.
var sentinels = []struct {
	err  error
	kind engine.ErrorKind
}{
	{context.Canceled, engine.ErrorCancelled}, {context.DeadlineExceeded, engine.ErrorTimeout}, {engine.ErrGoexit, engine.ErrorOther}, {toolset.ErrNobody, engine.ErrorOther},
	{model.ErrAuth, engine.ErrorOther}, {model.ErrRateLimited, engine.ErrorOther}, {model.ErrContextLength, engine.ErrorOther}, {model.ErrUnsupported, engine.ErrorUsage}, {model.ErrRequestsForbidden, engine.ErrorUsage},
	{engine.ErrNoModel, engine.ErrorUsage}, {engine.ErrNoPrompt, engine.ErrorUsage}, {engine.ErrFinished, engine.ErrorOther}, {engine.ErrUnprocessedCalls, engine.ErrorUsage}, {engine.ErrTokenLimit, engine.ErrorTokenLimit},
	{engine.ErrContentFilter, engine.ErrorContentFilter}, {engine.ErrRefused, engine.ErrorRefused}, {engine.ErrResponseFailed, engine.ErrorResponseFailed}, {engine.ErrIncompleteToolCall, engine.ErrorIncompleteToolCall},
	{engine.ErrResults, engine.ErrorUsage}, {engine.ErrRunID, engine.ErrorOther}, {engine.ErrStopped, engine.ErrorStopped}, {engine.ErrInboxInUse, engine.ErrorUsage},
	{journal.ErrInUse, engine.ErrorOther}, {journal.ErrCorrupt, engine.ErrorOther}, {journal.ErrVersion, engine.ErrorOther}, {journal.ErrMismatch, engine.ErrorOther}, {journal.ErrDiverged, engine.ErrorOther}, {journal.ErrClosed, engine.ErrorOther},
	{model.ErrMessageVersion, engine.ErrorOther}, {model.ErrNoPrice, engine.ErrorOther}, {model.ErrNoUsage, engine.ErrorOther},
}

// TestEveryKnownErrorKeepsItsIdentity: in another process, alone and wrapped, and no other is taken for it.
func TestEveryKnownErrorKeepsItsIdentity(t *testing.T) {
	task := &engine.Task{Op: engine.OpTool, Info: &toolset.RunInfo{Meter: new(toolset.Meter)}}
	through := func(err error) error {
		data, failed := engine.MarshalDone(task, &engine.Done{Err: err})
		require.NoError(t, failed)
		done, failed := engine.UnmarshalDone(task, data)
		require.NoError(t, failed)
		require.EqualError(t, done.Err, err.Error())
		return done.Err
	}
	for _, s := range sentinels {
		for _, err := range []error{through(s.err), through(fmt.Errorf("around: %w", s.err)), through(errors.Join(errBoom, s.err)), through(through(fmt.Errorf("twice: %w", s.err)))} {
			require.ErrorIs(t, err, s.err)
			for _, other := range sentinels {
				require.Equal(t, errors.Is(s.err, other.err), errors.Is(err, other.err), "%v is not %v", s.err, other.err)
			}
		}
	}
	deny := toolset.Deny("no")
	for _, err := range []error{
		&toolset.RetryError{Message: "m"}, &toolset.FailedError{Message: "m"}, &toolset.DeniedError{Message: "m"}, &toolset.DeniedError{Message: "m", Decision: &deny},
		&toolset.ApprovalRequiredError{Approval: toolset.Approval{Title: "t", Scope: "s"}}, &toolset.DeferredError{Meta: json.RawMessage(`{"a":1}`)},
		&toolset.PendingError{Calls: []toolset.PendingCall{{Tool: "t", ID: "1", Args: json.RawMessage(`{}`)}}, State: json.RawMessage("1")}, &engine.PendingError{Calls: []model.PendingCall{{Tool: "t", ID: "1", Args: json.RawMessage(`{}`)}}},
		&toolset.InMemoryError{Tool: "t", What: "w"}, &engine.BudgetError{Tool: "t", Retries: 2, Err: context.Canceled}, &engine.BudgetError{Retries: 1, Err: toolset.Retry("r")},
		&journal.Error{RunID: "r", Err: journal.ErrCorrupt}, &engine.RunError{Agent: "a", RunID: "r", ConversationID: "c", Stage: engine.StageOutput, Tool: "t", CallID: "i", Attempt: 2, Err: engine.ErrRefused},
		&model.APIError{Provider: "p", Model: "m", Status: 500, Code: "c", Message: "x", Retryable: true, Err: engine.ErrStopped}, &model.APIError{Provider: "p"},
		&engine.PanicError{Value: "v", Stack: []byte("stack")}, &engine.PanicError{Value: errBoom, Stack: []byte("stack")},
	} {
		require.Equal(t, err, through(err), "%T", err)
	}
	data, err := engine.MarshalDone(task, &engine.Done{Err: unreadable{}})
	require.NoError(t, err)
	done, err := engine.UnmarshalDone(task, data)
	require.NoError(t, err)
	require.EqualError(t, done.Err, "an error without a readable text")
	plain := through(errBoom)
	require.EqualError(t, plain, "boom")
	require.NotErrorIs(t, plain, errBoom)
}

var errBoom = errors.New("boom")

// unreadable is an error whose text cannot be read.
type unreadable struct{}

func (unreadable) Error() string { panic("no text") }

// TestErrorsOfBrokenData: data that does not fit its kind leaves the text and what is wrapped.
func TestErrorsOfBrokenData(t *testing.T) {
	task := &engine.Task{Op: engine.OpTool, Info: &toolset.RunInfo{Meter: new(toolset.Meter)}}
	for _, kind := range []string{"api", "retry", "failed", "denied", "approval_required", "pending", "pending_run", "budget", "journal", "run", "panic", "limit", "price", "unknown", ""} {
		done, err := engine.UnmarshalDone(task, []byte(`{"v":1,"error":{"text":"the text","kind":"`+kind+`","data":"no object","wrapped":[{"text":"inner","kind":"cancelled"}]}}`))
		require.NoError(t, err)
		require.EqualError(t, done.Err, "the text", kind)
		if kind == "" || kind == "unknown" || kind == "limit" || kind == "price" {
			require.ErrorIs(t, done.Err, context.Canceled, kind)
		}
		done, err = engine.UnmarshalDone(task, []byte(`{"v":1,"error":{"text":"the text","kind":"`+kind+`","data":"no object"}}`))
		require.NoError(t, err)
		require.EqualError(t, done.Err, "the text", kind)
	}
}

// TestDescribedErrors: programs that cannot see Go types tell errors by their kinds.
func TestDescribedErrors(t *testing.T) {
	require.Nil(t, engine.DescribeError(nil))
	for _, s := range sentinels {
		for _, err := range []error{s.err, fmt.Errorf("around: %w", s.err)} {
			d := engine.DescribeError(err)
			require.Equal(t, &engine.EventError{Kind: s.kind, Text: err.Error()}, d)
			for _, other := range sentinels {
				is := errors.Is(d, other.err)
				want := other.kind != engine.ErrorUsage && other.kind != engine.ErrorOther && errors.Is(s.err, other.err)
				require.Equal(t, want, is, "%v, %v", s.err, other.err)
			}
		}
	}
	limit := &toolset.LimitError{Limit: toolset.LimitRequests, Value: 3, Bound: 3}
	run := func(err, ended error) error {
		return &engine.RunError{Agent: "a", Stage: engine.StageOutput, Tool: "t", CallID: "c", Attempt: 2, Err: err, Ended: ended}
	}
	for i, c := range []struct {
		err  error
		want engine.EventError
	}{
		{&engine.PendingError{}, engine.EventError{Kind: engine.ErrorPending}}, {limit, engine.EventError{Kind: engine.ErrorLimit, Limit: toolset.LimitRequests}}, {&toolset.PriceError{Err: model.ErrNoPrice}, engine.EventError{Kind: engine.ErrorPrice}},
		{&engine.BudgetError{Err: errBoom}, engine.EventError{Kind: engine.ErrorBudget}}, {&engine.PanicError{Value: 1}, engine.EventError{Kind: engine.ErrorPanic}}, {&journal.Error{Err: journal.ErrInUse}, engine.EventError{Kind: engine.ErrorJournal}},
		{&model.APIError{Status: 429, Code: "slow", Retryable: true}, engine.EventError{Kind: engine.ErrorAPI, Status: 429, Code: "slow", Retryable: true}}, {errBoom, engine.EventError{Kind: engine.ErrorOther}},
		{run(errBoom, nil), engine.EventError{Kind: engine.ErrorOther}}, {run(errBoom, context.Canceled), engine.EventError{Kind: engine.ErrorCancelled}}, {run(errBoom, context.DeadlineExceeded), engine.EventError{Kind: engine.ErrorTimeout}},
		{run(limit, nil), engine.EventError{Kind: engine.ErrorLimit, Limit: toolset.LimitRequests}}, {run(&engine.PendingError{}, context.Canceled), engine.EventError{Kind: engine.ErrorPending}}, {run(engine.ErrStopped, context.Canceled), engine.EventError{Kind: engine.ErrorStopped}},
		{run(&engine.PanicError{}, context.Canceled), engine.EventError{Kind: engine.ErrorCancelled}}, {errors.Join(&engine.PanicError{}, limit), engine.EventError{Kind: engine.ErrorPanic}},
	} {
		c.want.Text = c.err.Error()
		if _, is := c.err.(*engine.RunError); is {
			c.want.Stage, c.want.Tool, c.want.CallID, c.want.Attempt = engine.StageOutput, "t", "c", 2
		}
		d := engine.DescribeError(c.err)
		require.Equal(t, &c.want, d, "%d: %v", i, c.err)
		require.EqualError(t, d, c.err.Error())
		c.want.Text = "again: " + c.want.Text
		require.Equal(t, &c.want, engine.DescribeError(fmt.Errorf("again: %w", d)), "a description stays what it is")
	}
	for status, want := range map[int]error{401: model.ErrAuth, 403: model.ErrAuth, 429: model.ErrRateLimited} {
		d := engine.DescribeError(&model.APIError{Status: status})
		require.ErrorIs(t, d, want)
		require.NotErrorIs(t, &engine.EventError{Kind: engine.ErrorOther, Status: status}, want)
		require.NotErrorIs(t, d, context.Canceled)
	}
}

// TestTextsOfErrors: who has failed, where, and why, each once.
func TestTextsOfErrors(t *testing.T) {
	pending := &engine.PendingError{Calls: []model.PendingCall{{Tool: "pay", ID: "1", Approval: &toolset.Approval{}}, {Tool: "book", ID: "2"}}}
	for want, err := range map[string]error{
		"agent: model: failed":                                                  &engine.RunError{Stage: engine.StageModel},
		"agent a: model: boom":                                                  &engine.RunError{Agent: "a", Stage: engine.StageModel, Err: errBoom},
		`agent a: tool "t" (call c): boom`:                                      &engine.RunError{Agent: "a", Stage: engine.StageTool, Tool: "t", CallID: "c", Err: fmt.Errorf("tool %q: %w", "t", errBoom)},
		"agent: model: once":                                                    &engine.RunError{Stage: engine.StageModel, Err: errors.New("model: once")},
		"agent: model: a\ufffd[2Jb":                                             &engine.RunError{Stage: engine.StageModel, Err: errors.New("a\x1b[2Jb")},
		"output: no valid answer after 0 retries: boom":                         &engine.BudgetError{Err: errBoom},
		"output: no valid answer after 1 retry: boom":                           &engine.BudgetError{Retries: 1, Err: errBoom},
		`tool "t": no valid answer after 2 retries: boom`:                       &engine.BudgetError{Tool: "t", Retries: 2, Err: errBoom},
		`waiting for approval of "pay" (call 1), the result of "book" (call 2)`: pending,
	} {
		require.EqualError(t, err, want)
	}
	require.Equal(t, errBoom, errors.Unwrap(&engine.RunError{Err: errBoom}))
	require.Equal(t, errBoom, errors.Unwrap(&engine.BudgetError{Err: errBoom}))
	a, b := model.UserText("a"), model.UserText("b")
	a.RunID, b.RunID = "1", "2"
	require.Equal(t, []*model.Message{b}, (&engine.RunError{RunID: "2", Messages: []*model.Message{a, nil, b}}).NewMessages())
	require.Empty(t, (&engine.RunError{Messages: []*model.Message{a, model.UserText("c")}}).NewMessages(), "a run without an id never began")
}

// TestEventsInJSON: what each field is called, and what becomes of what JSON cannot hold.
func TestEventsInJSON(t *testing.T) {
	type E = engine.Event
	invalid := &model.Part{Kind: model.PartToolReturn, Meta: json.RawMessage("{")}
	for _, c := range []struct {
		event E
		want  string
	}{
		{E{Kind: engine.EventPartDelta}, `{"v":1,"kind":"part_delta"}`},
		{E{Kind: engine.EventPartDelta, Step: 1, Part: 2, PartKind: model.PartText, Text: "<\"é\n"}, `{"v":1,"kind":"part_delta","step":1,"part":2,"part_kind":"text","text":"<\"é\n"}`},
		{E{Kind: engine.EventPartDelta, Step: 12, Part: 34, Text: "x"}, `{"v":1,"kind":"part_delta","step":12,"part":34,"text":"x"}`},
		{E{Kind: engine.EventPartDelta, Text: "x", CallID: "c"}, `{"v":1,"kind":"part_delta","text":"x","call_id":"c"}`},
		{E{Kind: engine.EventPartDelta, Text: "x", Tool: "t", Args: model.RawArgs("{")}, `{"v":1,"kind":"part_delta","text":"x","tool":"t","args":"{"}`},
		{E{Kind: engine.EventCustom, Value: 1}, `{"v":1,"kind":"custom","value":1}`},
		{E{Kind: engine.EventCustom, Value: func() {}}, `{"v":1,"kind":"custom","value_type":"func()"}`},
		{E{Kind: engine.EventCustom, Value: engine.OpaqueValue{Type: "T"}}, `{"v":1,"kind":"custom","value_type":"T"}`},
		{E{Kind: engine.EventCustom, Value: engine.Nested{Agent: "a", HandOver: true, Event: E{Kind: engine.EventPartDelta, Text: "x"}}}, `{"v":1,"kind":"custom","nested":{"agent":"a","hand_over":true,"event":{"v":1,"kind":"part_delta","text":"x"}}}`},
		{E{Kind: engine.EventRunEnd, Err: errBoom}, `{"v":1,"kind":"run_end","error":{"kind":"other","text":"boom"}}`},
		{E{Kind: engine.EventToolResult, Step: 3, Result: invalid}, ""},
	} {
		got := string(c.event.AppendJSON([]byte("data: ")))
		if c.want == "" {
			require.Contains(t, got, `"omitted":"result: json: error calling MarshalJSON`)
			require.Contains(t, got, `"step":3`)
			require.NotContains(t, got, `"result":`)
			continue
		}
		require.JSONEq(t, c.want, got[len("data: "):])
		text, err := json.Marshal(c.event)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(text))
		var back E
		require.NoError(t, json.Unmarshal(text, &back))
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(again))
	}
	for text, want := range map[string]string{
		`{`: "unexpected end of JSON input", `[]`: "agent: event: json: cannot unmarshal array", `{"v":2,"kind":"x"}`: "agent: event version is newer than this program: 2, this program reads up to 1", `{"v":1}`: "agent: event: kind is missing",
		`{"v":1,"kind":"custom","nested":{"event":{"v":1}}}`: "agent: event: ", `{"v":1,"kind":"pending","value":1}`: "agent: event: pending call: json: cannot unmarshal number", `{"v":1,"kind":"x","step":"y"}`: "agent: event: json: cannot unmarshal string",
	} {
		e := E{Kind: "kept"}
		require.ErrorContains(t, json.Unmarshal([]byte(text), &e), want, text)
		require.Equal(t, E{Kind: "kept"}, e)
	}
	var e E
	require.ErrorIs(t, json.Unmarshal([]byte(`{"v":2,"kind":"x"}`), &e), engine.ErrEventVersion)
	require.NoError(t, json.Unmarshal([]byte(`{"v":1,"kind":"of the future","more":1,"value":[1]}`), &e))
	require.Equal(t, E{Kind: "of the future", Value: json.RawMessage("[1]")}, e)
	require.NoError(t, json.Unmarshal([]byte(`{"v":1,"kind":"pending","value":{"tool":"t","id":"1"}}`), &e))
	require.Equal(t, model.PendingCall{Tool: "t", ID: "1"}, e.Value)
	require.NoError(t, json.Unmarshal([]byte(`{"v":1,"kind":"run_end","error":{"kind":"stopped","text":"x"}}`), &e))
	require.ErrorIs(t, e.Err, engine.ErrStopped)
	require.Nil(t, e.Value)
}

// TestTasksThatCannotBeRead: what of them is missing.
func TestTasksThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"v":1}`: `engine: task: unknown operation ""`, `{"v":1,"op":"x"}`: `engine: task: unknown operation "x"`, `{"v":1,"op":"model"}`: "engine: task: the run is missing", `{"v":1,"op":"check","run":{},"checks":[{}]}`: "engine: task: check 0 has no call",
		`{"v":1,"op":"model","run":{}}`: "engine: task: a task model without its call or request", `{"v":1,"op":"tool","run":{}}`: "engine: task: a task tool without its call or request",
		`{"v":1,"op":"preview","run":{}}`: "engine: task: a task preview without its call or request", `{"v":1,"op":"approve","run":{}}`: "engine: task: a task approve without its call or request",
	} {
		_, err := engine.UnmarshalTask([]byte(text))
		require.EqualError(t, err, want)
	}
	for op, name := range map[engine.Op]string{
		engine.OpModel: "model", engine.OpTool: "tool", engine.OpOutput: "output", engine.OpApprove: "approve", engine.OpInbox: "inbox", engine.OpPrepare: "prepare", engine.OpCheck: "check", engine.OpPreview: "preview", engine.OpStep: "step", 0: "op(0)", 10: "op(10)",
	} {
		require.Equal(t, name, op.String())
		if op == 0 || op == 10 {
			continue
		}
		task := &engine.Task{Op: op, Info: &toolset.RunInfo{Meter: new(toolset.Meter)}, Call: new(engine.Call), Request: new(model.Request)}
		data, err := engine.MarshalTask(task)
		require.NoError(t, err)
		back, err := engine.UnmarshalTask(data)
		require.NoError(t, err)
		require.Equal(t, op, back.Op)
	}
	offer := engine.Offer{Tools: []engine.Tool{{Name: "a"}, {Name: "b"}}}
	require.Same(t, &offer.Tools[1], offer.Tool("b"))
	require.Nil(t, offer.Tool("c"))
	meter := new(toolset.Meter)
	for _, task := range []*engine.Task{{}, {Info: new(toolset.RunInfo)}, {Info: &toolset.RunInfo{Meter: meter}}} {
		task.Count(&engine.Done{})
		task.Count(&engine.Done{Used: &toolset.Usage{Requests: 2}})
	}
	require.Equal(t, 2, meter.Usage().Requests)
}
