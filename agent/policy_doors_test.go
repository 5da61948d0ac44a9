// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestOptionsOfASingleRunAreNamed: engines refuse them by name, and take the others.
func TestOptionsOfASingleRunAreNamed(t *testing.T) {
	for _, c := range []struct {
		option agent.RunOption
		want   string
	}{
		{nil, ""}, {agent.WithHistory([]*model.Message{model.UserText("x")}), "WithHistory"}, {agent.WithHistory(nil), "WithHistory"}, {agent.WithParts(model.User("x")), "WithParts"}, {agent.WithResume(), "WithResume"},
		{agent.WithMetadata(map[string]string{"a": "b"}), "WithMetadata"}, {agent.WithRunID("r"), "WithRunID"}, {agent.WithRunID(""), "WithRunID"}, {agent.WithResults(agent.DeferredResults{}), "WithResults"},
		{agent.WithInbox(new(agent.Inbox)), "WithInbox"}, {agent.WithInbox(nil), "WithInbox"}, {agent.WithMeter(new(toolset.Meter)), "WithMeter"}, {agent.WithMeter(nil), "WithMeter"}, {agent.WithJournal(new(journal.Memory)), "WithJournal"}, {agent.WithJournal(nil), "WithEngine"},
		{agent.WithEngine(nil), "WithEngine"}, {agent.WithEngine(func(context.Context, engine.Worker) (engine.Engine, error) { return nil, nil }), "WithEngine"}, {agent.WithInput(&agent.Input{Parts: []model.Part{model.User("x")}}), "WithInput"}, {agent.WithInput(nil), "WithInput"},
		{agent.Within(&toolset.RunContext[deps]{}), "Within"},
		{agent.WithModel(modeltest.Script()), ""}, {agent.WithSettings(model.Settings{}), ""}, {agent.WithLimits(agent.Limits{}), ""}, {agent.WithToolChoice(model.ToolChoice{}), ""}, {agent.WithEndings(agent.Endings{}), ""}, {agent.WithInstructions("x"), ""},
		{agent.WithToolRetries(1), ""}, {agent.WithAsker(nil), ""}, {agent.WithPolicies(agent.NewPolicy(agent.PolicyConfig[any]{Name: "p"})), ""},
	} {
		require.Equal(t, c.want, agent.SingleRunOption(c.option), "%T", c.option)
	}
}

// door is a policy with one door, which refuses with an error.
func door(name string, at string, err error) *agent.Policy {
	type R = *toolset.RunContext[any]
	c := agent.PolicyConfig[any]{Name: name}
	switch at {
	case "run":
		c.Doors.Run = func(context.Context, R, agent.RunFunc) error { return err }
	case "input":
		c.Doors.Input = func(context.Context, R, []model.Part) ([]model.Part, error) { return nil, err }
	case "request":
		c.Doors.Request = func(context.Context, R, *model.Request, agent.RequestFunc) (*model.Message, error) { return nil, err }
	case "approval":
		c.Doors.Approval = func(context.Context, R, *toolset.Approval) (*toolset.Approval, error) { return nil, err }
	case "call":
		c.Doors.Call = func(context.Context, R, any, toolset.CallFunc) (toolset.Result, error) { return toolset.Result{}, err }
	case "output":
		c.Output = func(context.Context, R, any) (any, error) { return nil, err }
	}
	return agent.NewPolicy(c)
}

