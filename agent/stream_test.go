// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// trace shows events in a compact form.
func trace(e agent.Event) string {
	s := fmt.Sprintf("%d %v", e.Step, e.Kind)
	switch e.Kind {
	case agent.EventPartStart, agent.EventPartDelta, agent.EventPartEnd:
		s += fmt.Sprintf(" %d %s", e.Part, e.PartKind)
		if e.Tool != "" {
			s += " " + e.Tool + " " + e.CallID
		}
	case agent.EventToolCall:
		s += fmt.Sprintf(" %s %s %s valid=%v attempt=%d", e.CallID, e.Tool, e.Args, e.Valid, e.Attempt)
	case agent.EventToolStart:
		s += fmt.Sprintf(" %s %s %s", e.CallID, e.Tool, e.Args)
		if e.Decision != nil {
			s += " by " + e.Decision.By
		}
	case agent.EventToolResult:
		s += " " + e.CallID
		if e.Result != nil {
			s += " " + dumpPart(e.Result)
		}
	case agent.EventCustom:
		s += fmt.Sprintf(" %s %s %v", e.CallID, e.Tool, e.Value)
	case agent.EventOutput:
		s += fmt.Sprintf(" %v", e.Value)
	case agent.EventRetry:
		s += fmt.Sprintf(" %s attempt=%d", e.CallID, e.Attempt)
	}
	if e.Text != "" {
		s += fmt.Sprintf(" %q", e.Text)
	}
	if e.Err != nil {
		s += " error: " + e.Err.Error()
	}
	return s
}

func TestEventsTellTheWholeRun(t *testing.T) {
	script := modeltest.Script(
		modeltest.Say(model.Thinking("I must"), model.Text("Adding."), add("1", 1, 2), add("2", 1, 200)),
		modeltest.SayText("it is 3"))
	emitting := toolset.Func("add", "", func(_ context.Context, run *toolset.RunContext[deps], in addArgs) (int, error) {
		run.Emit("working")
		return in.X + in.Y, nil
	})
	s := newAgent(t, cfg{Model: script}, emitting).Stream(context.Background(), deps{}, "go")
	var got []string
	for e := range s.Events() {
		if e.Kind == agent.EventUsage {
			require.NotNil(t, e.Usage)
			continue
		}
		got = append(got, trace(e))
	}
	require.Equal(t, strings.Split(strings.TrimSpace(`
0 run_start
1 request_start
1 part_start 0 thinking
1 part_delta 0 thinking "I "
1 part_delta 0 thinking "must"
1 part_end 0 thinking
1 part_start 1 text
1 part_delta 1 text "Adding."
1 part_end 1 text
1 part_start 2 tool_call add 1
1 part_delta 2 tool_call "{\"x\":1,\"y\":2}"
1 part_start 3 tool_call add 2
1 part_delta 3 tool_call "{\"x\":1,\"y\":200}"
1 part_end 2 tool_call
1 part_end 3 tool_call
1 response
1 tool_call 1 add {"x":1,"y":2} valid=true attempt=0
1 tool_call 2 add {"x":1,"y":200} valid=false attempt=0
1 tool_result 2 retry 2 add: y: must be at most 100, got 200
1 tool_start 1 add {"x":1,"y":2}
1 custom 1 add working
1 tool_result 1 tool_return 1 add: 3
1 retry 2 attempt=1 "y: must be at most 100, got 200"
2 request_start
2 part_start 0 text
2 part_delta 0 text "it "
2 part_delta 0 text "is "
2 part_delta 0 text "3"
2 part_end 0 text
2 response
2 output it is 3
2 run_end`), "\n"), got)
}

func TestModelThatDoesNotStreamGivesTheSameEvents(t *testing.T) {
	m := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return model.Response(model.Text("hello")), nil
	})
	var got []string
	for e := range newAgent(t, cfg{Model: m}).Stream(context.Background(), deps{}, "go").Events() {
		if e.Kind == agent.EventPartStart || e.Kind == agent.EventPartDelta || e.Kind == agent.EventPartEnd {
			got = append(got, trace(e))
		}
	}
	require.Equal(t, []string{`1 part_start 0 text`, `1 part_delta 0 text "hello"`, `1 part_end 0 text`}, got)
}

