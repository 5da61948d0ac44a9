// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type cfg = agent.Config[deps, string]

func TestToolResultGoesBackToTheModel(t *testing.T) {
	res, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(add("1", 1, 2)), modeltest.SayText("3")}, addTool())
	require.Equal(t, "3", res.Output)
	require.Equal(t, "request\n  tool_return 1 add: 3\n", last(script.Requests()[1].Messages))
	require.Equal(t, toolset.Usage{Requests: 2, ToolCalls: 1, Usage: model.Usage{InputTokens: 20, OutputTokens: 10}}, res.Usage)
}

func TestSchemaOfAToolComesFromItsStruct(t *testing.T) {
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.SayText("ok")}, addTool())
	require.JSONEq(t, `{
		"type": "object", "additionalProperties": false, "required": ["x", "y"],
		"properties": {"x": {"type": "integer", "description": "First number"}, "y": {"type": "integer", "maximum": 100}}
	}`, string(script.Requests()[0].Tools[0].Schema))
}

func TestInvalidArgumentsAreARetryTiedToTheCall(t *testing.T) {
	for args, want := range map[string]string{
		`{"x":1,"y":200}`:        "y: must be at most 100, got 200",
		`{"x":1}`:                "y:",
		`{"x":1,"y":2,"z":3}`:    "z:",
		`{"x":"one","y":2}`:      "x:",
		`{"x":1,`:                "",
		``:                       "x:",
		`[]`:                     "",
		`{"x":1,"y":2} trailing`: "",
	} {
		_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "add", args)), modeltest.SayText("ok")}, addTool())
		answer := script.Requests()[1].Messages[2]
		require.Len(t, answer.Parts, 1, args)
		require.Equal(t, model.PartRetry, answer.Parts[0].Kind, args)
		require.Equal(t, "1", answer.Parts[0].CallID)
		require.Contains(t, answer.Parts[0].Text, want)
	}
}

func TestEmptyArgumentsEqualAnEmptyObject(t *testing.T) {
	res, _, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "hi", "")), modeltest.SayText("ok")}, says("hi", "hello"))
	require.Equal(t, 1, res.Usage.ToolCalls)
}

func TestOneBadCallNeverStopsItsSiblings(t *testing.T) {
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(add("1", 1, 2), add("2", 1, 200), add("3", 3, 4)), modeltest.SayText("ok")}, addTool())
	require.Equal(t, "request\n  tool_return 1 add: 3\n  retry 2 add: y: must be at most 100, got 200\n  tool_return 3 add: 7\n", last(script.Requests()[1].Messages))
}

func TestAllCallsAreValidatedBeforeAnyRuns(t *testing.T) {
	var order []string
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "hi"), add("2", 1, 200)), modeltest.SayText("ok"))},
		tool("hi", func(context.Context, *toolset.RunContext[deps]) (string, error) {
			order = append(order, "ran hi")
			return "", nil
		}), addTool())
	s := a.Stream(context.Background(), deps{}, "go")
	for e := range s.Events() {
		if e.Kind == agent.EventToolCall {
			order = append(order, fmt.Sprintf("call %s %v", e.CallID, e.Valid))
		}
	}
	require.Equal(t, []string{"call 1 true", "call 2 false", "ran hi"}, order)
}

func sleeper(name string, d time.Duration, opts ...toolset.Option) *toolset.Tool[deps] {
	return tool(name, func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) {
		select {
		case <-time.After(d):
			return name, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}, opts...)
}

func TestCallsRunInParallelAndAnswerInEmissionOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := modeltest.Script(modeltest.Say(call("1", "slow"), call("2", "quick"), call("3", "medium")), modeltest.SayText("ok"))
		a := newAgent(t, cfg{Model: script}, sleeper("slow", 3*time.Second), sleeper("quick", time.Second), sleeper("medium", 2*time.Second))
		begin := time.Now()
		var completed []string
		s := a.Stream(t.Context(), deps{}, "go")
		for e := range s.Events() {
			if e.Kind == agent.EventToolResult {
				completed = append(completed, e.Tool)
			}
		}
		_, err := s.Result()
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.Equal(t, []string{"quick", "medium", "slow"}, completed, "events come in the order of completion")
		require.Equal(t, "request\n  tool_return 1 slow: slow\n  tool_return 2 quick: quick\n  tool_return 3 medium: medium\n", last(script.Requests()[1].Messages))
	})
}

func TestSequentialToolIsABarrierAtItsPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string
		begin := time.Now()
		logged := func(name string, opts ...toolset.Option) *toolset.Tool[deps] {
			return tool(name, func(context.Context, *toolset.RunContext[deps]) (string, error) {
				from := time.Since(begin)
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				log = append(log, fmt.Sprintf("%s %v-%v", name, from, time.Since(begin)))
				return "", nil
			}, opts...)
		}
		script := modeltest.Script(modeltest.Say(call("1", "a"), call("2", "b"), call("3", "barrier"), call("4", "a"), call("5", "b")), modeltest.SayText("ok"))
		_, err := newAgent(t, cfg{Model: script}, logged("a"), logged("b"), logged("barrier", toolset.Sequential())).Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		slices.Sort(log)
		require.Equal(t, []string{"a 0s-1s", "a 2s-3s", "b 0s-1s", "b 2s-3s", "barrier 1s-2s"}, log)
	})
}

func TestParallelCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var parts []model.Part
		for i := range 10 {
			parts = append(parts, call(fmt.Sprint(i), "slow"))
		}
		begin := time.Now()
		a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(parts...), modeltest.SayText("ok")), MaxParallelCalls: 3}, sleeper("slow", time.Second))
		res, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, 4*time.Second, time.Since(begin))
		require.Equal(t, 10, res.Usage.ToolCalls)
	})
}

func TestSixteenCallsTakeAsLongAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var parts []model.Part
		for i := range 16 {
			parts = append(parts, call(fmt.Sprint(i), "slow"))
		}
		a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(parts...), modeltest.SayText("ok"))}, sleeper("slow", 10*time.Millisecond))
		begin := time.Now()
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, 10*time.Millisecond, time.Since(begin))
	})
}

func TestRetryOfAToolCountsAgainstItsBudget(t *testing.T) {
	tool := fails("t", toolset.Retry("use %s", "b"))
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "t")), modeltest.Say(call("2", "t")), modeltest.SayText("never")}, tool)
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	require.Equal(t, "t", budget.Tool)
	require.Equal(t, 1, budget.Retries)
	var retry *toolset.RetryError
	require.ErrorAs(t, err, &retry, "the last cause is kept")
	require.EqualError(t, err, `agent: tool "t" (call 2): no valid answer after 1 retry: retry: use b`)
	require.Equal(t, "request\n  retry 2 t: use b\n", last(err.Messages), "every call is answered, so the history can be continued")
	require.Equal(t, 1, err.Attempt)
}

func TestRetryBudgetPrecedenceIsToolThenAgent(t *testing.T) {
	for name, c := range map[string]struct {
		agent *int
		tool  []toolset.Option
		want  int
	}{
		"default":    {nil, nil, 1},
		"agent":      {new(3), nil, 3},
		"agent zero": {new(0), nil, 0},
		"tool":       {new(3), []toolset.Option{toolset.Retries(2)}, 2},
		"tool zero":  {nil, []toolset.Option{toolset.Retries(0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			broken := tool("t", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
				seen = append(seen, fmt.Sprintf("%d/%d", run.Call.Attempt, run.Call.MaxRetries))
				return "", toolset.Retry("no")
			}, c.tool...)
			m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				return model.Response(call("1", "t")), nil
			})
			_, err := newAgent(t, cfg{Model: m, ToolRetries: c.agent}, broken).Run(context.Background(), deps{}, "go")
			var budget *agent.BudgetError
			require.ErrorAs(t, err, &budget)
			require.Equal(t, c.want, budget.Retries)
			require.Len(t, seen, c.want+1, "N retries are N+1 attempts")
			require.Equal(t, fmt.Sprintf("%d/%d", c.want, c.want), seen[c.want])
		})
	}
}

