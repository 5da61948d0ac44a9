// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type removeArgs struct {
	Path string `json:"path" validate:"required"`
}

// removing is a tool that needs approval for everything but temporary files, and a list of what it removed.
func removing() (*toolset.Tool[deps], *[]string) {
	var removed []string
	t := toolset.Func("remove", "Remove a file.", func(_ context.Context, run *toolset.RunContext[deps], in removeArgs) (string, error) {
		removed = append(removed, fmt.Sprintf("%s approved=%v", in.Path, run.Call.Approved))
		return "removed " + in.Path, nil
	})
	t.Approval = func(_ context.Context, run *toolset.RunContext[deps], args any) (*toolset.Approval, error) {
		path := args.(*removeArgs).Path
		if path == "tmp" {
			return nil, nil
		}
		return &toolset.Approval{Reason: run.Call.Tool + " cannot be undone", Scope: path}, nil
	}
	return t, &removed
}

func remove(id, path string) model.Part {
	return model.ToolCall(id, "remove", fmt.Sprintf(`{"path":%q}`, path))
}

func pendingOf(t *testing.T, err error) (*agent.PendingError, *agent.RunError) {
	t.Helper()
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	return pending, asRunError(t, err)
}

func TestCallThatNeedsApprovalEndsTheRunPending(t *testing.T) {
	tool, removed := removing()
	script := modeltest.Script(modeltest.Say(remove("3", "tmp"), call("2", "hi"), remove("1", "a"), remove("4", ""), call("5", "hi"), remove("6", "tmp")))
	s := newAgent(t, cfg{Model: script}, tool, says("hi", "hello")).Stream(context.Background(), deps{}, "go")
	var events []agent.PendingCall
	for e := range s.Events() {
		if e.Kind == agent.EventPending {
			events = append(events, e.Value.(agent.PendingCall))
		}
	}
	_, err := s.Result()
	pending, runErr := pendingOf(t, err)
	require.Equal(t, []agent.PendingCall{{ID: "1", Tool: "remove", Args: json.RawMessage(`{"path":"a"}`), Approval: &toolset.Approval{Reason: "remove cannot be undone", Scope: "a"}}}, pending.Calls)
	require.Equal(t, pending.Calls, events)
	require.EqualError(t, err, `agent: tool: waiting for approval of "remove" (call 1)`)
	require.Equal(t, []string{"tmp approved=false"}, *removed, "what comes before it runs first, and nothing behind it")
	require.Equal(t, "request\n  tool_return 3 remove: removed tmp\n  tool_return 2 hi: hello\n  retry 4 remove: path: must not be empty\n", last(runErr.Messages),
		"arguments are validated before anything is deferred")
	require.True(t, runErr.Messages[2].Pending)
}

// stored takes pending calls and history through JSON, as a program would that resumes in another process.
func stored(t *testing.T, pending *agent.PendingError, runErr *agent.RunError) ([]agent.PendingCall, []*model.Message) {
	t.Helper()
	data, err := json.Marshal(struct {
		Calls    []agent.PendingCall
		Messages []*model.Message
	}{pending.Calls, runErr.Messages})
	require.NoError(t, err)
	var back struct {
		Calls    []agent.PendingCall
		Messages []*model.Message
	}
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, pending.Calls, back.Calls)
	return back.Calls, back.Messages
}

