// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// repairable are arguments of the tool "add" that are not JSON and can only be one document.
var repairable = map[string]string{
	`{"x":1,"y":2,}`:                    `{"x":1,"y":2}`,
	"{\"x\":1,\"y\":2\n":                "{\"x\":1,\"y\":2}",
	"```json\n{\"x\":1,\"y\":2}\n```":   `{"x":1,"y":2}`,
	"```json\n{\"x\":1,\"y\":2,}\n```":  `{"x":1,"y":2}`,
	"```json\n{\"x\": 1, \"y\": 2\n```": `{"x": 1, "y": 2}`,
}

// eventsOf runs an agent and returns its events of one kind.
func eventsOf[O any](t *testing.T, a *agent.Agent[deps, O], kind agent.EventKind) []agent.Event {
	t.Helper()
	var events []agent.Event
	for e := range a.Stream(context.Background(), deps{}, "go").Events() {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

func TestBrokenArgumentsAreRepaired(t *testing.T) {
	for written, want := range repairable {
		steps := []modeltest.Step{modeltest.Say(model.ToolCall("1", "add", written)), modeltest.SayText("ok")}
		res, _, script := run(t, cfg{}, steps, addTool())
		require.Equal(t, written, string(res.Messages[1].Parts[0].Args), "the history keeps what the model wrote")
		require.Equal(t, "request\n  tool_return 1 add: 3\n", last(script.Requests()[1].Messages))

		calls := eventsOf(t, newAgent(t, cfg{Model: modeltest.Script(steps...)}, addTool()), agent.EventToolCall)
		require.True(t, calls[0].Valid)
		require.Equal(t, written, string(calls[0].Args))
		require.Equal(t, want, string(calls[0].Repaired))
	}
}

func TestValidArgumentsAreNotMarkedAsRepaired(t *testing.T) {
	for _, args := range []string{`{"x":1,"y":2}`, " {\"x\":1,\n\"y\":2} "} {
		steps := []modeltest.Step{modeltest.Say(model.ToolCall("1", "add", args)), modeltest.SayText("ok")}
		calls := eventsOf(t, newAgent(t, cfg{Model: modeltest.Script(steps...)}, addTool()), agent.EventToolCall)
		require.Nil(t, calls[0].Repaired)
	}
	steps := []modeltest.Step{modeltest.Say(model.ToolCall("1", "hi", "")), modeltest.SayText("ok")}
	require.Nil(t, eventsOf(t, newAgent(t, cfg{Model: modeltest.Script(steps...)}, says("hi", "")), agent.EventToolCall)[0].Repaired)
}

func TestRepairCanBeSwitchedOff(t *testing.T) {
	for written := range repairable {
		steps := []modeltest.Step{modeltest.Say(model.ToolCall("1", "add", written)), modeltest.SayText("ok")}
		_, _, script := run(t, cfg{NoRepair: true}, steps, addTool())
		require.Regexp(t, "retry 1 add: (invalid JSON|unexpected end of JSON)", last(script.Requests()[1].Messages))
		calls := eventsOf(t, newAgent(t, cfg{NoRepair: true, Model: modeltest.Script(steps...)}, addTool()), agent.EventToolCall)
		require.False(t, calls[0].Valid)
		require.Nil(t, calls[0].Repaired)
	}
	_, err, _ := run(t, cityCfg{NoRepair: true, OutputRetries: new(0)}, []modeltest.Step{modeltest.Say(final("1", paris[:len(paris)-1]+",}"))})
	require.ErrorContains(t, err, "invalid JSON")
	text := cityCfg{NoRepair: true, OutputRetries: new(0), Output: agent.Output{Mode: agent.OutputPrompted}}
	_, err, _ = run(t, text, []modeltest.Step{modeltest.SayText(paris[:len(paris)-1] + ",}")})
	require.ErrorContains(t, err, "invalid JSON")
	res, _, _ := run(t, text, []modeltest.Step{modeltest.SayText("```json\n" + paris + "\n```")})
	require.Equal(t, "Paris", res.Output.City, "a fence in text is no repair")
}

func TestAmbiguousArgumentsAreNotRepaired(t *testing.T) {
	type edit struct {
		Path  string `json:"path"`
		Force bool   `json:"force,omitempty"`
	}
	type edits struct {
		Edit  edit `json:"edit"`
		Force bool `json:"force,omitempty"`
	}
	apply := toolset.Plain[deps]("apply", "", func(context.Context, edits) (string, error) { return "applied", nil })
	raw := toolset.Raw("raw", "", json.RawMessage(`{"type":"object"}`), func(context.Context, *toolset.RunContext[deps], json.RawMessage) (toolset.Result, error) {
		return toolset.Result{Text: "applied"}, nil
	})
	const two = `{"edit":{"path":"a","force":true}`
	for _, call := range []model.Part{model.ToolCall("1", "apply", two), model.ToolCall("1", "raw", two), add("1", 1, 2)} {
		if call.Tool == "add" {
			call.Args = model.RawArgs(`{"x":1,"y":2`) // 2, or the beginning of 20
		}
		_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(call), modeltest.SayText("ok")}, apply, raw, addTool())
		require.Contains(t, last(script.Requests()[1].Messages), "retry 1 "+call.Tool)
	}
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "apply", `{"edit":{"path":"a"}`)), modeltest.SayText("ok")}, apply)
	require.Contains(t, last(script.Requests()[1].Messages), "tool_return 1 apply: applied", "one reading")
}

func TestInvalidArgumentsAreReportedAsTheyWereWritten(t *testing.T) {
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "add", `{"x":1,"y":200,}`)), modeltest.SayText("ok")}, addTool())
	require.Contains(t, last(script.Requests()[1].Messages), "invalid JSON at byte 15")
}

