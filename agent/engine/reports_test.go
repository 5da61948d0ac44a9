// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// values notes the values that it is told.
type values struct {
	listener
	got []any
}

func (v *values) Custom(_ *engine.Call, value any) error {
	v.got = append(v.got, value)
	return nil
}

// hostile is a value whose methods panic.
type hostile struct{}

func (hostile) MarshalJSON() ([]byte, error) { panic("no JSON") }

// TestReportsKeepTheirValues: events of inner runs and refusals arrive as what they are, others as JSON, or as the name of their type.
func TestReportsKeepTheirValues(t *testing.T) {
	task := &engine.Task{Op: engine.OpTool, Call: &engine.Call{Call: toolset.Call{ID: "1"}}}
	nested := engine.Nested{Agent: "a", HandOver: true, Event: engine.Event{Kind: engine.EventPartDelta, Text: "x"}}
	refusal := engine.Refusal{Policy: "p", Stage: engine.StageTool, Tool: "t", CallID: "c"}
	var v values
	var sent [][]byte
	reporter := engine.Reporter(func(report []byte) error {
		sent = append(sent, report)
		return engine.Deliver(task, report, &v)
	})
	for _, value := range []any{nested, refusal, &refusal, 1, nil, make(chan int), hostile{}, map[string]string{"a": "<"}} {
		require.NoError(t, reporter.Custom(nil, value))
	}
	refused, err := json.Marshal(refusal)
	require.NoError(t, err)
	require.Equal(t, []any{
		nested, refusal, json.RawMessage(refused), json.RawMessage("1"), json.RawMessage("null"), engine.OpaqueValue{Type: "chan int"}, engine.OpaqueValue{Type: "engine_test.hostile"}, json.RawMessage(`{"a":"<"}`),
	}, v.got)
	require.JSONEq(t, `{"v":1,"type":"int","value":1}`, string(sent[3]))
	require.NoError(t, reporter.Custom(task.Call, 1))
	require.JSONEq(t, `{"v":1,"in_call":true,"type":"int","value":1}`, string(sent[8]))
	require.EqualError(t, reporter.Sink()(model.Delta{Text: "x"}), "engine: report: a delta of a task that is not a request")
	failed := engine.Reporter(func([]byte) error { return errBoom })
	require.Equal(t, errBoom, failed.Custom(nil, 1))
	require.Equal(t, errBoom, failed.Sink()(model.Delta{}))
	require.ErrorContains(t, engine.Deliver(task, []byte("{"), &v), "engine: report: ")
}

// TestTextsOfPanics: one line with the value and the place, which is not that of the runtime.
func TestTextsOfPanics(t *testing.T) {
	const stack = "goroutine 7 [running]:\nruntime/debug.Stack()\n\t/usr/lib/go/debug/stack.go:26 +0x5e\npanic({0x1, 0x2})\n\t/usr/lib/go/runtime/panic.go:783 +0x132\nruntime.panicmem(...)\n\t/usr/lib/go/runtime/panic.go:262\nexample.org/shop/cart.(*Cart).Add(0x0, {0x3, 0x4})\n\t/home/x/cart/cart.go:42 +0x1d\nmain.main()\n\t/home/x/main.go:9 +0x1\n"
	for want, e := range map[string]*engine.PanicError{
		"panic: out of stock": {Value: "out\n of \tstock"},
		"panic: 3":            {Value: 3, Stack: []byte("no stack")},
		"panic: boom (cart.go:42 in cart.(*Cart).Add)":     {Value: errBoom, Stack: []byte(stack)},
		"panic: <nil> (main.go:9 in main.main)":            {Stack: []byte("panic({0x1})\n\t/p.go:1\nmain.main()\n\t/home/x/main.go:9 +0x1\n")},
		"panic: cut":                                       {Value: "cut", Stack: []byte("panic({0x1})\n\t/p.go:1\nmain.main()")},
		"panic: the end (main.go:9 in main.main)":          {Value: "the end", Stack: []byte("panic({0x1})\n\t/p.go:1\nmain.main()\n\t/home/x/main.go:9")},
		"panic: before the panic":                          {Value: "before the panic", Stack: []byte("main.main()\n\t/home/x/main.go:9 +0x1\n")},
		"panic: a goroutine (main.go:3 in main.run.func1)": {Value: "a goroutine", Stack: []byte("panic({0x1})\n\t/p.go:1\nmain.run.func1()\n\t/home/x/main.go:3 +0x1\n")},
	} {
		require.EqualError(t, e, want)
	}
	require.Equal(t, errBoom, errors.Unwrap(&engine.PanicError{Value: errBoom}))
	require.NoError(t, errors.Unwrap(&engine.PanicError{Value: "boom"}))
}