// TestPoliciesRefuseByName: at each door, the run's error names the policy and the stage, and events tell of it.
func TestPoliciesRefuseByName(t *testing.T) {
	asks := toolset.Approve(func(context.Context, *toolset.RunContext[deps], none) (*toolset.Approval, error) {
		return &toolset.Approval{}, nil
	})
	work := tool("work", func(context.Context, *toolset.RunContext[deps]) (string, error) { return "done", nil }, asks)
	config := func(p *agent.Policy) agent.Config[deps, string] {
		return agent.Config[deps, string]{Policies: []*agent.Policy{p}, Asker: toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Allow(), nil }}}
	}
	for at, stage := range map[string]engine.Stage{
		"run": engine.StagePrepare, "input": engine.StagePrepare, "request": engine.StageModel, "approval": engine.StageApproval, "call": engine.StageTool, "output": engine.StageOutput,
	} {
		script := modeltest.Script(modeltest.Say(call("1", "work")), modeltest.SayText("ok"))
		c := config(door("guard", at, errForbidden))
		c.Model = script
		a := newAgent(t, c, work)
		var told []engine.Refusal
		stream := a.Stream(t.Context(), deps{}, "go")
		for e := range stream.Events() {
			if r, is := e.Value.(engine.Refusal); is {
				told = append(told, r)
			}
		}
		_, err := stream.Result()
		var refused *agent.PolicyError
		require.ErrorAs(t, err, &refused, at)
		require.Equal(t, "guard", refused.Policy)
		require.ErrorIs(t, err, errForbidden)
		require.EqualError(t, refused, `policy "guard": forbidden`)
		if at != "run" && at != "input" { // which are over before the run has events
			require.Len(t, told, 1, at)
			require.Equal(t, "guard", told[0].Policy)
			require.Equal(t, stage, told[0].Stage, at)
		}
	}
	// A denial answers the call, with the policy as the one that has decided; a retry is the model's.
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"denied": {toolset.Denied("not you"), "not you"}, "failed": {toolset.Failed("broken"), "broken"}, "retry": {toolset.Retry("again"), "again"},
	} {
		res, runErr, _ := run(t, config(door("guard", "call", c.err)), []modeltest.Step{modeltest.Say(call("1", "work")), modeltest.SayText("ok")}, work)
		require.Nil(t, runErr, name)
		part := res.Messages[2].Parts[0]
		require.Equal(t, c.text, part.Text)
		if name == "denied" {
			require.Equal(t, model.OutcomeDenied, part.Outcome)
			require.Equal(t, `policy "guard"`, part.Decision.By)
		}
	}
	require.EqualError(t, &agent.PolicyError{Policy: "spend", Err: errors.New("spend: no money")}, "spend: no money", "what names the policy does not name it again")
	require.EqualError(t, &agent.PolicyError{Policy: "spend", Err: errors.New("spendthrift")}, `policy "spend": spendthrift`)
}

// TestPoliciesThatAreWrong: what is wrong with each.
func TestPoliciesThatAreWrong(t *testing.T) {
	for want, p := range map[string]*agent.Policy{
		"a policy is nil or empty: make it with NewPolicy": nil, "a policy has no name": agent.NewPolicy(agent.PolicyConfig[any]{}), "check fails": agent.NewPolicy(agent.PolicyConfig[any]{Name: "p", Check: func() error { return errors.New("check fails") }}),
		`policy "p" is for dependencies of type int, the run has agent_test.deps`: agent.NewPolicy(agent.PolicyConfig[int]{Name: "p"}),
	} {
		_, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(), Policies: []*agent.Policy{p}})
		require.ErrorContains(t, err, want)
		a := newAgent(t, agent.Config[deps, string]{Model: modeltest.Script()})
		_, err = a.Run(t.Context(), deps{}, "go", agent.WithPolicies(p))
		require.ErrorContains(t, err, want)
	}
	_, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(), Policies: []*agent.Policy{new(agent.Policy)}})
	require.ErrorContains(t, err, "a policy is nil or empty: make it with NewPolicy")
	require.Equal(t, "p", agent.NewPolicy(agent.PolicyConfig[any]{Name: "p"}).Name())
}

