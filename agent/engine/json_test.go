// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// fill gives every exported field of a value something that is not zero.
func fill(v reflect.Value, path string) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
		return
	case *json.RawMessage:
		*x = json.RawMessage(`{"a":[1]}`)
		return
	case *model.RawArgs:
		*x = model.RawArgs(`{ "not": JSON`)
		return
	case *model.Kind:
		*x = model.KindRequest
		return
	case **toolset.Meter:
		*x = toolset.NewMeter(toolset.Limits{Requests: 9}).Child(toolset.Limits{Cost: 2})
		(*x).Add(toolset.Usage{Requests: 3, Cost: 0.5})
		return
	case *error:
		*x = errors.New("at " + path)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Uint8:
		v.Set(reflect.ValueOf(7).Convert(v.Type()))
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.String:
		v.SetString(path)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]*model.Message]() && strings.Contains(path, ".SuspendedCalls") {
			return // messages have messages
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path+"[0]")
	case reflect.Map:
		elem := reflect.New(v.Type().Elem()).Elem()
		fill(elem, path+"[k]")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), elem)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		}
	}
}

func TestTaskJSONKeepsEveryField(t *testing.T) {
	var whole engine.Task
	fill(reflect.ValueOf(&whole).Elem(), "task")
	whole.Op, whole.Call.Decoded, whole.Checks[0].Call.Decoded = engine.OpTool, "left out", nil
	whole.Beside = 0 // it does not leave the process
	for _, task := range []*engine.Task{&whole, {Op: engine.OpPrepare, Info: &toolset.RunInfo{Meter: new(toolset.Meter)}}} {
		if task.Request != nil {
			task.Info.Messages = task.Request.Messages // they are written once
		}
		data, err := engine.MarshalTask(task)
		require.NoError(t, err)
		require.NotContains(t, string(data), "\n")
		require.NotContains(t, string(data), "left out")
		back, err := engine.UnmarshalTask(data)
		require.NoError(t, err)
		require.Equal(t, task.Info.Meter.State(), back.Info.Meter.State())
		want, info := *task, *task.Info
		info.Meter, want.Info = back.Info.Meter, &info
		if task.Call != nil {
			call := *task.Call
			call.Decoded, want.Call = nil, &call
		}
		require.Equal(t, &want, back)
		again, err := engine.MarshalTask(back)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
	}
}

func TestDoneJSONKeepsEveryField(t *testing.T) {
	task := &engine.Task{Op: engine.OpTool, Info: &toolset.RunInfo{Meter: new(toolset.Meter)}}
	var whole engine.Done
	fill(reflect.ValueOf(&whole).Elem(), "done")
	whole.Response.Kind = model.KindResponse
	whole.Output = &engine.Output{Type: "T", Data: json.RawMessage(`{"n":1}`)}
	for _, done := range []*engine.Done{&whole, {}} {
		data, err := engine.MarshalDone(task, done)
		require.NoError(t, err)
		back, err := engine.UnmarshalDone(task, data)
		require.NoError(t, err)
		require.Equal(t, done, back)
	}
}

func TestOutputsMustBePlainData(t *testing.T) {
	task := &engine.Task{Op: engine.OpOutput, Info: &toolset.RunInfo{Step: 3}}
	_, err := engine.MarshalDone(task, &engine.Done{Output: 7})
	require.EqualError(t, err, "engine: result of step 3: the output is int, must be an *engine.Output")
	_, err = engine.MarshalDone(task, &engine.Done{Output: &engine.Output{Value: make(chan int)}})
	require.EqualError(t, err, "engine: result of step 3: an output of type chan int cannot be written as JSON")
}

func TestNewerVersionsAreRefused(t *testing.T) {
	task := &engine.Task{Op: engine.OpTool}
	_, err := engine.UnmarshalTask([]byte(`{"v":2}`))
	require.ErrorIs(t, err, engine.ErrVersion)
	_, err = engine.UnmarshalDone(task, []byte(`{"v":2}`))
	require.ErrorIs(t, err, engine.ErrVersion)
	require.ErrorIs(t, engine.Deliver(task, []byte(`{"v":2}`), nil), engine.ErrVersion)
	for _, bad := range []string{``, `{"v":1}`, `{"v":1,"op":"model"}`, `{"v":1,"op":"model","run":{}}`, `{"v":1,"op":"tool","run":{}}`, `{"v":1,"op":"check","run":{},"checks":[{}]}`} {
		_, err = engine.UnmarshalTask([]byte(bad))
		require.ErrorContains(t, err, "engine: task: ", bad)
	}
}