func TestPendingRunIsResumedWithDecisionsAndResults(t *testing.T) {
	tool, removed := removing()
	external := &toolset.Tool[deps]{Def: model.ToolDef{Name: "ask", Schema: json.RawMessage(`{"type":"object"}`)}, Options: toolset.Options{External: true}}
	tools := []*toolset.Tool[deps]{tool, says("hi", "hello"), external}
	steps := []modeltest.Step{modeltest.Say(call("2", "hi"), call("5", "ask"), remove("1", "a"), remove("3", "b"), remove("4", "c"), remove("6", "d"), remove("7", "e"), call("8", "hi"))}
	_, runErr, _ := run(t, cfg{}, steps, tools...)
	pending, runErr := pendingOf(t, runErr)
	require.Len(t, pending.Calls, 6)
	require.Nil(t, pending.Calls[0].Approval, "a result is wanted")
	require.Contains(t, pending.Error(), `the result of "ask" (call 5)`)
	_, history := stored(t, pending, runErr)

	data := []byte(`{
		"decisions": {
			"1": {"verdict": "allow"},
			"3": {"verdict": "allow", "args": {"path": "instead"}},
			"4": {"verdict": "deny", "reason": "it is needed"},
			"6": {"verdict": "deny"},
			"7": {"verdict": "allow", "args": {"path": "e2"}}
		},
		"results": {"5": {"text": "forty-two"}}
	}`)
	var results agent.DeferredResults
	require.NoError(t, json.Unmarshal(data, &results))
	before := dump(history)
	res, failed, script := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("done")}, "", []agent.RunOption{agent.WithHistory(history), agent.WithResults(results)}, tools...)
	require.Nil(t, failed)
	require.Equal(t, "done", res.Output)
	require.Equal(t, []string{"a approved=true", "instead approved=true", "e2 approved=true"}, (*removed)[:3])
	changed := "The arguments of this call were changed before it ran, to: {\"path\": %q}\n\n"
	require.Equal(t, "request\n  tool_return 2 hi: hello\n  tool_return 5 ask: forty-two\n  tool_return 1 remove: removed a\n"+
		"  tool_return 3 remove: "+fmt.Sprintf(changed, "instead")+"removed instead\n"+
		"  tool_return 4 remove denied: it is needed\n  tool_return 6 remove denied: The call was not permitted.\n"+
		"  tool_return 7 remove: "+fmt.Sprintf(changed, "e2")+"removed e2\n  tool_return 8 hi: hello\n", last(script.Requests()[0].Messages), "in emission order")
	require.Equal(t, before, dump(history), "the history that was passed in is not changed")
	requireAnswered(t, res.Messages)
}

func TestResumeNeedsAnAnswerForEveryPendingCall(t *testing.T) {
	tool, removed := removing()
	_, runErr, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("3", "hi"), remove("1", "a"), remove("2", "b"), call("4", "hi"))}, tool, says("hi", "hello"))
	for name, c := range map[string]struct {
		results agent.DeferredResults
		want    string
	}{
		"missing":          {agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow()}}, `call "2" of "remove" has none`},
		"none":             {agent.DeferredResults{}, `call "1" of "remove" has none`},
		"unknown":          {agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow(), "2": toolset.Allow(), "9": toolset.Allow()}}, `there is no pending call "9"`},
		"already executed": {agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow(), "2": toolset.Allow(), "3": toolset.Allow()}}, `call "3" has been executed already`},
		"not pending":      {agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow(), "2": toolset.Allow(), "4": toolset.Allow()}}, `call "4" is not pending`},
		"not JSON":         {agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.AllowWith(json.RawMessage(`{`)), "2": toolset.Allow()}}, `the arguments are not valid JSON`},
		"twice":            {agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow()}, Results: map[string]toolset.Result{"1": {}}}, `call "1": it has a decision and a result`},
		"not a verdict":    {agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": {}}}, `verdict is ""`},
		"deferred again":   {agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Defer()}}, `call "1": it is deferred again`},
	} {
		t.Run(name, func(t *testing.T) {
			*removed = nil
			_, failed, script := runWith(t, cfg{}, nil, "", []agent.RunOption{agent.WithHistory(runErr.Messages), agent.WithResults(c.results)}, tool, says("hi", "hello"))
			require.ErrorIs(t, failed, agent.ErrResults)
			require.ErrorContains(t, failed, c.want)
			require.Empty(t, *removed, "nothing has been run")
			require.Empty(t, script.Requests())
			require.Equal(t, dump(runErr.Messages), dump(failed.Messages), "the history is as it was")
			require.True(t, failed.Messages[2].Pending)
		})
	}
}

func TestExternalCallCannotBeAllowedToRun(t *testing.T) {
	external := &toolset.Tool[deps]{Def: model.ToolDef{Name: "ask", Schema: json.RawMessage(`{"type":"object"}`)}, Options: toolset.Options{External: true}}
	_, runErr, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "ask"))}, external)
	_, failed, _ := runWith(t, cfg{}, nil, "", []agent.RunOption{agent.WithHistory(runErr.Messages), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow()}})}, external)
	require.ErrorContains(t, failed, "needs a result, it cannot be run here")
}