func TestCutOffArgumentsAreNotRepaired(t *testing.T) {
	cut := func(context.Context, *model.Request) (*model.Message, error) {
		m := model.Response(model.ToolCall("1", "save", `{"name":"a"`))
		m.Finish = model.FinishLength
		return m, nil
	}
	save := toolset.Plain[deps]("save", "", func(context.Context, struct {
		Name  string   `json:"name"`
		Lines []string `json:"lines,omitempty"`
	}) (string, error) {
		t.Error("a call that was cut off ran")
		return "", nil
	})
	_, err, _ := run(t, cfg{}, []modeltest.Step{cut}, save)
	require.ErrorIs(t, err, agent.ErrIncompleteToolCall)

	for _, finish := range []model.FinishReason{model.FinishLength, model.FinishContentFilter, model.FinishOther, ""} {
		step := func(context.Context, *model.Request) (*model.Message, error) {
			m := model.Response(model.Text(`{"city":"Rome","population":1 `))
			m.Finish = finish
			return m, nil
		}
		_, err, _ = run(t, cityCfg{Output: agent.Output{Mode: agent.OutputPrompted}, OutputRetries: new(0)}, []modeltest.Step{step})
		require.NotNil(t, err, "finish reason %q", finish)
	}
}

func TestBrokenOutputsAreRepaired(t *testing.T) {
	for _, written := range []string{`{"city":"Rome","population":1,}`, "{\"city\":\"Rome\",\"population\":1\n", "```json\n{\"city\":\"Rome\",\"population\":1,}\n```", "```json\n{\"city\":\"Rome\",\"population\":1\n```"} {
		res, _, _ := run(t, cityCfg{}, []modeltest.Step{modeltest.Say(final("1", written))})
		require.Equal(t, city{"Rome", 1}, res.Output)
		calls := eventsOf(t, newAgent(t, cityCfg{Model: modeltest.Script(modeltest.Say(final("1", written)))}), agent.EventToolCall)
		require.True(t, json.Valid(calls[0].Repaired))

		for _, mode := range []agent.OutputMode{agent.OutputPrompted, agent.OutputNative} {
			config := cityCfg{Output: agent.Output{Mode: mode}, Model: modeltest.Script(modeltest.SayText(written))}
			a := newAgent(t, config)
			outputs := eventsOf(t, a, agent.EventOutput)
			require.Len(t, outputs, 1, "%s: %s", mode, written)
			require.Equal(t, city{"Rome", 1}, outputs[0].Value)
			require.JSONEq(t, `{"city":"Rome","population":1}`, string(outputs[0].Repaired))
			require.Nil(t, outputs[0].Args)
		}
	}
	config := cityCfg{Output: agent.Output{Mode: agent.OutputPrompted}, Model: modeltest.Script(modeltest.SayText("```json\n" + paris + "\n```"))}
	require.Nil(t, eventsOf(t, newAgent(t, config), agent.EventOutput)[0].Repaired, "a fence in text is no repair")
}

func TestHooksAndAskersSeeRepairedArguments(t *testing.T) {
	const written, want = `{"x":1,"y":2,}`, `{"x":1,"y":2}`
	var hooked []string
	config := cfg{Hooks: []agent.Hooks[deps]{{
		Call: func(ctx context.Context, run *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
			hooked = append(hooked, string(run.Call.Args))
			return next(ctx, args)
		},
	}}, Asker: toolset.AskerFuncs{OnApprove: func(_ context.Context, call toolset.ApprovalRequest) (toolset.Decision, error) {
		hooked = append(hooked, string(call.Args))
		return toolset.Allow(), nil
	}}}
	config.Toolsets = []toolset.Toolset[deps]{toolset.Approved(toolset.Of(addTool()), nil)}
	run(t, config, []modeltest.Step{modeltest.Say(model.ToolCall("1", "add", written)), modeltest.SayText("ok")})
	require.Equal(t, slices.Repeat([]string{want, want}, 3), hooked, "approver and hook, of Run, of Stream, and elsewhere")
}

func TestPendingCallsHaveRepairedArguments(t *testing.T) {
	const written, want = `{"x":1,"y":2,}`, `{"x":1,"y":2}`
	tools := []toolset.Toolset[deps]{toolset.Approved(toolset.Of(addTool()), nil)}
	_, err, _ := run(t, cfg{Toolsets: tools}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "add", written))})
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	require.Equal(t, want, string(pending.Calls[0].Args))
	text, jsonErr := json.Marshal(pending.Calls)
	require.NoError(t, jsonErr, "pending calls can be stored")
	require.Contains(t, string(text), want)

	allow := agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow()}})
	res, _, _ := runWith(t, cfg{Toolsets: tools}, []modeltest.Step{modeltest.SayText("ok")}, "", []agent.RunOption{agent.WithHistory(err.Messages), allow})
	require.Equal(t, "request\n  tool_return 1 add: 3\n", dump(res.Messages[len(res.Messages)-2:len(res.Messages)-1]))
	require.Equal(t, written, string(res.Messages[1].Parts[0].Args))
}

func TestRepairCostsValidCallsNothing(t *testing.T) {
	measure := func(config cfg) float64 {
		config.Model = turns(1)
		a := newAgent(t, config, addTool())
		return testing.AllocsPerRun(100, func() {
			_, err := a.Run(context.Background(), deps{}, "go")
			require.NoError(t, err)
		})
	}
	exact, lenient := measure(cfg{NoRepair: true}), measure(cfg{})
	if !raceEnabled { // pools forget at random
		require.Equal(t, exact, lenient)
	}
}
