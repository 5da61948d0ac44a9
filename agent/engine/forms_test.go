// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "write the forms in testdata")

func goldenForms(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile("testdata/"+name, []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"), "run with -update if it should be so")
}

// TestFormsOfEvents has an event with each field alone, deltas too, and events with what cannot be written. What can be read again is the same.
func TestFormsOfEvents(t *testing.T) {
	var b strings.Builder
	tell := func(e engine.Event) {
		line := e.AppendJSON([]byte("> "))
		marshalled, err := json.Marshal(e)
		require.NoError(t, err)
		require.JSONEq(t, string(line[2:]), string(marshalled))
		var back engine.Event
		if err := json.Unmarshal(line[2:], &back); err != nil {
			fmt.Fprintf(&b, "%s\n  is not read: %v\n", line, err)
			return
		}
		if !strings.Contains(string(line), `"omitted"`) { // which is for people
			require.Equal(t, string(line[2:]), string(back.AppendJSON(nil)))
		}
		fmt.Fprintf(&b, "%s\n  value %T, error %v\n", line, back.Value, back.Err)
	}
	for _, kind := range []engine.EventKind{engine.EventPartDelta, engine.EventPartEnd} {
		for i := range reflect.TypeFor[engine.Event]().NumField() {
			e := engine.Event{Kind: kind}
			switch name := reflect.TypeFor[engine.Event]().Field(i).Name; name {
			case "Kind":
			case "Value":
				e.Value = map[string]int{"n": 1}
			case "Message":
				e.Message = model.UserText("x")
			case "Result":
				e.Result = new(model.ToolReturn("1", "t", "x"))
			case "Decision":
				e.Decision = &model.Decision{Verdict: model.VerdictAllow, By: "ada"}
			case "Usage":
				e.Usage = &toolset.Usage{Requests: 1}
			default:
				fill(reflect.ValueOf(&e).Elem().Field(i), name)
			}
			tell(e)
		}
	}
	tell(engine.Event{Kind: engine.EventPartDelta, Step: 3, Part: 2, PartKind: model.PartText, Text: "a\"<\u2028\xff"})
	broken := json.RawMessage("{")
	decision := &model.Decision{Args: broken}
	result := &model.Part{Kind: model.PartToolReturn, Meta: broken}
	usage := &toolset.Usage{Cost: math.NaN()}
	for i := range 16 { // which of the four can be written
		e := engine.Event{Kind: engine.EventCustom, Step: 1, Decision: &model.Decision{By: "a"}, Result: new(model.ToolReturn("1", "t", "x")), Message: model.UserText("y"), Usage: &toolset.Usage{Requests: 1}}
		if i&1 == 0 {
			e.Decision = decision
		}
		if i&2 == 0 {
			e.Result = result
		}
		if i&4 == 0 {
			e.Message = new(model.Message)
		}
		if i&8 == 0 {
			e.Usage = usage
		}
		tell(e)
	}
	for _, value := range []any{nil, 1, "x", math.Inf(1), make(chan int), engine.Nested{Agent: "a", HandOver: true, Event: engine.Event{Kind: engine.EventOutput}}, engine.Nested{Agent: "a"}, model.PendingCall{ID: "1", Tool: "t", Args: json.RawMessage("{}")}, engine.OpaqueValue{Type: "T"}, json.RawMessage("[1]"), json.RawMessage("{")} {
		for _, kind := range []engine.EventKind{engine.EventCustom, engine.EventPending} {
			tell(engine.Event{Kind: kind, Value: value})
		}
	}
	for _, text := range []string{
		``, `[]`, `{}`, `{"v":1}`, `{"v":2,"kind":"custom"}`, `{"v":"1","kind":"custom"}`, `{"kind":"custom"}`, `{"v":0,"kind":"x","step":"1"}`, `{"v":1,"kind":"custom","nested":{}}`, `{"v":1,"kind":"custom","nested":{"event":{"kind":"x"}}}`, `{"v":1,"kind":"pending","value":[]}`, `{"v":1,"kind":"pending","value":{"id":"1"}}`,
		`{"v":1,"kind":"custom","value":1,"value_type":"T"}`, `{"v":1,"kind":"custom","value_type":"T"}`, `{"v":1,"kind":"custom","value":null}`, `{"v":1,"kind":"run_end","error":{"kind":"k","text":"t"}}`, `{"v":1,"kind":"run_end","error":null}`, `{"v":1,"kind":"response","message":{"v":2,"kind":"response"}}`,
	} {
		e := engine.Event{Kind: "before"}
		err := json.Unmarshal([]byte(text), &e)
		fmt.Fprintf(&b, "< %s\n  %s, value %T, error %v: %v\n", text, e.Kind, e.Value, e.Err, err)
	}
	goldenForms(t, "events.txt", b.String())
}

// TestFormsOfResults has a result with each field alone, for each kind of task.
func TestFormsOfResults(t *testing.T) {
	var b strings.Builder
	ops := []engine.Op{engine.OpPrepare, engine.OpModel, engine.OpCheck, engine.OpPreview, engine.OpApprove, engine.OpTool, engine.OpOutput, engine.OpInbox, engine.OpStep}
	tell := func(task *engine.Task, d *engine.Done) {
		data, err := engine.MarshalDone(task, d)
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", task.Op, err)
			return
		}
		back, err := engine.UnmarshalDone(task, data)
		require.NoError(t, err)
		again, err := engine.MarshalDone(task, back)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
		same := "the same"
		if !reflect.DeepEqual(d, back) {
			same = fmt.Sprintf("another one: %+v", *back)
			if strings.Contains(same, "0x") {
				same = "another one"
			}
		}
		fmt.Fprintf(&b, "%s: %s\n  is %s\n", task.Op, data, same)
	}
	for _, op := range ops {
		task := &engine.Task{Op: op, Info: &toolset.RunInfo{Step: 3, Meter: new(toolset.Meter)}, Call: callOf("1")}
		tell(task, &engine.Done{})
		for i := range reflect.TypeFor[engine.Return]().NumField() {
			field := reflect.TypeFor[engine.Return]().Field(i)
			if field.Type == reflect.TypeFor[toolset.Result]() {
				for j := range field.Type.NumField() {
					var d engine.Done
					fill(reflect.ValueOf(&d.Return).Elem().Field(i).Field(j), field.Type.Field(j).Name)
					tell(task, &d)
				}
				continue
			}
			var d engine.Done
			if field.Name == "Pending" {
				d.Return.Pending = &toolset.PendingError{State: json.RawMessage("1"), Calls: []toolset.PendingCall{{ID: "i", Tool: "u", Args: json.RawMessage("{}")}}}
			} else {
				fill(reflect.ValueOf(&d.Return).Elem().Field(i), field.Name)
			}
			tell(task, &d)
		}
		tell(task, &engine.Done{Checked: []engine.Checked{{}, {Err: errors.New("e")}, {Return: &engine.Return{Retry: true}}, {Return: &engine.Return{}}, {Repaired: model.RawArgs("{}"), Own: true}}})
		tell(task, &engine.Done{Err: errors.New("e"), At: 5, Used: &toolset.Usage{Requests: 1}})
		tell(task, &engine.Done{Response: &model.Message{Parts: []model.Part{model.Text("x")}}})
	}
	task := &engine.Task{Op: engine.OpOutput, Info: &toolset.RunInfo{Step: 3}}
	for _, output := range []any{7, &engine.Output{Value: 7}, &engine.Output{Type: "T", Data: json.RawMessage("7")}, &engine.Output{Data: json.RawMessage("{")}} {
		tell(task, &engine.Done{Output: output})
	}
	tell(&engine.Task{Op: engine.OpTool}, &engine.Done{Return: engine.Return{Result: toolset.Result{Meta: json.RawMessage("{")}}})
	tell(&engine.Task{Op: engine.OpModel, Info: &toolset.RunInfo{Step: 2}}, &engine.Done{Response: &model.Message{Parts: []model.Part{{}}}})
	for _, text := range []string{``, `[]`, `{`, `{"v":2}`, `{"v":1,"at":"x"}`, `{}`} {
		_, err := engine.UnmarshalDone(task, []byte(text))
		_, taskErr := engine.UnmarshalTask([]byte(text))
		fmt.Fprintf(&b, "%q: %v; as a task: %v; as a report: %v\n", text, err, taskErr, engine.Deliver(task, []byte(text), deaf{}))
	}
	_, err := engine.MarshalTask(&engine.Task{Op: engine.OpModel, Info: &toolset.RunInfo{Step: 4}, Request: &model.Request{Messages: []*model.Message{{}}}})
	fmt.Fprintf(&b, "%v\n", err)
	_, err = engine.MarshalTask(&engine.Task{Op: engine.OpTool, Call: brokenCall()})
	fmt.Fprintf(&b, "%v\n", err)
	goldenForms(t, "results.txt", b.String())
}

