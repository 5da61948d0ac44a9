// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sampleEvents has an event of every kind, and of some kinds several.
func sampleEvents() map[string]agent.Event {
	usage := &toolset.Usage{Requests: 2, ToolCalls: 1, Usage: model.Usage{InputTokens: 30, OutputTokens: 9, CacheReadTokens: 4}, Cost: 0.25}
	response := model.Response(model.Text("Let me add."), add("c1", 1, 2))
	response.RunID, response.ConversationID, response.Time = "r1", "k1", time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	response.Provider, response.Model, response.Finish = "acme", "acme-1", model.FinishToolCalls
	response.Usage = model.Usage{InputTokens: 20, OutputTokens: 5}
	steering := model.UserText("Stop <after> this & answer.")
	result := model.ToolReturn("c1", "add", "3")
	result.Meta = json.RawMessage(`{"took":"1ms"}`)
	failed := &agent.RunError{Agent: "adder", RunID: "r1", Stage: "tool", Tool: "add", CallID: "c1", Err: errBoom}
	return map[string]agent.Event{
		"run_start":         {Kind: agent.EventRunStart},
		"request_start":     {Kind: agent.EventRequestStart, Step: 1, Output: true},
		"part_start":        {Kind: agent.EventPartStart, Step: 1, Part: 1, PartKind: model.PartToolCall, CallID: "c1", Tool: "add", ToolKind: toolset.KindRead, ToolTitle: "Add"},
		"part_delta":        {Kind: agent.EventPartDelta, Step: 1, PartKind: model.PartText, Text: "Let \"me\" <add>.\n\u2028é🎉\x01"},
		"part_delta_args":   {Kind: agent.EventPartDelta, Step: 1, Part: 1, PartKind: model.PartToolCall, Text: `{"x":1,`},
		"part_end":          {Kind: agent.EventPartEnd, Step: 1, PartKind: model.PartText},
		"partial":           {Kind: agent.EventPartial, Step: 1, Part: 1, CallID: "c2", Tool: "final_result", Output: true, Value: city{City: "Os"}},
		"response":          {Kind: agent.EventResponse, Step: 1, Message: response},
		"usage":             {Kind: agent.EventUsage, Step: 1, Usage: usage},
		"tool_call":         {Kind: agent.EventToolCall, Step: 1, CallID: "c1", Tool: "add", Args: model.RawArgs(`{"x":1, "y":2,}`), Repaired: model.RawArgs(`{"x":1, "y":2}`), Valid: true, Attempt: 1},
		"tool_start":        {Kind: agent.EventToolStart, Step: 1, CallID: "c1", Tool: "add", Args: model.RawArgs(`{"x":1}`), Decision: &toolset.Decision{Verdict: toolset.VerdictAllow, By: "ada"}},
		"tool_result":       {Kind: agent.EventToolResult, Step: 1, CallID: "c1", Tool: "add", Result: &result},
		"tool_result_error": {Kind: agent.EventToolResult, Step: 1, CallID: "c1", Tool: "add", Err: errBoom},
		"custom":            {Kind: agent.EventCustom, Step: 1, CallID: "c1", Tool: "add", Value: map[string]any{"done": 0.5, "of": "<1>"}},
		"custom_nested":     {Kind: agent.EventCustom, Step: 1, CallID: "c1", Tool: "ask", Value: agent.Nested{Agent: "inner", Event: agent.Event{Kind: agent.EventPartDelta, Step: 2, PartKind: model.PartText, Text: "Hi"}}},
		"custom_opaque":     {Kind: agent.EventCustom, Step: 1, CallID: "c1", Tool: "add", Value: make(chan int)},
		"retry":             {Kind: agent.EventRetry, Step: 1, CallID: "c1", Tool: "add", Attempt: 1, Text: "y must be at most 100"},
		"pending":           {Kind: agent.EventPending, Step: 1, CallID: "c1", Tool: "add", Args: model.RawArgs(`{"x":1}`), Value: agent.PendingCall{ID: "c1", Tool: "add", Args: json.RawMessage(`{"x":1}`), Approval: &toolset.Approval{Reason: "adds"}}},
		"message":           {Kind: agent.EventMessage, Step: 2, Message: steering},
		"output":            {Kind: agent.EventOutput, Step: 2, Value: city{City: "Oslo", Population: 700000}},
		"run_end":           {Kind: agent.EventRunEnd, Step: 2, Usage: usage},
		"run_end_error":     {Kind: agent.EventRunEnd, Step: 2, Usage: usage, Err: failed},
		"run_end_api":       {Kind: agent.EventRunEnd, Step: 2, Err: &agent.RunError{Stage: "model", Err: &model.APIError{Provider: "acme", Model: "acme-1", Status: 429, Code: "slow_down", Message: "too fast", Retryable: true}}},
		"unknown":           {Kind: "tool_progress", Step: 1, CallID: "c1"},
	}
}