func TestResultsWithoutPendingCallsAreAnError(t *testing.T) {
	results := agent.WithResults(agent.DeferredResults{Results: map[string]toolset.Result{"1": {}}})
	for name, opts := range map[string][]agent.RunOption{
		"no history":      {results},
		"nothing pending": {results, agent.WithHistory([]*model.Message{model.UserText("x")})},
	} {
		_, failed, _ := runWith(t, cfg{}, nil, "", opts)
		require.ErrorIs(t, failed, agent.ErrResults, name)
	}
}

func TestPendingFrontierIsNeverRepairedAway(t *testing.T) {
	tool, _ := removing()
	steps := []modeltest.Step{modeltest.Say(call("2", "hi"), remove("1", "a"))}
	_, first, _ := run(t, cfg{}, steps, tool, says("hi", "hello"))
	_, again, script := runWith(t, cfg{}, nil, "", []agent.RunOption{agent.WithHistory(first.Messages)}, tool, says("hi", "never called again"))
	pending, _ := pendingOf(t, again)
	require.Len(t, pending.Calls, 1)
	require.Equal(t, dump(first.Messages), dump(again.Messages))
	require.Empty(t, script.Requests())
}

func TestToolMayAskForApprovalItself(t *testing.T) {
	careful := tool("careful", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		if !run.Call.Approved {
			return "", fmt.Errorf("wrapped: %w", toolset.ApprovalRequired(toolset.Approval{Reason: "sure?"}))
		}
		return "did it", nil
	})
	_, runErr, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "careful"))}, careful)
	pending, _ := pendingOf(t, runErr)
	require.Equal(t, "sure?", pending.Calls[0].Approval.Reason)
	res, _, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("ok")}, "", []agent.RunOption{
		agent.WithHistory(runErr.Messages), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow()}}),
	}, careful)
	require.Equal(t, "request\n  tool_return 1 careful: did it\n", dump(res.Messages[2:3]))

	greedy := fails("greedy", toolset.ApprovalRequired(toolset.Approval{}))
	_, failed, _ := run(t, cfg{Asker: allowAll}, []modeltest.Step{modeltest.Say(call("1", "greedy"))}, greedy)
	require.ErrorContains(t, failed, "asks for approval of a call that was already approved")
}

var allowAll = approves(func(toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() })

// approves is an asker that decides at once.
func approves(decide func(toolset.ApprovalRequest) toolset.Decision) toolset.Asker {
	return toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		return decide(r), nil
	}}
}

func TestToolMayDeferItsResult(t *testing.T) {
	slow := fails("slow", toolset.Deferred(json.RawMessage(`{"job":7}`)))
	_, runErr, _ := run(t, cfg{Asker: allowAll}, []modeltest.Step{modeltest.Say(call("1", "slow"))}, slow)
	pending, _ := pendingOf(t, runErr)
	require.Nil(t, pending.Calls[0].Approval)
	require.JSONEq(t, `{"job":7}`, string(pending.Calls[0].Meta))
	res, _, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("ok")}, "", []agent.RunOption{
		agent.WithHistory(runErr.Messages), agent.WithResults(agent.DeferredResults{Results: map[string]toolset.Result{"1": {Text: "built", Content: []model.Part{model.User("log")}}}}),
	}, slow)
	require.Equal(t, "request\n  tool_return 1 slow: built\n  user: log\n", dump(res.Messages[2:3]))
	require.Equal(t, 1, res.Usage.ToolCalls)
}

func TestAskerIsAskedWhileTheRunWaits(t *testing.T) {
	tool, removed := removing()
	var asked []string
	config := cfg{Asker: approves(func(r toolset.ApprovalRequest) toolset.Decision {
		asked = append(asked, fmt.Sprintf("%s %s %s %s", r.CallID(), r.Tool, r.Args, r.Approval.Scope))
		switch r.Approval.Scope {
		case "a":
			return toolset.Allow()
		case "b":
			return toolset.AllowWith(json.RawMessage(`{"path":"instead"}`))
		}
		return toolset.Deny("keep it")
	})}
	config.Model = modeltest.Script(modeltest.Say(remove("1", "a"), remove("2", "b"), remove("3", "tmp"), remove("4", "d")), modeltest.SayText("ok"))
	res, err := newAgent(t, config, tool).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, []string{`1 remove {"path":"a"} a`, `2 remove {"path":"b"} b`, `4 remove {"path":"d"} d`}, asked)
	require.Equal(t, []string{"a approved=true", "instead approved=true", "tmp approved=false"}, *removed, "each at its own place")
	require.Equal(t, "request\n  tool_return 1 remove: removed a\n  tool_return 2 remove: The arguments of this call were changed before it ran, to: {\"path\":\"instead\"}\n\nremoved instead\n  tool_return 3 remove: removed tmp\n  tool_return 4 remove denied: keep it\n",
		dump(res.Messages[2:3]))
}