func TestRetriesAreCountedOnceAStep(t *testing.T) {
	res, _, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(add("1", 1, 200), add("2", 1, 300), add("3", 1, 400)), modeltest.Say(add("4", 1, 2)), modeltest.SayText("ok")}, addTool())
	require.Equal(t, "ok", res.Output)
}

func TestSuccessResetsTheBudget(t *testing.T) {
	steps := []modeltest.Step{
		modeltest.Say(add("1", 1, 200)), modeltest.Say(add("2", 1, 2)), modeltest.Say(add("3", 1, 200)), modeltest.Say(add("4", 1, 2)), modeltest.SayText("ok"),
	}
	res, _, _ := run(t, cfg{}, steps, addTool())
	require.Equal(t, "ok", res.Output)
}

func TestSuccessBesideAFailureDoesNotResetTheBudget(t *testing.T) {
	steps := []modeltest.Step{modeltest.Say(add("1", 1, 200)), modeltest.Say(add("2", 1, 200), add("3", 1, 2))}
	_, err, _ := run(t, cfg{}, steps, addTool())
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
}

func TestBudgetSurvivesCallsOfOtherTools(t *testing.T) {
	steps := []modeltest.Step{modeltest.Say(add("1", 1, 200)), modeltest.Say(call("2", "hi")), modeltest.Say(add("3", 1, 200))}
	_, err, _ := run(t, cfg{}, steps, addTool(), says("hi", "hi"))
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	require.Equal(t, "add", budget.Tool)
}

func TestBudgetIsDerivedFromTheHistoryWhenARunIsResumed(t *testing.T) {
	broken := fails("t", toolset.Retry("no"))
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "t")), modeltest.Fail(errBoom)}, broken)
	require.ErrorIs(t, err, errBoom)
	_, err, _ = runWith(t, cfg{}, []modeltest.Step{modeltest.Say(call("2", "t"))}, "", []agent.RunOption{agent.WithHistory(err.Messages)}, broken)
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	// A new prompt begins a new turn, with fresh budgets.
	res, _, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.Say(call("3", "t")), modeltest.SayText("gave up")}, "again", []agent.RunOption{agent.WithHistory(err.Messages)}, broken)
	require.Equal(t, "gave up", res.Output)
}

func TestFailedIsAReturnAndCostsNoBudget(t *testing.T) {
	failing := fails("t", fmt.Errorf("wrapped: %w", toolset.Failed("no such file %q", "x")))
	steps := []modeltest.Step{modeltest.Say(call("1", "t")), modeltest.Say(call("2", "t")), modeltest.Say(call("3", "t")), modeltest.SayText("ok")}
	res, _, script := run(t, cfg{}, steps, failing)
	require.Equal(t, "request\n  tool_return 1 t failed: no such file \"x\"\n", last(script.Requests()[1].Messages))
	require.Zero(t, res.Usage.ToolCalls, "only successful calls are counted")
}

func TestDeniedIsAReturnAndCostsNoBudget(t *testing.T) {
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "t")), modeltest.SayText("ok")}, fails("t", toolset.Denied("not allowed")))
	require.Equal(t, "request\n  tool_return 1 t denied: not allowed\n", last(script.Requests()[1].Messages))
}

func TestAnyOtherErrorAbortsTheRunAndSiblingsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		sibling := tool("sibling", func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // cleaning up
			ended = append(ended, "sibling")
			return "", ctx.Err()
		})
		quick := says("quick", "done")
		broken := tool("broken", func(context.Context, *toolset.RunContext[deps]) (string, error) {
			time.Sleep(time.Minute)
			return "", errBoom
		})
		script := modeltest.Script(modeltest.Say(call("1", "quick"), call("2", "broken"), call("3", "sibling")))
		_, err := newAgent(t, cfg{Name: "a", Model: script}, quick, broken, sibling).Run(t.Context(), deps{}, "go")
		require.EqualError(t, err, `agent a: tool "broken" (call 2): boom`)
		require.ErrorIs(t, err, errBoom)
		runErr := asRunError(t, err)
		require.Equal(t, agent.StageTool, runErr.Stage)
		require.Equal(t, "broken", runErr.Tool)
		require.Equal(t, "2", runErr.CallID)
		require.Equal(t, []string{"sibling"}, ended)
		require.Equal(t, "request interrupted\n  tool_return 1 quick: done\n", last(runErr.Messages), "what was completed is kept")
		require.Equal(t, 1, runErr.Usage.ToolCalls)
	})
}