// TestMadeResponsesAreChecked: those of hooks of the agent, which the doors have not seen, and no others; by the innermost policy first.
func TestMadeResponsesAreChecked(t *testing.T) {
	var checked []string
	made := func(name string, err error) *agent.Policy {
		return agent.NewPolicy(agent.PolicyConfig[deps]{Name: name, Made: func(_ context.Context, run *toolset.RunContext[deps], resp *model.Message) (*model.Message, error) {
			checked = append(checked, name+": "+resp.Text())
			return model.Response(model.Text(resp.Text() + " " + name)), err
		}})
	}
	hook := func(change string) agent.Hooks[deps] {
		return agent.Hooks[deps]{Request: func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			if change == "own" {
				return model.Response(model.Text("own")), nil
			}
			resp, err := next(ctx, req)
			if err == nil && change == "changed" {
				resp = model.Response(model.Text("changed"))
			}
			return resp, err
		}}
	}
	for change, want := range map[string][]string{"": nil, "own": {"in: own", "out: own in"}, "changed": {"in: changed", "out: changed in"}} {
		checked = nil
		a := newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(modeltest.SayText("said")), Hooks: []agent.Hooks[deps]{hook(change)}, Policies: []*agent.Policy{made("out", nil), agent.NewPolicy(agent.PolicyConfig[any]{Name: "none"}), made("in", nil)}})
		res, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, want, checked)
		if change == "" {
			require.Equal(t, "said", res.Output)
		} else {
			require.Equal(t, change+" in out", res.Output)
		}
	}
	_, runErr, _ := run(t, agent.Config[deps, string]{Hooks: []agent.Hooks[deps]{hook("own")}, Policies: []*agent.Policy{made("guard", errForbidden)}}, nil)
	require.ErrorContains(t, runErr, `policy "guard": forbidden`)
}

// TestAdaptedPoliciesGetTheirDependencies: every function of a policy of a capability for other dependencies.
func TestAdaptedPoliciesGetTheirDependencies(t *testing.T) {
	type narrow struct{ name string }
	var got []string
	note := func(what string, run *toolset.RunContext[narrow]) { got = append(got, what+" "+run.Deps.name) }
	hooks := agent.Hooks[narrow]{
		Run: func(ctx context.Context, run *toolset.RunContext[narrow], next agent.RunFunc) error {
			note("run", run)
			_, err := next(ctx)
			return err
		},
		Input: func(_ context.Context, run *toolset.RunContext[narrow], parts []model.Part) ([]model.Part, error) {
			note("input", run)
			return parts, nil
		},
		Request: func(ctx context.Context, run *toolset.RunContext[narrow], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			note("request", run)
			return next(ctx, req)
		},
		Approval: func(_ context.Context, run *toolset.RunContext[narrow], a *toolset.Approval) (*toolset.Approval, error) {
			note("approval", run)
			return a, nil
		},
		Call: func(ctx context.Context, run *toolset.RunContext[narrow], args any, next toolset.CallFunc) (toolset.Result, error) {
			note("call", run)
			return next(ctx, args)
		},
	}
	policy := agent.NewPolicy(agent.PolicyConfig[narrow]{
		Name: "p", Doors: hooks,
		Windows: func(run *toolset.RunContext[narrow]) []toolset.Budget { note("windows", run); return nil },
		Output: func(_ context.Context, run *toolset.RunContext[narrow], output any) (any, error) {
			note("output", run)
			return fmt.Sprint(output, "!"), nil
		},
	})
	asks := toolset.Approve(func(context.Context, *toolset.RunContext[deps], none) (*toolset.Approval, error) {
		return &toolset.Approval{}, nil
	})
	work := tool("work", func(context.Context, *toolset.RunContext[deps]) (string, error) { return "done", nil }, asks)
	allow := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Allow(), nil }}
	for _, c := range []agent.Capability[narrow]{{Name: "c", Policies: []*agent.Policy{policy}}, {Name: "c", Hooks: []agent.Hooks[narrow]{hooks}}} {
		got = nil
		adapted := agent.Adapt(agent.Adapt(c, func(int) narrow { return narrow{"inner"} }), func(deps) int { return 3 })
		res, runErr, _ := run(t, agent.Config[deps, string]{Capabilities: []agent.Capability[deps]{adapted}, Asker: allow}, []modeltest.Step{modeltest.Say(call("1", "work")), modeltest.SayText("ok")}, work)
		require.Nil(t, runErr)
		for _, what := range []string{"run", "input", "request", "approval", "call"} {
			require.Contains(t, got, what+" inner")
		}
		if c.Policies != nil {
			require.Contains(t, got, "windows inner")
			require.Contains(t, got, "output inner")
			require.Equal(t, "ok!", res.Output)
		}
	}
}