type ownError struct{ N int }

func (e *ownError) Error() string { return fmt.Sprint("own ", e.N) }

// throughJSON returns what becomes of an error that a task of another process ends with. run and elsewhere are the same run's meters.
func throughJSON(t *testing.T, run *toolset.Meter, fails func(elsewhere *toolset.Meter) error) error {
	t.Helper()
	task := &engine.Task{Op: engine.OpPrepare, Info: &toolset.RunInfo{Meter: run}}
	data, err := engine.MarshalTask(task)
	require.NoError(t, err)
	there, err := engine.UnmarshalTask(data)
	require.NoError(t, err)
	failed := fails(there.Info.Meter)
	data, err = engine.MarshalDone(there, &engine.Done{Err: failed})
	require.NoError(t, err)
	done, err := engine.UnmarshalDone(task, data)
	require.NoError(t, err)
	require.EqualError(t, done.Err, failed.Error())
	return done.Err
}

func TestErrorsKeepTheirIdentityBetweenProcesses(t *testing.T) {
	meter := new(toolset.Meter)
	through := func(err error) error {
		return throughJSON(t, meter, func(*toolset.Meter) error { return err })
	}
	for _, sentinel := range []error{context.Canceled, context.DeadlineExceeded, engine.ErrGoexit, toolset.ErrNobody, model.ErrUnsupported, model.ErrRequestsForbidden} {
		require.ErrorIs(t, through(fmt.Errorf("around: %w", sentinel)), sentinel)
	}
	both := through(errors.Join(errors.New("other"), fmt.Errorf("deeper: %w", context.Canceled), toolset.Retry("again")))
	require.ErrorIs(t, both, context.Canceled)
	var retry *toolset.RetryError
	require.ErrorAs(t, both, &retry)
	require.Equal(t, "again", retry.Message)

	api := &model.APIError{Provider: "p", Model: "m", Status: 429, Message: "slow down", RetryAfter: time.Second, Retryable: true, Err: context.DeadlineExceeded}
	got := through(fmt.Errorf("request: %w", api))
	require.ErrorIs(t, got, model.ErrRateLimited)
	require.ErrorIs(t, got, context.DeadlineExceeded)
	var gotAPI *model.APIError
	require.ErrorAs(t, got, &gotAPI)
	require.Equal(t, api, gotAPI)

	require.NotErrorIs(t, through(&ownError{1}), context.Canceled)
	require.False(t, errors.As(through(&ownError{1}), new(*ownError)), "its kind is not known")
	kind := engine.ErrorCodec{Name: "test/own", Encode: func(err error) (any, bool) { e, ok := err.(*ownError); return e, ok },
		Decode: func(data json.RawMessage, text string, _ []error) error {
			e := new(ownError)
			require.NoError(t, json.Unmarshal(data, e))
			require.Equal(t, "own 7", text)
			return e
		}}
	engine.RegisterErrors(kind, kind)
	var own *ownError
	require.ErrorAs(t, through(fmt.Errorf("it is %w", &ownError{7})), &own)
	require.Equal(t, 7, own.N)
	kind.Encode = func(error) (any, bool) { return nil, false }
	engine.RegisterErrors(kind)
	require.False(t, errors.As(through(&ownError{7}), new(*ownError)), "a kind replaces the one of its name")
}