func TestCallsBehindAFailedBarrierDoNotRun(t *testing.T) {
	ran := false
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "broken"), call("2", "other"))},
		tool("broken", func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", errBoom }, toolset.Sequential()),
		tool("other", func(context.Context, *toolset.RunContext[deps]) (string, error) { ran = true; return "", nil }))
	require.ErrorIs(t, err, errBoom)
	require.False(t, ran)
}

func TestToolPanicIsAnErrorThatAbortsTheRun(t *testing.T) {
	for name, calls := range map[string][]model.Part{"alone": {call("1", "bad")}, "in parallel": {call("1", "bad"), call("2", "hi")}} {
		t.Run(name, func(t *testing.T) {
			_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(calls...)},
				tool("bad", func(context.Context, *toolset.RunContext[deps]) (string, error) { panic("ouch") }), says("hi", "hi"))
			var p *agent.PanicError
			require.ErrorAs(t, err, &p)
			require.Equal(t, "ouch", p.Value)
			require.Contains(t, string(p.Stack), "tools_test.go")
			require.Contains(t, err.Error(), `tool "bad" (call 1): panic: ouch`)
		})
	}
}

func TestModelPanicIsAnError(t *testing.T) {
	_, err, _ := run(t, cfg{}, []modeltest.Step{func(context.Context, *model.Request) (*model.Message, error) { panic("ouch") }})
	var p *agent.PanicError
	require.ErrorAs(t, err, &p)
	require.Equal(t, agent.StageModel, err.Stage)
}

func TestToolTimeoutIsARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := modeltest.Script(modeltest.Say(call("1", "slow"), call("2", "slower"), call("3", "fine")), modeltest.SayText("ok"))
		a := newAgent(t, cfg{Model: script, ToolTimeout: time.Second},
			sleeper("slow", time.Hour), sleeper("slower", time.Hour, toolset.Timeout(2*time.Second)), sleeper("fine", 500*time.Millisecond))
		begin := time.Now()
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(begin), "a tool's own timeout comes before the agent's")
		require.Equal(t, "request\n  retry 1 slow: Timed out after 1s.\n  retry 2 slower: Timed out after 2s.\n  tool_return 3 fine: fine\n", last(script.Requests()[1].Messages))
	})
}

func TestUnknownToolIsARetryThatListsTheTools(t *testing.T) {
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "sum"), call("2", "hi")), modeltest.SayText("ok")}, says("hi", "hi"), addTool())
	require.Equal(t, "request\n  retry 1 sum: Unknown tool \"sum\". Available tools: add, hi.\n  tool_return 2 hi: hi\n", last(script.Requests()[1].Messages))

	_, _, script = run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "sum")), modeltest.SayText("ok")})
	require.Contains(t, last(script.Requests()[1].Messages), `Unknown tool "sum". No tools are available.`)
}

func TestBudgetOfAnUnknownToolIsKeyedByItsName(t *testing.T) {
	res, _, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "a")), modeltest.Say(call("2", "b")), modeltest.SayText("ok")}, addTool())
	require.Equal(t, "ok", res.Output)
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "a")), modeltest.Say(call("2", "a"))}, addTool())
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	require.ErrorContains(t, err, `unknown tool "a"`)
}

func TestContentOfToolsComesAfterAllResults(t *testing.T) {
	image := model.Media("image/png", []byte{1})
	show := toolset.Func("show", "", func(context.Context, *toolset.RunContext[deps], none) (toolset.Result, error) {
		return toolset.Result{Text: "see below", Content: []model.Part{image}, Meta: []byte(`{"k":1}`)}, nil
	})
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "show"), call("2", "hi")), modeltest.SayText("ok")}, show, says("hi", "hi"))
	parts := script.Requests()[1].Messages[2].Parts
	require.Len(t, parts, 3)
	require.Equal(t, "tool_return 1 show: see below", dumpPart(&parts[0]))
	require.JSONEq(t, `{"k":1}`, string(parts[0].Meta))
	require.Equal(t, "tool_return 2 hi: hi", dumpPart(&parts[1]))
	require.Equal(t, image, parts[2])
}