// TestHeldEventsAndArguments: a Call hook sees a result before the user sees what the tool has emitted.
func TestHeldEventsAndArguments(t *testing.T) {
	emits := tool("emits", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		run.Emit("one")
		run.Emit("two")
		return "done", nil
	})
	hold := func(before, after string, pass bool) agent.Hooks[deps] {
		return agent.Hooks[deps]{Call: func(ctx context.Context, run *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
			if before != "" {
				run.Emit(before)
			}
			release := agent.HoldEvents(run)
			res, err := next(ctx, args)
			release(pass)
			if after != "" {
				run.Emit(after)
			}
			again, ok := agent.Arguments(run)
			require.True(t, ok)
			require.Equal(t, args, again)
			return res, err
		}}
	}
	for name, c := range map[string]struct {
		hooks []agent.Hooks[deps]
		want  []any
	}{
		"passed": {[]agent.Hooks[deps]{hold("", "", true)}, []any{"one", "two"}}, "dropped": {[]agent.Hooks[deps]{hold("before", "", false)}, []any{"before"}},
		"both pass": {[]agent.Hooks[deps]{hold("a", "", true), hold("b", "c", true)}, []any{"a", "b", "one", "two", "c"}}, "the inner one drops": {[]agent.Hooks[deps]{hold("a", "", true), hold("b", "c", false)}, []any{"a", "b", "c"}},
		"the outer one drops": {[]agent.Hooks[deps]{hold("a", "", false), hold("b", "c", true)}, []any{"a"}},
	} {
		a := newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(modeltest.Say(call("1", "emits")), modeltest.SayText("ok")), Hooks: c.hooks}, emits)
		var got []any
		stream := a.Stream(t.Context(), deps{}, "go")
		for e := range stream.Events() {
			if e.Kind == engine.EventCustom {
				got = append(got, e.Value)
			}
		}
		_, err := stream.Result()
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	outside := new(toolset.RunContext[deps])
	agent.HoldEvents(outside)(true)
	_, ok := agent.Arguments(outside)
	require.False(t, ok)
	require.False(t, agent.IsOutput(outside, "final_result"))
	require.True(t, agent.IsCalled(outside, "x"))
}

// TestInboxesKeepWhatNobodyRead: in the order in which it was sent, those for the end last.
func TestInboxesKeepWhatNobodyRead(t *testing.T) {
	var b agent.Inbox
	b.SendAtEnd(model.User("end"))
	parts := []model.Part{model.User("a"), model.User("b")}
	b.Send(parts...)
	parts[0] = model.User("changed later")
	b.Send(model.User("c"))
	require.Equal(t, [][]model.Part{{model.User("a"), model.User("b")}, {model.User("c")}, {model.User("end")}}, b.Left())
	require.Empty(t, b.Left())

	refuse := false
	hook := agent.Hooks[deps]{Input: func(_ context.Context, _ *toolset.RunContext[deps], parts []model.Part) ([]model.Part, error) {
		if refuse && parts[0].Text == "bad" {
			return nil, errForbidden
		}
		return parts, nil
	}}
	b.Send(model.User("good"))
	b.Send(model.User("bad"))
	b.Send(model.User("more"))
	refuse = true
	a := newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(modeltest.SayText("ok")), Hooks: []agent.Hooks[deps]{hook}})
	_, err := a.Run(t.Context(), deps{}, "go", agent.WithInbox(&b))
	require.ErrorIs(t, err, errForbidden)
	require.Equal(t, [][]model.Part{{model.User("good")}, {model.User("more")}}, b.Left(), "the others go back")
}