func TestInterleavedToolCallsKeepTheirParts(t *testing.T) {
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for i, d := range []model.Delta{
			{Part: 0, Kind: model.PartToolCall, CallID: "1", Tool: "add", Text: `{"x":`}, {Part: 1, Kind: model.PartToolCall, CallID: "2", Tool: "add", Text: `{"x":`},
			{Part: 0, Kind: model.PartToolCall, Text: `1}`}, {Part: 1, Kind: model.PartToolCall, Text: `2}`},
		} {
			if err := sink(d); err != nil {
				return nil, fmt.Errorf("delta %d: %w", i, err)
			}
		}
		return model.Response(model.Text("done")), nil
	})
	args := map[int]string{}
	ends := 0
	for e := range newAgent(t, cfg{Model: m}).Stream(context.Background(), deps{}, "go").Events() {
		switch e.Kind {
		case agent.EventPartDelta:
			args[e.Part] += e.Text
		case agent.EventPartEnd:
			ends++
		}
	}
	require.Equal(t, map[int]string{0: `{"x":1}`, 1: `{"x":2}`}, args)
	require.Equal(t, 2, ends)
}

func TestLeavingTheRangeStopsTheRunAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		patient := func(name string) *toolset.Tool[deps] {
			return tool(name, func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
				run.Emit(name)
				<-ctx.Done()
				time.Sleep(time.Second)
				ended.Add(1)
				return "", ctx.Err()
			}, toolset.OfKind(toolset.KindThink, "Patience"))
		}
		script := modeltest.Script(modeltest.Say(call("1", "a"), call("2", "b")))
		s := newAgent(t, cfg{Model: script}, patient("a"), patient("b")).Stream(t.Context(), deps{}, "go")
		seen := 0
		for e := range s.Events() {
			if e.Kind == agent.EventToolCall {
				require.Equal(t, toolset.KindThink, e.ToolKind)
				require.Equal(t, "Patience", e.ToolTitle)
			}
			if e.Kind == agent.EventCustom {
				if seen++; seen == 2 {
					break
				}
			}
		}
		require.EqualValues(t, 2, ended.Load(), "everything has ended when the range has")
		_, err := s.Result()
		require.ErrorIs(t, err, agent.ErrStopped)
		require.Equal(t, "request interrupted\n", last(asRunError(t, err).Messages))
		for range s.Events() {
			t.Fatal("a stream is ranged over once")
		}
	})
}

func TestPanicOfTheObserverLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		waiting := func(name string) *toolset.Tool[deps] {
			return tool(name, func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
				run.Emit(name)
				<-ctx.Done()
				ended.Add(1)
				return "", ctx.Err()
			})
		}
		script := modeltest.Script(modeltest.Say(call("1", "a"), call("2", "b")))
		s := newAgent(t, cfg{Model: script}, waiting("a"), waiting("b")).Stream(t.Context(), deps{}, "go")
		require.PanicsWithValue(t, "observer", func() {
			for e := range s.Events() {
				if e.Kind == agent.EventCustom {
					panic("observer")
				}
			}
		})
		require.EqualValues(t, 2, ended.Load())
	})
}

func TestObserverHoldsTheModelBack(t *testing.T) {
	sent, taken := 0, 0
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for range 100 {
			sent++
			if err := sink(model.Delta{Kind: model.PartText, Text: "x"}); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text("x")), nil
	})
	for e := range newAgent(t, cfg{Model: m}).Stream(context.Background(), deps{}, "go").Events() {
		if e.Kind == agent.EventPartDelta {
			taken++
			require.Equal(t, taken, sent, "nothing is buffered")
		}
	}
	require.Equal(t, 100, taken)
}

func TestRunEndCarriesTheError(t *testing.T) {
	s := newAgent(t, cfg{Model: modeltest.Script(modeltest.Fail(errBoom))}).Stream(context.Background(), deps{}, "go")
	var end agent.Event
	for e := range s.Events() {
		end = e
	}
	require.Equal(t, agent.EventRunEnd, end.Kind)
	_, err := s.Result()
	require.Equal(t, err, end.Err)
	require.ErrorIs(t, err, errBoom)
}

func TestTextYieldsTheTextAsItIsWritten(t *testing.T) {
	s := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(model.Thinking("secret"), add("1", 1, 2)), modeltest.SayText("it is 3"))}, addTool()).Stream(context.Background(), deps{}, "go")
	var got []string
	for text := range s.Text() {
		got = append(got, text)
	}
	require.Equal(t, []string{"it ", "is ", "3"}, got)
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, "it is 3", res.Output)
}

func TestEmitDoesNothingWhenNobodyWatches(t *testing.T) {
	res, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "t")), modeltest.SayText("ok"))},
		tool("t", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) { run.Emit(1); return "", nil })).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "ok", res.Output)
}