func TestAskerMayDeferAndFail(t *testing.T) {
	tool, _ := removing()
	steps := []modeltest.Step{modeltest.Say(remove("1", "a"))}
	approver := func(d toolset.Decision, err error) cfg {
		return cfg{Asker: toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return d, err }}}
	}
	_, runErr, _ := run(t, approver(toolset.Defer(), nil), steps, tool)
	pendingOf(t, runErr)
	_, runErr, _ = run(t, approver(toolset.Decision{}, errBoom), steps, tool)
	require.ErrorIs(t, runErr, errBoom)
	require.Equal(t, agent.StageApproval, runErr.Stage)
	require.Equal(t, "request interrupted\n", last(runErr.Messages))
	_, runErr, _ = run(t, approver(toolset.Decision{Verdict: "maybe"}, nil), steps, tool)
	require.ErrorContains(t, runErr, `verdict is "maybe"`)
}

func TestApprovalPredicateMayFailAndPanic(t *testing.T) {
	tool, _ := removing()
	tool.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) { return nil, errBoom }
	_, runErr, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(remove("1", "a"))}, tool)
	require.ErrorIs(t, runErr, errBoom)
	require.Equal(t, "remove", runErr.Tool)
	tool.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) { panic("ouch") }
	_, runErr, _ = run(t, cfg{}, []modeltest.Step{modeltest.Say(remove("1", "a"))}, tool)
	var p *agent.PanicError
	require.ErrorAs(t, runErr, &p)
}

func TestValidOutputSuppressesDeferredCalls(t *testing.T) {
	for _, strategy := range []agent.EndStrategy{agent.EndGraceful, agent.EndEarly, agent.EndExhaustive} {
		tool, removed := removing()
		res, failed, _ := run(t, cityCfg{EndStrategy: strategy}, []modeltest.Step{modeltest.Say(remove("1", "a"), final("2", paris), remove("3", "b"))}, tool)
		require.Nil(t, failed, strategy)
		require.Equal(t, "Paris", res.Output.City)
		require.Empty(t, *removed)
		require.Equal(t, model.OutcomeSkipped, res.Messages[2].Parts[0].Outcome, strategy)
		requireAnswered(t, res.Messages)
	}
}

func TestRetryAndPendingCallsOfOneStepAreBothKept(t *testing.T) {
	tool, _ := removing()
	steps := []modeltest.Step{modeltest.Say(add("1", 1, 200), remove("2", "a"))}
	_, runErr, _ := run(t, cfg{}, steps, tool, addTool())
	opts := []agent.RunOption{agent.WithHistory(runErr.Messages), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"2": toolset.Deny("no")}})}
	res, failed, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("ok")}, "", opts, tool, addTool())
	require.Nil(t, failed, "the retry is counted once")
	require.Equal(t, "request\n  retry 1 add: y: must be at most 100, got 200\n  tool_return 2 remove denied: no\n", dump(res.Messages[2:3]))
	_, failed, _ = runWith(t, cfg{}, []modeltest.Step{modeltest.Say(add("3", 1, 200))}, "", opts, tool, addTool())
	var budget *agent.BudgetError
	require.ErrorAs(t, failed, &budget)
}

func TestToolWithoutDecodeGetsRawMessages(t *testing.T) {
	raw := &toolset.Tool[deps]{Def: model.ToolDef{Name: "raw", Schema: json.RawMessage(`{"type":"object"}`)}, Call: func(_ context.Context, _ *toolset.RunContext[deps], args any) (toolset.Result, error) {
		return toolset.Result{Text: string(args.(json.RawMessage))}, nil
	}}
	res, _, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "raw", `{"a": 1}`)), modeltest.SayText("ok")}, raw)
	require.Equal(t, `{"a": 1}`, res.Messages[2].Parts[0].Text)
}