// doer is a worker that does what a function does.
type doer func(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done)

func (d doer) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	d(ctx, t, l, done)
}

// TestTasksAreExecutedElsewhere: the worker gets the task, knows that it executes nothing else, and its reports and its result come back.
func TestTasksAreExecutedElsewhere(t *testing.T) {
	task := &engine.Task{Op: engine.OpTool, Info: &toolset.RunInfo{RunID: "r", Step: 2}, Call: callOf("c")}
	data, err := engine.MarshalTask(task)
	require.NoError(t, err)
	require.Equal(t, engine.Whole, engine.PartOf(t.Context()))
	var reports []string
	refused := errors.New("refused")
	before := engine.TimeOf(time.Now())
	result, err := engine.Execute(t.Context(), doer(func(ctx context.Context, got *engine.Task, l engine.Listener, done *engine.Done) {
		require.Equal(t, engine.TaskOnly, engine.PartOf(ctx))
		require.Equal(t, task.Call, got.Call)
		require.Equal(t, 2, got.Info.Step)
		require.ErrorIs(t, l.Custom(got.Call, "x"), refused)
		require.ErrorIs(t, l.Custom(nil, 7), refused)
		require.ErrorIs(t, l.Sink()(model.Delta{Kind: model.PartText, Text: "hi"}), refused)
		done.Return.Text = "done"
	}), data, func(report []byte) error {
		reports = append(reports, string(report))
		return refused
	})
	require.NoError(t, err)
	done, err := engine.UnmarshalDone(task, result)
	require.NoError(t, err)
	require.Equal(t, "done", done.Return.Text)
	require.GreaterOrEqual(t, done.At, before)
	require.Equal(t, []string{`{"v":1,"in_call":true,"type":"string","value":"x"}`, `{"v":1,"type":"int","value":7}`, `{"v":1,"delta":{"kind":"text","text":"hi"}}`}, reports)
	_, err = engine.Execute(t.Context(), nil, []byte("{"), nil)
	require.EqualError(t, err, "engine: task: unexpected end of JSON input")
	require.EqualError(t, engine.Deliver(task, []byte(reports[2]), nil), "engine: report: a delta of a task that is not a request")
	require.Equal(t, engine.LoopOnly, engine.PartOf(engine.WithPart(t.Context(), engine.LoopOnly)))
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))
	require.Equal(t, at.UTC(), engine.TimeOf(at).Time())
}

func callOf(id string) *engine.Call {
	c := new(engine.Call)
	c.ID, c.Tool = id, "t"
	return c
}

// brokenCall has a state that is no JSON.
func brokenCall() *engine.Call {
	c := callOf("c")
	c.Resume = &toolset.Resume{State: json.RawMessage("{")}
	return c
}

// deaf is a listener that takes nothing.
type deaf struct{}

func (deaf) Sink() model.Sink { return func(model.Delta) error { return errors.New("no deltas") } }

func (deaf) Custom(*engine.Call, any) error { return errors.New("no events") }