func TestToolResultsAreShownAsTextOrJSON(t *testing.T) {
	type pair struct {
		A string `json:"a"`
		B *int   `json:"b"`
	}
	show := func(name string, v any) *toolset.Tool[deps] {
		return toolset.Plain[deps](name, "", func(context.Context, none) (any, error) { return v, nil })
	}
	for want, v := range map[string]any{
		"text": "text", "": "", "7": 7, `{"a":"x","b":null}`: pair{A: "x"}, "null": nil, "ok": struct{}{}, `[1,2]`: []int{1, 2}, "true": true,
	} {
		_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "t")), modeltest.SayText("ok")}, show("t", v))
		require.Equal(t, want, script.Requests()[1].Messages[2].Parts[0].Text)
	}
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "t"))}, show("t", func() {}))
	require.ErrorContains(t, err, "result of type")
}

func TestToolNamesMustBeUniqueOverAllToolsets(t *testing.T) {
	calculator, abacus := toolset.Named(toolset.Of(addTool()), "calculator"), toolset.Named(toolset.Of(says("hi", ""), addTool()), "abacus")
	later := toolset.PerRun("later", func(context.Context, *toolset.RunContext[deps]) (toolset.Toolset[deps], error) { return abacus, nil })
	_, err, _ := run(t, cfg{Toolsets: []toolset.Toolset[deps]{calculator, later}}, nil)
	require.EqualError(t, err, `agent: prepare: toolset: toolsets "calculator" and "later" both have a tool "add"`)
	var clash *toolset.NameClashError
	require.ErrorAs(t, err, &clash)
	require.Equal(t, toolset.NameClashError{Tool: "add", First: "calculator", Second: "later"}, *clash)
}

func TestNewReportsNameClashes(t *testing.T) {
	calculator, abacus := toolset.Named(toolset.Of(addTool()), "calculator"), toolset.Named(toolset.Of(says("hi", ""), addTool()), "abacus")
	other := toolset.PerRun("other", func(context.Context, *toolset.RunContext[deps]) (toolset.Toolset[deps], error) { return nil, nil })
	for _, sets := range [][]toolset.Toolset[deps]{{calculator, abacus}, {calculator, other, abacus}} {
		_, err := agent.New(cfg{Toolsets: sets})
		require.EqualError(t, err, `agent: new: toolset: toolsets "calculator" and "abacus" both have a tool "add"`)
		var clash *toolset.NameClashError
		require.ErrorAs(t, err, &clash)
		require.Equal(t, toolset.NameClashError{Tool: "add", First: "calculator", Second: "abacus"}, *clash)
	}
	_, err := agent.New(cfg{Toolsets: []toolset.Toolset[deps]{toolset.Of(addTool(), addTool())}})
	require.ErrorContains(t, err, `lists the tool "add" twice`)
	_, err = agent.New(cfg{Toolsets: []toolset.Toolset[deps]{other, toolset.Prefixed(toolset.Combine(calculator, abacus), "x_")}})
	require.ErrorContains(t, err, `toolsets "calculator" and "abacus" both have a tool "add"`)
}

func TestNewReportsAllProblemsAtOnce(t *testing.T) {
	_, err := agent.New(agent.Config[deps, string]{
		Name: "a", ToolRetries: new(-1), MaxParallelCalls: -1, EndStrategy: "soon", Output: agent.Output{Mode: "magic"},
		Toolsets: []toolset.Toolset[deps]{
			nil,
			toolset.Of(
				toolset.Plain[deps]("bad name", "", func(context.Context, none) (string, error) { return "", nil }),
				toolset.Plain[deps]("chan", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil }),
				toolset.Plain[deps]("number", "", func(context.Context, int) (string, error) { return "", nil }),
				toolset.Plain[deps, none, string]("nil", "", nil),
				toolset.Raw[deps]("raw", "", []byte("{"), nil),
				nil,
			),
		},
	})
	for _, want := range []string{
		"agent: new a: ", "ToolRetries is -1, must not be negative", "MaxParallelCalls is -1, must not be negative", `unknown end strategy "soon"`, `unknown output mode "magic"`,
		"Config: Toolsets[0] is nil", `tool name "bad name": invalid character " "`, `tool "chan": arguments:`, `tool "number": arguments have type int, must be a struct`,
		`tool "nil": function is nil`, `tool "raw": schema is not valid JSON`, "tool 5 is nil",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "%!")
	require.Greater(t, strings.Count(err.Error(), "\n"), 5)
}