// TestLimitsApplyAcrossProcesses: a limit that was reached elsewhere is that of the meter here.
func TestLimitsApplyAcrossProcesses(t *testing.T) {
	outer := toolset.NewMeter(toolset.Limits{Requests: 2, Cost: 1})
	inner := outer.Sub().Child(toolset.Limits{ToolCalls: 1})
	inner.Add(toolset.Usage{Requests: 1})
	var limit *toolset.LimitError
	require.ErrorAs(t, throughJSON(t, inner.Sub(), func(m *toolset.Meter) error {
		require.NoError(t, m.Request(), "the first one counts there as well")
		require.Equal(t, 2, m.Usage().Requests)
		return m.Child(toolset.Limits{Requests: 5}).Request()
	}), &limit)
	require.True(t, limit.Applies(outer))
	require.Equal(t, toolset.LimitRequests, limit.Limit)
	require.Equal(t, 1, outer.Usage().Requests, "nothing was counted here yet")
	require.ErrorAs(t, throughJSON(t, inner, func(m *toolset.Meter) error { return m.CheckCalls(2) }), &limit)
	require.True(t, limit.Applies(inner))
	require.False(t, limit.Applies(outer))
	require.ErrorAs(t, throughJSON(t, inner, func(m *toolset.Meter) error {
		return m.Child(toolset.Limits{ToolCalls: toolset.NoToolCalls}).CheckCalls(1)
	}), &limit)
	require.False(t, limit.Applies(inner), "it was one of a run elsewhere")
	var price *toolset.PriceError
	require.ErrorAs(t, throughJSON(t, inner, func(m *toolset.Meter) error { return m.CheckPrice(model.Info{Name: "m"}, time.Time{}) }), &price)
	require.True(t, price.Applies(outer))
	require.ErrorIs(t, price, model.ErrNoPrice)
}

// listener notes what it is told.
type listener struct{ told []string }

func (l *listener) Sink() model.Sink {
	return func(d model.Delta) error { l.told = append(l.told, fmt.Sprintf("%+v", d)); return nil }
}

func (l *listener) Custom(c *engine.Call, value any) error {
	id := "-"
	if c != nil {
		id = c.ID
	}
	if data, ok := value.(json.RawMessage); ok {
		value = string(data)
	}
	l.told = append(l.told, fmt.Sprintf("%s %T %v", id, value, value))
	if value == "true" {
		return errors.New("stopped")
	}
	return nil
}

func TestReportsAreDelivered(t *testing.T) {
	ask := &engine.Task{Op: engine.OpModel}
	call := &engine.Task{Op: engine.OpTool, Call: &engine.Call{Call: toolset.Call{ID: "1"}}}
	var l listener
	deliver := func(task *engine.Task) engine.Listener {
		return engine.Reporter(func(report []byte) error { return engine.Deliver(task, report, &l) })
	}
	delta := model.Delta{Part: 1, Kind: model.PartText, Text: "<hi>", CallID: "c", Tool: "t"}
	require.NoError(t, deliver(ask).Sink()(delta))
	require.Error(t, deliver(call).Sink()(delta))
	require.NoError(t, deliver(call).Custom(call.Call, map[string]int{"n": 1}))
	require.NoError(t, deliver(call).Custom(nil, func() {}))
	require.NoError(t, deliver(call).Custom(nil, engine.OpaqueValue{Type: "func()"}), "on its way through a second process")
	require.EqualError(t, deliver(call).Custom(call.Call, true), "stopped")
	require.Equal(t, []string{fmt.Sprintf("%+v", delta), `1 string {"n":1}`, "- engine.OpaqueValue {func()}", "- engine.OpaqueValue {func()}", "1 string true"}, l.told)
}

func TestKeysOfTasks(t *testing.T) {
	info := &toolset.RunInfo{Step: 2}
	call := &engine.Call{Call: toolset.Call{ID: "a"}}
	approved := &engine.Call{Call: toolset.Call{ID: "a", Approved: true}}
	for want, task := range map[string]*engine.Task{
		"2/prepare": {Op: engine.OpPrepare, Info: info}, "2/model": {Op: engine.OpModel, Info: info}, "2/inbox/end": {Op: engine.OpInbox, Info: info, AtEnd: true},
		"2/inbox": {Op: engine.OpInbox, Info: info}, "2/tool/a": {Op: engine.OpTool, Info: info, Call: call}, "2/tool/a/approved": {Op: engine.OpTool, Info: info, Call: approved},
		"2/output": {Op: engine.OpOutput, Info: info}, "0/op(99)": {Op: 99},
	} {
		require.Equal(t, want, task.Key())
	}
}