func TestConcurrentRunsOfOneAgentAreIndependent(t *testing.T) {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) == 1 {
			return model.Response(add("1", 1, 2)), nil
		}
		return model.Response(model.Text(req.Messages[0].Parts[0].Text + "=" + req.Messages[2].Parts[0].Text)), nil
	})
	a := newAgent(t, cfg{Model: m}, addTool())
	errs := make(chan error)
	for i := range 50 {
		go func() {
			res, err := a.Run(context.Background(), deps{base: i}, fmt.Sprint(i))
			if err == nil && res.Output != fmt.Sprintf("%d=%d", i, i+3) {
				err = errors.New(res.Output)
			}
			errs <- err
		}()
	}
	for range 50 {
		require.NoError(t, <-errs)
	}
}

// starts runs a stream and returns its starts and ends of calls.
func starts(t *testing.T, config cfg, tools ...*toolset.Tool[deps]) []string {
	t.Helper()
	var got []string
	for e := range newAgent(t, config, tools...).Stream(t.Context(), deps{}, "go").Events() {
		switch e.Kind {
		case agent.EventToolStart:
			got = append(got, trace(e))
		case agent.EventToolResult:
			got = append(got, fmt.Sprintf("end %s %s", e.CallID, e.Args))
		}
	}
	return got
}

func TestCallStartsWhenItIsItsTurn(t *testing.T) {
	script := modeltest.Say(call("1", "hi"), call("2", "hi"), call("3", "nonsense"), call("4", "alone"))
	tools := []*toolset.Tool[deps]{says("hi", "hello"), tool("alone", func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", nil }, toolset.Sequential())}
	require.Equal(t, []string{"end 3 {}", "1 tool_start 1 hi {}", "end 1 {}", "1 tool_start 2 hi {}", "end 2 {}", "1 tool_start 4 alone {}", "end 4 {}"},
		starts(t, cfg{MaxParallelCalls: 1, Model: modeltest.Script(script, modeltest.SayText("ok"))}, tools...), "there is one place")
}

func TestCallStartsWhenItIsApproved(t *testing.T) {
	d := newDesk()
	asker := approves(func(r toolset.ApprovalRequest) toolset.Decision {
		switch r.CallID() {
		case "1":
			return toolset.Decision{Verdict: toolset.VerdictAllow, Args: json.RawMessage(`{"path":"a","text":"y"}`), By: "ada"}
		case "2":
			return toolset.Deny("no")
		}
		return toolset.Defer()
	})
	script := modeltest.Say(edit("1", "edit", "a", "x"), edit("2", "edit", "b", "x"), edit("3", "edit", "c", "x"))
	require.Equal(t, []string{`1 tool_start 1 edit {"path":"a","text":"y"} by ada`, `end 1 {"path":"a","text":"y"}`, `end 2 {"path":"b","text":"x"}`},
		starts(t, cfg{Asker: asker, Model: modeltest.Script(script)}, d.edit("edit")), "what is denied or pending does not start")
}

func TestModelIsToldThatTheObserverHasLeft(t *testing.T) {
	for name, d := range map[string]model.Delta{
		"text":    {Kind: model.PartText, Text: "more"},
		"nothing": {Kind: model.PartText},
		"usage":   {Usage: &model.Usage{OutputTokens: 1}},
		"whole":   {Whole: &model.Part{Kind: model.PartOpaque}},
	} {
		sent := 0
		m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
			err := sink(model.Delta{Kind: model.PartText, Text: "stop here"})
			for ; err == nil && sent < 100; sent++ { // it does not look at its context
				err = sink(d)
			}
			return model.Response(model.Text("stop here")), err
		})
		s := newAgent(t, cfg{Model: m}).Stream(t.Context(), deps{}, "go")
		for e := range s.Events() {
			if e.Kind == agent.EventPartDelta {
				break
			}
		}
		_, err := s.Result()
		require.ErrorIs(t, err, agent.ErrStopped, name)
		require.LessOrEqual(t, sent, 1, name)
	}
}

func TestPartsWithoutDeltasAreKeptAndNotShown(t *testing.T) {
	secret := model.Part{Kind: model.PartThinking, Provider: "p", Signature: []byte("s")}
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for _, d := range []model.Delta{{Kind: model.PartText, Text: "hello"}, {Part: 1, Whole: &secret}} {
			if err := sink(d); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text("hello"), secret), nil
	})
	s := newAgent(t, cfg{Model: m}).Stream(t.Context(), deps{}, "go")
	var shown []model.PartKind
	for e := range s.Events() {
		if e.Kind == agent.EventPartStart || e.Kind == agent.EventPartEnd {
			shown = append(shown, e.PartKind)
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, []model.PartKind{model.PartText, model.PartText}, shown, "its beginning and its end")
	require.Equal(t, []model.Part{model.Text("hello"), secret}, res.Messages[1].Parts)
}