func TestEventJSONIsAsDocumented(t *testing.T) {
	for name, event := range sampleEvents() {
		t.Run(name, func(t *testing.T) {
			line := checkEventJSON(t, event)
			path := filepath.Join("testdata", "events", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(path, append(line, '\n'), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(bytes.TrimSpace(want)), string(line))
		})
	}
}

// checkEventJSON writes and reads an event, compares the two, and returns the JSON.
func checkEventJSON(t testing.TB, e agent.Event) []byte {
	t.Helper()
	line := e.AppendJSON(nil)
	require.True(t, json.Valid(line), "%s", line)
	require.NotContains(t, string(line), "\n")
	var back agent.Event
	require.NoError(t, json.Unmarshal(line, &back))
	sameEvent(t, e, back)
	require.Equal(t, string(line), string(back.AppendJSON(nil)))
	return line
}

func sameEvent(t testing.TB, e, back agent.Event) {
	t.Helper()
	switch v := e.Value.(type) {
	case agent.Nested:
		inner, ok := back.Value.(agent.Nested)
		require.True(t, ok)
		require.Equal(t, v.Agent, inner.Agent)
		sameEvent(t, v.Event, inner.Event)
	case agent.PendingCall:
		want, err := json.Marshal(v)
		require.NoError(t, err)
		got, err := json.Marshal(back.Value.(agent.PendingCall))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
	require.Equal(t, e.Value == nil, back.Value == nil)
	if e.Err == nil {
		require.NoError(t, back.Err)
	} else {
		require.Equal(t, agent.DescribeError(e.Err), back.Err)
	}
	e.Value, back.Value, e.Err, back.Err = nil, nil, nil, nil
	require.Equal(t, e, back)
}

// TestEventJSONKeepsEveryField also finds fields that are forgotten where deltas are written.
func TestEventJSONKeepsEveryField(t *testing.T) {
	for i := range reflect.TypeFor[agent.Event]().NumField() {
		e := agent.Event{Kind: agent.EventPartDelta}
		field := reflect.ValueOf(&e).Elem().Field(i)
		switch name := reflect.TypeFor[agent.Event]().Field(i).Name; name {
		case "Value":
			e.Value = agent.OpaqueValue{Type: "x"}
		case "Err":
			e.Err = &agent.EventError{Kind: agent.ErrorOther, Text: "x"}
		case "Message":
			e.Message = model.UserText("x")
		default:
			switch field.Kind() {
			case reflect.String:
				field.SetString("x")
			case reflect.Int:
				field.SetInt(1)
			case reflect.Bool:
				field.SetBool(true)
			case reflect.Slice:
				field.SetBytes([]byte("x"))
			case reflect.Pointer:
				field.Set(reflect.New(field.Type().Elem()))
			default:
				t.Fatalf("%s: say how to fill a %s", name, field.Type())
			}
		}
		var back agent.Event
		require.NoError(t, json.Unmarshal(e.AppendJSON(nil), &back))
		require.Equal(t, e, back)
	}
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("boom") }

func TestEventJSONNeverFails(t *testing.T) {
	for name, c := range map[string]struct {
		event agent.Event
		want  string
	}{
		"channel":         {agent.Event{Kind: agent.EventCustom, Value: make(chan int)}, `{"v":1,"kind":"custom","value_type":"chan int"}`},
		"panic":           {agent.Event{Kind: agent.EventOutput, Value: panicking{}}, `{"v":1,"kind":"output","value_type":"agent_test.panicking"}`},
		"infinite":        {agent.Event{Kind: agent.EventPartial, Value: math.Inf(1)}, `{"v":1,"kind":"partial","value_type":"float64"}`},
		"nil pointer":     {agent.Event{Kind: agent.EventCustom, Value: (*city)(nil)}, `{"v":1,"kind":"custom","value":null}`},
		"indented":        {agent.Event{Kind: agent.EventCustom, Value: json.RawMessage("{\n \"a\": 1\n}")}, `{"v":1,"kind":"custom","value":{"a":1}}`},
		"broken metadata": {agent.Event{Kind: agent.EventToolResult, CallID: "1", Result: &model.Part{Kind: model.PartToolReturn, Meta: json.RawMessage("{")}}, `{"v":1,"kind":"tool_result","call_id":"1","omitted":"result: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"}`},
		"broken message":  {agent.Event{Kind: agent.EventResponse, Step: 1, Message: new(model.Message)}, `{"v":1,"kind":"response","step":1,"omitted":"message: json: error calling MarshalJSON for type *model.Message: model: message: kind is \"\", must be \"request\" or \"response\""}`},
		"broken usage":    {agent.Event{Kind: agent.EventUsage, Usage: &toolset.Usage{Cost: math.NaN()}}, `{"v":1,"kind":"usage","omitted":"usage: json: unsupported value: NaN"}`},
		"nested": {agent.Event{Kind: agent.EventCustom, Value: agent.Nested{Agent: "a", Event: agent.Event{Kind: agent.EventCustom, Value: make(chan int)}}},
			`{"v":1,"kind":"custom","nested":{"agent":"a","event":{"v":1,"kind":"custom","value_type":"chan int"}}}`},
		"invalid UTF-8": {agent.Event{Kind: agent.EventPartDelta, Text: "a\xffb"}, `{"v":1,"kind":"part_delta","text":"a` + "\ufffd" + `b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			line := c.event.AppendJSON(nil)
			require.Equal(t, c.want, string(line))
			require.NoError(t, json.Unmarshal(line, new(agent.Event)))
			marshalled, err := json.Marshal(c.event)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(marshalled))
		})
	}
	require.Equal(t, `data: {"v":1,"kind":"run_start"}`, string(agent.Event{Kind: agent.EventRunStart}.AppendJSON([]byte("data: "))))
}

func TestEventsOfNewerVersionsAreRead(t *testing.T) {
	var e agent.Event
	require.NoError(t, json.Unmarshal([]byte(`{"v":1,"kind":"tool_progress","step":3,"colour":"red","error":{"kind":"quota","text":"no","more":1}}`), &e))
	require.Equal(t, agent.Event{Kind: "tool_progress", Step: 3, Err: &agent.EventError{Kind: "quota", Text: "no"}}, e)

	before := e
	for data, want := range map[string]error{
		`{"v":2,"kind":["other"]}`: agent.ErrEventVersion,
		`{"v":1,"kind":"custom","nested":{"event":{"v":2,"kind":"custom"}}}`: agent.ErrEventVersion,
		`{"v":1,"kind":"response","message":{"v":9,"kind":"response"}}`:      model.ErrMessageVersion,
	} {
		require.ErrorIs(t, json.Unmarshal([]byte(data), &e), want)
	}
	for _, data := range []string{`{"v":1}`, `[]`, `{"v":1,"kind":1}`, `{"v":1,"kind":"pending","value":[1]}`} {
		require.ErrorContains(t, json.Unmarshal([]byte(data), &e), "agent: event: ")
	}
	require.Equal(t, before, e, "an event that cannot be read changes nothing")
}

func TestErrorsOfEventsHaveKinds(t *testing.T) {
	inRun := func(err error) error { return &agent.RunError{Agent: "a", Stage: "model", Err: err} }
	for kind, errs := range map[agent.ErrorKind][]error{
		agent.ErrorPending:            {inRun(&agent.PendingError{})},
		agent.ErrorStopped:            {inRun(agent.ErrStopped)},
		agent.ErrorCancelled:          {inRun(context.Canceled)},
		agent.ErrorTimeout:            {inRun(context.DeadlineExceeded)},
		agent.ErrorLimit:              {inRun(&agent.LimitError{Limit: toolset.LimitRequests})},
		agent.ErrorPrice:              {inRun(&agent.PriceError{Err: model.ErrNoPrice})},
		agent.ErrorBudget:             {inRun(&agent.BudgetError{Err: errBoom})},
		agent.ErrorPanic:              {inRun(&agent.PanicError{Value: "x"}), &agent.PanicError{Value: context.Canceled}},
		agent.ErrorAPI:                {inRun(&model.APIError{Provider: "p"}), &model.APIError{Status: 401}},
		agent.ErrorTokenLimit:         {inRun(agent.ErrTokenLimit)},
		agent.ErrorContentFilter:      {inRun(agent.ErrContentFilter)},
		agent.ErrorRefused:            {inRun(agent.ErrRefused)},
		agent.ErrorResponseFailed:     {inRun(agent.ErrResponseFailed)},
		agent.ErrorIncompleteToolCall: {inRun(agent.ErrIncompleteToolCall)},
		agent.ErrorJournal:            {inRun(&journal.Error{Err: context.Canceled})},
		agent.ErrorUsage:              {inRun(agent.ErrNoModel), inRun(agent.ErrNoPrompt), agent.ErrUnprocessedCalls, agent.ErrResults, model.ErrUnsupported, model.ErrRequestsForbidden},
		agent.ErrorOther:              {errBoom, inRun(errBoom)},
	} {
		for _, err := range errs {
			e := agent.DescribeError(err)
			require.Equal(t, kind, e.Kind, "%v", err)
			require.EqualError(t, e, err.Error())
			require.Equal(t, e, agent.DescribeError(e), "a description describes itself")
			for _, known := range []error{
				agent.ErrStopped, agent.ErrTokenLimit, agent.ErrContentFilter, agent.ErrRefused, agent.ErrResponseFailed,
				agent.ErrIncompleteToolCall, model.ErrAuth, model.ErrRateLimited, model.ErrContextLength,
			} {
				require.Equal(t, errors.Is(err, known), errors.Is(e, known), "%v is %v", err, known)
			}
		}
	}
	require.Nil(t, agent.DescribeError(nil))
	require.ErrorIs(t, agent.DescribeError(inRun(context.Canceled)), context.Canceled)
	require.ErrorIs(t, agent.DescribeError(inRun(context.DeadlineExceeded)), context.DeadlineExceeded)
	wrapped := agent.DescribeError(fmt.Errorf("remote: %w", agent.DescribeError(inRun(&model.APIError{Status: 429, Code: "c", Retryable: true}))))
	require.Equal(t, &agent.EventError{Kind: agent.ErrorAPI, Text: "remote: agent a: model: HTTP 429 Too Many Requests (c)", Stage: "model", Status: 429, Code: "c", Retryable: true}, wrapped)
}

// TestCauseOfACancelledRunIsCancelled: the cause of a context may be any error.
func TestCauseOfACancelledRunIsCancelled(t *testing.T) {
	for kind, end := range map[agent.ErrorKind]func() (context.Context, context.CancelFunc){
		agent.ErrorCancelled: func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(errBoom)
			return ctx, func() {}
		},
		agent.ErrorTimeout: func() (context.Context, context.CancelFunc) {
			return context.WithDeadlineCause(context.Background(), time.Unix(0, 0), errBoom)
		},
	} {
		ctx, cancel := end()
		_, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("x"))}).Run(ctx, deps{}, "go")
		cancel()
		require.ErrorIs(t, err, errBoom)
		require.Equal(t, kind, agent.DescribeError(err).Kind)
	}
	_, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.Fail(errBoom))}).Run(context.Background(), deps{}, "go")
	require.Equal(t, agent.ErrorOther, agent.DescribeError(err).Kind)
}

func TestDeltaJSONCostsNoAllocation(t *testing.T) {
	e := agent.Event{Kind: agent.EventPartDelta, Step: 3, Part: 1, PartKind: model.PartText, Text: "some \"words\" of text"}
	buf := make([]byte, 0, 256)
	require.Zero(t, testing.AllocsPerRun(100, func() { buf = e.AppendJSON(buf[:0]) }))
}

func BenchmarkDeltaJSON(b *testing.B) {
	e := agent.Event{Kind: agent.EventPartDelta, Step: 3, Part: 1, PartKind: model.PartText, Text: "some words"}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = e.AppendJSON(buf[:0])
	}
}

// FuzzEventJSON reads whatever comes. What can be read is written, and then read as the same.
func FuzzEventJSON(f *testing.F) {
	for _, e := range sampleEvents() {
		f.Add(e.AppendJSON(nil))
	}
	f.Add([]byte(`{"v":1,"kind":"custom","value":null,"value_type":"x","nested":{"event":{"kind":"x"}},"omitted":"y"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e agent.Event
		if json.Unmarshal(data, &e) == nil {
			checkEventJSON(t, e)
		}
	})
}

func TestPartialOutputsAreEvents(t *testing.T) {
	script := func() cityCfg { return cityCfg{Model: modeltest.Script(modeltest.Say(final("1", paris)))} }
	var want []city
	for c := range newAgent(t, script()).Stream(context.Background(), deps{}, "go").Partials() {
		want = append(want, c)
	}
	var got []city
	var kinds []agent.EventKind
	for e := range newAgent(t, script()).Stream(context.Background(), deps{}, "go", agent.WithPartials()).Events() {
		kinds = append(kinds, e.Kind)
		if e.Kind == agent.EventPartial {
			require.Equal(t, []any{1, 0, "1", "final_result", true}, []any{e.Step, e.Part, e.CallID, e.Tool, e.Output})
			got = append(got, e.Value.(city))
		}
		checkEventJSON(t, e)
	}
	require.Equal(t, want, got)
	require.Contains(t, kinds, agent.EventPartial)
	for e := range newAgent(t, script()).Stream(context.Background(), deps{}, "go").Events() {
		require.NotEqual(t, agent.EventPartial, e.Kind, "they cost something, so they have to be asked for")
	}
	_, err := newAgent(t, script()).Run(context.Background(), deps{}, "go", agent.WithPartials())
	require.NoError(t, err)
}

func TestStoredValuesAreRead(t *testing.T) {
	roundTrip := func(value, back any, form string) {
		data, err := json.Marshal(value)
		require.NoError(t, err)
		require.Equal(t, form, string(data))
		require.NoError(t, json.Unmarshal(data, back))
		require.Equal(t, value, reflect.ValueOf(back).Elem().Interface())
	}
	usage := toolset.Usage{
		Requests: 2, ToolCalls: 1, Cost: 0.25, Unpriced: 1,
		Usage: model.Usage{InputTokens: 30, OutputTokens: 9, CacheReadTokens: 4, CacheWriteTokens: 3, ReasoningTokens: 2},
	}
	want := agent.Result[city]{Output: city{"Oslo", 700000}, RunID: "r1", ConversationID: "k1", Messages: []*model.Message{model.UserText("hi")}, Usage: usage}
	roundTrip(want, new(agent.Result[city]), `{"output":{"city":"Oslo","population":700000},"run_id":"r1","conversation_id":"k1","messages":[{"v":1,"kind":"request","parts":[{"kind":"user","text":"hi"}]}],`+
		`"usage":{"requests":2,"tool_calls":1,"input_tokens":30,"output_tokens":9,"cache_read_tokens":4,"cache_write_tokens":3,"reasoning_tokens":2,"cost":0.25,"unpriced":1}}`)
	roundTrip(agent.DeferredResults{
		Decisions: map[string]toolset.Decision{"c1": toolset.AllowWith(json.RawMessage(`{"x":1}`)), "c2": toolset.Deny("no")},
		Results:   map[string]toolset.Result{"c3": {Text: "21 C", Outcome: model.OutcomeFailed, Content: []model.Part{model.User("see")}, Meta: json.RawMessage(`{"a":1}`)}},
	}, new(agent.DeferredResults), `{"decisions":{"c1":{"verdict":"allow","args":{"x":1}},"c2":{"verdict":"deny","reason":"no"}},`+
		`"results":{"c3":{"text":"21 C","outcome":"failed","content":[{"kind":"user","text":"see"}],"meta":{"a":1}}}}`)
	roundTrip(agent.PendingCall{ID: "c1", Tool: "pay", Args: json.RawMessage(`{"x":1}`), Approval: &toolset.Approval{Reason: "money", Scope: "eur", Meta: json.RawMessage(`1`)}, Meta: json.RawMessage(`2`)},
		new(agent.PendingCall), `{"id":"c1","tool":"pay","args":{"x":1},"approval":{"reason":"money","scope":"eur","meta":1},"meta":2}`)
}