func TestNoModelIsAnError(t *testing.T) {
	_, err := newAgent(t, cfg{}).Run(context.Background(), deps{}, "go")
	require.ErrorIs(t, err, agent.ErrNoModel)
	res, err := newAgent(t, cfg{}).Run(context.Background(), deps{}, "go", agent.WithModel(modeltest.Script(modeltest.SayText("ok"))))
	require.NoError(t, err)
	require.Equal(t, "ok", res.Output)
}

func TestModelErrorKeepsTheHistory(t *testing.T) {
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(add("1", 1, 2)), modeltest.Fail(&model.APIError{Provider: "p", Status: 500, Err: errBoom})}, addTool())
	var api *model.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, agent.StageModel, err.Stage)
	require.Equal(t, "request\n  tool_return 1 add: 3\n", last(err.Messages))
	require.Equal(t, 2, err.Usage.Requests)
}

func TestModelThatGivesNothingIsAnError(t *testing.T) {
	_, err, _ := run(t, cfg{}, []modeltest.Step{func(context.Context, *model.Request) (*model.Message, error) { return nil, nil }})
	require.ErrorContains(t, err, "neither a response nor an error")
}

func TestCallsWithoutIDsGetThem(t *testing.T) {
	res, _, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("", "hi"), call("x", "hi"), call("x", "hi"), call("", "hi")), modeltest.SayText("ok")}, says("hi", "hi"))
	require.Equal(t, "request\n  tool_return call_1_0 hi: hi\n  tool_return x hi: hi\n  tool_return x_2 hi: hi\n  tool_return call_1_3 hi: hi\n", dump(res.Messages[2:3]))
}

func TestRawToolGetsWhatTheModelWrote(t *testing.T) {
	var got []string
	raw := toolset.Raw("raw", "", []byte(`{"type":"object"}`), func(_ context.Context, _ *toolset.RunContext[deps], args json.RawMessage) (toolset.Result, error) {
		got = append(got, string(args))
		return toolset.Result{Text: "ok"}, nil
	}, toolset.Sequential())
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "raw", `{"n": 9007199254740993}`), model.ToolCall("2", "raw", ``)), modeltest.Say(model.ToolCall("3", "raw", `{`)), modeltest.SayText("ok")}, raw)
	require.Subset(t, got, []string{`{"n": 9007199254740993}`, `{}`})
	require.Equal(t, "request\n  retry 3 raw: the arguments are not valid JSON\n", last(script.Requests()[2].Messages))
}

func TestDepsReachTheTool(t *testing.T) {
	script := modeltest.Script(modeltest.Say(add("1", 1, 2)), modeltest.SayText("ok"))
	_, err := newAgent(t, cfg{Model: script}, addTool()).Run(context.Background(), deps{base: 100}, "go")
	require.NoError(t, err)
	require.Contains(t, last(script.Requests()[1].Messages), ": 103")
}

func TestRunContextDescribesTheRun(t *testing.T) {
	var seen []toolset.RunContext[deps]
	look := tool("look", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		seen = append(seen, *run)
		return "", nil
	})
	script := modeltest.Script(modeltest.Say(call("7", "look")), modeltest.SayText("ok"))
	res, err := newAgent(t, cfg{Model: script}, look).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, res.RunID, seen[0].RunID)
	require.Equal(t, res.ConversationID, seen[0].ConversationID)
	require.Equal(t, 1, seen[0].Step)
	require.Equal(t, toolset.Call{ID: "7", Tool: "look", Args: model.RawArgs("{}"), MaxRetries: 1}, seen[0].Call)
	require.Equal(t, "request\n  user: go\n", dump(seen[0].Messages), "the history up to the step's request")
}
