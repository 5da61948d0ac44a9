// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

var errForbidden = errors.New("forbidden")

// seen counts what a policy has seen, by door, agent and content.
type seen map[string]int

// watcher is a policy that notes everything, replaces "secret" in responses and outputs, and refuses "bomb".
func watcher(name string, s seen) *agent.Policy {
	check := func(door, agentName, text string) (string, error) {
		s[door+" "+agentName+": "+text]++
		if strings.Contains(text, "bomb") {
			return "", errForbidden
		}
		return strings.ReplaceAll(text, "secret", "***"), nil
	}
	return agent.NewPolicy(agent.PolicyConfig[any]{
		Name: name,
		Doors: agent.Hooks[any]{
			Request: func(ctx context.Context, run *toolset.RunContext[any], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				hold := func(model.Sink) model.Sink { return func(model.Delta) error { return nil } }
				resp, err := next(agent.WithSink(ctx, hold), req)
				if err != nil {
					return nil, err
				}
				made := *resp
				made.Parts = append([]model.Part(nil), resp.Parts...)
				for i := range made.Parts {
					if p := &made.Parts[i]; p.Kind == model.PartText {
						if p.Text, err = check("response", run.Agent, p.Text); err != nil {
							return nil, err
						}
					}
				}
				return &made, nil
			},
			Call: func(ctx context.Context, run *toolset.RunContext[any], args any, next toolset.CallFunc) (toolset.Result, error) {
				if _, err := check("call", run.Agent, run.Call.Tool); err != nil {
					return toolset.Result{}, toolset.Denied("no")
				}
				res, err := next(ctx, args)
				if err != nil {
					return res, err
				}
				res.Text, err = check("result", run.Agent, res.Text)
				return res, err
			},
		},
		Output: func(_ context.Context, run *toolset.RunContext[any], output any) (any, error) {
			if text, ok := output.(string); ok {
				return check("output", run.Agent, text)
			}
			_, err := check("output", run.Agent, fmt.Sprint(output))
			return output, err
		},
	})
}

// asIn runs an agent plainly, with a journal, and on an engine in which everything is JSON.
func asIn(t *testing.T, test func(t *testing.T, opts ...agent.RunOption)) {
	for name, opts := range map[string][]agent.RunOption{
		"natively": nil, "with a journal": {agent.WithJournal(new(journal.Memory))}, "elsewhere": {onJSON(nil)},
	} {
		t.Run(name, func(t *testing.T) { test(t, opts...) })
	}
}

func TestPolicyHoldsForEverythingInsideTheRun(t *testing.T) {
	asIn(t, func(t *testing.T, opts ...agent.RunOption) {
		s := seen{}
		leaf := newAgent(t, agent.Config[deps, string]{
			Name: "leaf", Model: modeltest.Script(modeltest.Say(call("1", "look")), modeltest.SayText("a secret of leaf")),
		}, says("look", "a secret result"))
		middle := newAgent(t, agent.Config[deps, string]{
			Name: "middle", Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "leaf", `{"prompt":"go"}`)), modeltest.SayText("a secret of middle")),
		}, agent.AsTool("leaf", "", leaf, same))
		within := toolset.Func("within", "", func(ctx context.Context, run *toolset.RunContext[deps], _ none) (string, error) {
			res, err := newAgent(t, agent.Config[deps, string]{Name: "within", Model: modeltest.Script(modeltest.SayText("secret too"))}).Run(ctx, run.Deps, "go", agent.Within(run))
			if err != nil {
				return "", err
			}
			return res.Output, nil
		})
		script := modeltest.Script(modeltest.Say(model.ToolCall("1", "middle", `{"prompt":"go"}`), call("2", "within")), modeltest.SayText("a secret of outer"))
		outer := newAgent(t, agent.Config[deps, string]{Name: "outer", Model: script, Policies: []*agent.Policy{watcher("watch", s)}, MaxParallelCalls: 1},
			agent.AsTool("middle", "", middle, same), within)
		res, err := outer.Run(t.Context(), deps{}, "go", opts...)
		require.NoError(t, err)
		require.Equal(t, "a *** of outer", res.Output)
		require.Equal(t, seen{
			"call outer: middle": 1, "call middle: leaf": 1, "call leaf: look": 1, "result leaf: a secret result": 1,
			"response leaf: a secret of leaf": 1, "output leaf: a *** of leaf": 1, "result middle: a *** of leaf": 1,
			"response middle: a secret of middle": 1, "output middle: a *** of middle": 1, "result outer: a *** of middle": 1,
			"call outer: within": 1, "response within: secret too": 1, "output within: *** too": 1, "result outer: *** too": 1,
			"response outer: a secret of outer": 1, "output outer: a *** of outer": 1,
		}, s)
		require.NotContains(t, dump(script.Requests()[1].Messages), "secret")
	})
}

func TestInnerAgentsAddPoliciesAndRemoveNone(t *testing.T) {
	outside, inside := seen{}, seen{}
	inner := newAgent(t, agent.Config[deps, string]{
		Name: "inner", Model: modeltest.Script(modeltest.SayText("one"), modeltest.SayText("one")), Policies: []*agent.Policy{watcher("inside", inside)},
	})
	script := modeltest.Script(modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"go"}`)), modeltest.SayText("two"))
	outer := newAgent(t, agent.Config[deps, string]{Name: "outer", Model: script}, agent.AsTool("inner", "", inner, same))
	_, err := outer.Run(t.Context(), deps{}, "go", agent.WithPolicies(watcher("outside", outside)))
	require.NoError(t, err)
	require.Equal(t, 1, outside["response inner: one"])
	require.Equal(t, 1, inside["response inner: one"])
	require.Equal(t, 1, outside["response outer: two"])
	require.Zero(t, inside["response outer: two"])

	_, err = inner.Run(t.Context(), deps{}, "go") // the policies of one run are not those of the next
	require.NoError(t, err)
	require.Equal(t, 1, outside["response inner: one"])
	require.Equal(t, 2, inside["response inner: one"])
}

func TestHandOverPassesTheOuterOutputChecks(t *testing.T) {
	for _, text := range []string{"a secret", "a bomb"} {
		s := seen{}
		check := agent.NewPolicy(agent.PolicyConfig[deps]{Name: "outputs", Output: func(_ context.Context, run *toolset.RunContext[deps], output any) (any, error) {
			require.Equal(t, deps{7}, run.Deps)
			s[run.Agent]++
			if output == "a bomb" {
				return nil, errForbidden
			}
			return strings.ReplaceAll(output.(string), "secret", "***"), nil
		}})
		for _, streamed := range []bool{false, true} {
			clear(s)
			desk := newAgent(t, agent.Config[deps, string]{
				Name: "desk", Model: modeltest.Script(modeltest.Say(bill("1", "Pay."))), Policies: []*agent.Policy{watcher("words", seen{}), check},
				Alternatives: []agent.Alternative[deps, string]{textOutput(), billing(t, cfg{Model: modeltest.Script(modeltest.SayText(text))})},
			})
			var shown strings.Builder
			var res *agent.Result[string]
			var err error
			if streamed {
				stream := desk.Stream(t.Context(), deps{7}, "go")
				for e := range stream.Events() {
					fmt.Fprint(&shown, e.Text, e.Value, "\n")
				}
				res, err = stream.Result()
			} else {
				res, err = desk.Run(t.Context(), deps{7}, "go")
			}
			require.NotContains(t, shown.String(), "bomb")
			if text == "a bomb" {
				require.ErrorIs(t, err, errForbidden)
				require.NotContains(t, dump(asRunError(t, err).Messages), "bomb")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, "a ***", res.Output)
			require.NotContains(t, dump(res.Messages), "secret")
			require.Equal(t, seen{"billing": 1, "desk": 1}, s)
		}
	}
}

func TestPolicyThatIsInstalledTwiceWorksOnce(t *testing.T) {
	s := seen{}
	p := watcher("watch", s)
	bundle := agent.Capability[deps]{Name: "bundle", Policies: []*agent.Policy{p}}
	inner := newAgent(t, agent.Config[deps, string]{Name: "inner", Model: modeltest.Script(modeltest.SayText("one")), Capabilities: []agent.Capability[deps]{bundle}, Policies: []*agent.Policy{p, p}})
	script := modeltest.Script(modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"go"}`)), modeltest.SayText("two"))
	outer := newAgent(t, agent.Config[deps, string]{Name: "outer", Model: script, Capabilities: []agent.Capability[deps]{bundle}, Policies: []*agent.Policy{p}}, agent.AsTool("inner", "", inner, same))
	_, err := outer.Run(t.Context(), deps{}, "go", agent.WithPolicies(p), agent.WithPolicies(p))
	require.NoError(t, err)
	for what, n := range s {
		require.Equal(t, 1, n, what)
	}
	require.Contains(t, s, "response inner: one")
}

func TestTightestLimitHolds(t *testing.T) {
	policy := agent.NewPolicy(agent.PolicyConfig[any]{Name: "few", Limits: agent.Limits{Requests: 2, ToolCalls: agent.NoToolCalls}})
	for name, c := range map[string]struct {
		own      agent.Limits
		requests float64
	}{
		"none":      {agent.Limits{}, 2},
		"looser":    {agent.Limits{Requests: 9}, 2},
		"unlimited": {agent.Limits{Requests: agent.Unlimited}, 2},
		"tighter":   {agent.Limits{Requests: 1}, 1},
	} {
		script := modeltest.Script(modeltest.Say(), modeltest.Say(), modeltest.Say())
		a := newAgent(t, agent.Config[deps, string]{Model: script, Limits: c.own, OutputRetries: new(9), Policies: []*agent.Policy{policy}}, says("look", "x"))
		_, err := a.Run(t.Context(), deps{}, "go", agent.WithLimits(agent.Limits{}))
		var limit *agent.LimitError
		require.ErrorAs(t, err, &limit, name)
		require.Equal(t, toolset.LimitRequests, limit.Limit, name)
		require.Equal(t, c.requests, limit.Bound, name)

		a = newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(modeltest.Say(call("1", "look"))), Limits: c.own, Policies: []*agent.Policy{policy}}, says("look", "x"))
		_, err = a.Run(t.Context(), deps{}, "go")
		require.ErrorAs(t, err, &limit, name)
		require.Equal(t, toolset.LimitToolCalls, limit.Limit, name)
	}
}

// TestLimitsOfPoliciesNameThem wherever they are reached; one of the run around ends that, one of the inner agent is told to the outer model.
func TestLimitsOfPoliciesNameThem(t *testing.T) {
	few := func(l agent.Limits) []*agent.Policy {
		return []*agent.Policy{agent.NewPolicy(agent.PolicyConfig[any]{Name: "few", Limits: l})}
	}
	forms := map[toolset.LimitName]agent.Limits{
		toolset.LimitRequests: {Requests: 3}, toolset.LimitToolCalls: {ToolCalls: 2}, toolset.LimitInputTokens: {InputTokens: 35},
		toolset.LimitOutputTokens: {OutputTokens: 17}, toolset.LimitTotalTokens: {TotalTokens: 50}, toolset.LimitCost: {Cost: 0.00005},
	}
	asIn(t, func(t *testing.T, opts ...agent.RunOption) {
		for name, l := range forms {
			inner, _ := endless(t, agent.Limits{Requests: agent.Unlimited})
			a := newAgent(t, cfg{Model: asksOnce(), Policies: few(l), Prices: flat(1)}, agent.AsTool("ask", "", inner, narrow))
			s := a.Stream(t.Context(), deps{}, "go", opts...)
			var end error
			for e := range s.Events() {
				if e.Kind == agent.EventRunEnd {
					end = e.Err
				}
			}
			_, err := s.Result()
			for _, err := range []error{err, end} {
				var refused *agent.PolicyError
				require.ErrorAs(t, err, &refused, name)
				require.Equal(t, "few", refused.Policy, name)
				var limit *agent.LimitError
				require.ErrorAs(t, err, &limit, name)
				require.Equal(t, name, limit.Limit)
			}
		}
	})
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(call("i", "whoami")), nil
	})
	inner := expert(t, m, agent.Config[innerDeps, string]{Policies: few(agent.Limits{Requests: 2})})
	res, err := newAgent(t, cfg{Model: asksOnce()}, agent.AsTool("ask", "", inner, narrow)).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Contains(t, dump(res.Messages), `ask failed: policy "few": usage limit reached: 2 requests, limit 2`)

	answers := agent.Hooks[deps]{Request: func(context.Context, *toolset.RunContext[deps], *model.Request, agent.RequestFunc) (*model.Message, error) {
		return model.Response(call("1", "look")), nil
	}}
	_, err = newAgent(t, cfg{
		Model: modeltest.Script(), Hooks: []agent.Hooks[deps]{answers}, Policies: few(agent.Limits{Requests: 4}), Limits: agent.Limits{Requests: agent.Unlimited},
	}, says("look", "x")).Run(t.Context(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit, "steps without requests are bounded")
	require.InDelta(t, 4, limit.Bound, 0)
}

func TestPolicyThatWantsWholeOutputsOverridesEndings(t *testing.T) {
	whole := agent.NewPolicy(agent.PolicyConfig[any]{Name: "whole", Whole: true})
	cut := func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(model.Text("half an"))
		resp.Finish = model.FinishLength
		return resp, nil
	}
	for _, streamed := range []bool{false, true} {
		inner := newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(cut)})
		tool := toolset.Func("inner", "", func(ctx context.Context, run *toolset.RunContext[deps], _ none) (string, error) {
			_, err := inner.Run(ctx, deps{}, "go", agent.Within(run), agent.WithEndings(agent.Endings{Filtered: true}))
			return "", err
		})
		a := newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(modeltest.Say(call("1", "inner"))), Policies: []*agent.Policy{whole}}, tool)
		var err error
		if streamed {
			_, err = a.Stream(t.Context(), deps{}, "go").Result()
		} else {
			_, err = a.Run(t.Context(), deps{}, "go")
		}
		require.ErrorIs(t, err, agent.ErrTokenLimit)
	}
}

// layered denies what begins with a prefix, and otherwise asks next.
func layered(prefix string, next toolset.Asker) toolset.Asker {
	return toolset.AskerFuncs{OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		if strings.HasPrefix(r.Tool, prefix) {
			return toolset.Decision{Verdict: toolset.VerdictDeny, By: prefix}, nil
		}
		return next.Approve(ctx, r)
	}, OnAnswer: next.Answer}
}

func TestApprovalsOfPoliciesDecideFirst(t *testing.T) {
	approve := func(prefix string) *agent.Policy {
		return agent.NewPolicy(agent.PolicyConfig[any]{Name: prefix, Approvals: func(next toolset.Asker) toolset.Asker { return layered(prefix, next) }})
	}
	allow := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Decision{Verdict: toolset.VerdictAllow, By: "person"}, nil
	}}
	asIn(t, func(t *testing.T, opts ...agent.RunOption) {
		calls := modeltest.Say(call("1", "danger"), call("2", "risk"), call("3", "fine"))
		guarded := []*toolset.Tool[deps]{watched("danger"), watched("risk"), watched("fine")}
		script := modeltest.Script(calls, modeltest.SayText("ok"))
		inner := newAgent(t, agent.Config[deps, string]{Model: script, Asker: allow, Policies: []*agent.Policy{approve("ri")}}, guarded...)
		outer := newAgent(t, agent.Config[deps, string]{
			Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"go"}`)), modeltest.SayText("ok")), Policies: []*agent.Policy{approve("dan")},
		}, agent.AsTool("inner", "", inner, same))
		_, err := outer.Run(t.Context(), deps{}, "go", opts...)
		require.NoError(t, err)
		by := map[string]string{}
		for _, m := range script.Requests()[1].Messages {
			for _, p := range m.Parts {
				if p.Decision != nil {
					by[p.Tool] = p.Decision.By
				}
			}
		}
		require.Equal(t, map[string]string{"danger": "dan", "risk": "ri", "fine": "person"}, by)
	})
}

// A policy of an inner agent that allows everything allows nothing that a policy outside has denied, whoever the person is.
func TestApprovalsOfInnerPoliciesComeAfterThoseOutside(t *testing.T) {
	allow := func(by string) toolset.Asker {
		return toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Decision{Verdict: toolset.VerdictAllow, By: by}, nil
		}}
	}
	dan := agent.NewPolicy(agent.PolicyConfig[any]{Name: "dan", Approvals: func(next toolset.Asker) toolset.Asker { return layered("dan", next) }})
	all := agent.NewPolicy(agent.PolicyConfig[any]{Name: "all", Approvals: func(toolset.Asker) toolset.Asker { return allow("all") }})
	for _, person := range []toolset.Asker{nil, allow("person")} {
		asIn(t, func(t *testing.T, opts ...agent.RunOption) {
			script := modeltest.Script(modeltest.Say(call("1", "danger"), call("2", "fine")), modeltest.SayText("ok"))
			inner := newAgent(t, agent.Config[deps, string]{Model: script, Policies: []*agent.Policy{all}}, watched("danger"), watched("fine"))
			between := newAgent(t, agent.Config[deps, string]{
				Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"go"}`)), modeltest.SayText("ok")),
			}, agent.AsTool("inner", "", inner, same))
			outer := newAgent(t, agent.Config[deps, string]{
				Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "between", `{"prompt":"go"}`)), modeltest.SayText("ok")), Asker: person, Policies: []*agent.Policy{dan},
			}, agent.AsTool("between", "", between, same))
			_, err := outer.Run(t.Context(), deps{}, "go", opts...)
			require.NoError(t, err)
			by := map[string]string{}
			for _, p := range script.Requests()[1].Messages[2].Parts {
				if p.Decision != nil {
					by[p.Tool] = p.Decision.By
				}
			}
			require.Equal(t, map[string]string{"danger": "dan", "fine": "all"}, by)
		})
	}
}

func TestPolicyOfTheRunAroundEndsThat(t *testing.T) {
	for name, c := range map[string]struct {
		outside, inside bool
		ends            bool
	}{
		"the inner agent's":                     {false, true, false},
		"the outer agent's":                     {true, false, true},
		"one of the same name, the inner first": {true, true, false},
	} {
		config := agent.Config[deps, string]{Name: "inner", Model: modeltest.Script(modeltest.SayText("a bomb"))}
		if c.inside {
			config.Policies = []*agent.Policy{watcher("watch", seen{})}
		}
		inner := newAgent(t, config)
		config = agent.Config[deps, string]{Name: "outer", Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"go"}`)), modeltest.SayText("done"))}
		if c.outside {
			config.Policies = []*agent.Policy{watcher("watch", seen{})}
		}
		_, err := newAgent(t, config, agent.AsTool("inner", "", inner, same)).Run(t.Context(), deps{}, "go")
		if !c.ends {
			require.NoError(t, err, name)
			continue
		}
		var refused *agent.PolicyError
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, "watch", refused.Policy, name)
		require.Equal(t, errForbidden, refused.Err)
		require.EqualError(t, refused, `policy "watch": forbidden`)
		require.ErrorIs(t, err, errForbidden, name)
	}
}

func TestErrorsFromInsideAreNotThePolicys(t *testing.T) {
	fails := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, errBoom })
	_, err := newAgent(t, agent.Config[deps, string]{Model: fails, Policies: []*agent.Policy{watcher("watch", seen{})}}).Run(t.Context(), deps{}, "go")
	require.ErrorIs(t, err, errBoom)
	require.False(t, errors.As(err, new(*agent.PolicyError)))

	ctx, cancel := context.WithCancelCause(t.Context())
	leaves := agent.NewPolicy(agent.PolicyConfig[any]{Name: "slow", Doors: agent.Hooks[any]{
		Request: func(ctx context.Context, _ *toolset.RunContext[any], _ *model.Request, _ agent.RequestFunc) (*model.Message, error) {
			cancel(errBoom)
			return nil, context.Cause(ctx)
		},
	}})
	_, err = newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(), Policies: []*agent.Policy{leaves}}).Run(ctx, deps{}, "go")
	require.ErrorIs(t, err, errBoom)
	require.False(t, errors.As(err, new(*agent.PolicyError)))
}

func TestDeniedCallsNameThePolicy(t *testing.T) {
	asIn(t, func(t *testing.T, opts ...agent.RunOption) {
		a := newAgent(t, agent.Config[deps, string]{
			Model: modeltest.Script(modeltest.Say(call("1", "bomb")), modeltest.SayText("done")), Policies: []*agent.Policy{watcher("watch", seen{})},
		}, says("bomb", "boom"))
		s := a.Stream(t.Context(), deps{}, "go", opts...)
		var decisions []*toolset.Decision
		for e := range s.Events() {
			if e.Kind == agent.EventToolResult {
				require.Equal(t, model.OutcomeDenied, e.Result.Outcome)
				decisions = append(decisions, e.Result.Decision)
			}
		}
		res, err := s.Result()
		require.NoError(t, err)
		require.Equal(t, []*toolset.Decision{{Verdict: toolset.VerdictDeny, By: `policy "watch"`}}, decisions)
		require.Equal(t, decisions[0], res.Messages[2].Parts[0].Decision)
	})
}

func TestNamesOfPoliciesOutliveTheProcess(t *testing.T) {
	a := newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(modeltest.SayText("a bomb")), Policies: []*agent.Policy{watcher("watch", seen{})}})
	_, err := a.Run(t.Context(), deps{}, "go", onJSON(nil))
	var refused *agent.PolicyError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "watch", refused.Policy)
	require.EqualError(t, refused.Err, "forbidden")
}

func TestPoliciesOfARunAreToldToEngines(t *testing.T) {
	var told []engine.Policy
	a := newAgent(t, agent.Config[deps, string]{
		Model:    modeltest.Script(modeltest.SayText("hi")),
		Policies: []*agent.Policy{watcher("watch", seen{}), agent.NewPolicy(agent.PolicyConfig[any]{Name: "few", Limits: agent.Limits{Requests: 9}})},
	})
	w := agent.NewWorker(a, deps{})
	_, err := a.Run(t.Context(), deps{}, "go", agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		return enginetest.NewRemote(local, func(ctx context.Context, data []byte, report func([]byte) error) ([]byte, error) {
			task, err := engine.UnmarshalTask(data)
			require.NoError(t, err)
			told = task.Options.Policies
			return engine.Execute(ctx, w, data, report)
		}), nil
	}))
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, []engine.Policy{{Name: "watch", Calls: true}, {Name: "few"}}, told)
}

func TestPoliciesGetTheDependenciesTheyWereInstalledFor(t *testing.T) {
	var got []any
	of := func() *agent.Policy {
		return agent.NewPolicy(agent.PolicyConfig[innerDeps]{
			Name: "typed",
			Doors: agent.Hooks[innerDeps]{Request: func(ctx context.Context, run *toolset.RunContext[innerDeps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				got = append(got, run.Deps)
				return next(ctx, req)
			}},
			Windows: func(run *toolset.RunContext[innerDeps]) []toolset.Budget {
				got = append(got, run.Deps)
				return nil
			},
		})
	}
	adapted := agent.Adapt(agent.Capability[innerDeps]{Name: "c", Policies: []*agent.Policy{of()}}, narrow)
	inner := expert(t, modeltest.Script(modeltest.SayText("x")), agent.Config[innerDeps, string]{})
	a := newAgent(t, agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.Say(ask("1")), modeltest.SayText("y")), Capabilities: []agent.Capability[deps]{adapted},
	}, agent.AsTool("ask", "", inner, func(deps) innerDeps { return innerDeps{"other"} }))
	_, err := a.Run(t.Context(), deps{5}, "go")
	require.NoError(t, err)
	require.NotEmpty(t, got)
	for _, d := range got {
		require.Equal(t, innerDeps{"expert 5"}, d)
	}

	_, err = agent.New(agent.Config[deps, string]{Policies: []*agent.Policy{of()}})
	require.ErrorContains(t, err, `policy "typed" is for dependencies of type agent_test.innerDeps, the run has agent_test.deps`)
	_, err = newAgent(t, agent.Config[deps, string]{Model: modeltest.Script()}).Run(t.Context(), deps{}, "go", agent.WithPolicies(of()))
	require.ErrorContains(t, err, `policy "typed" is for dependencies of type agent_test.innerDeps, the run has agent_test.deps`)
}

func TestPoliciesThatAreNotValidAreReported(t *testing.T) {
	for want, p := range map[string]*agent.Policy{
		"a policy is nil or empty: make it with NewPolicy": nil,
		"make it with NewPolicy":                           new(agent.Policy),
		"a policy has no name":                             agent.NewPolicy(agent.PolicyConfig[any]{}),
		"out of tune":                                      agent.NewPolicy(agent.PolicyConfig[any]{Name: "p", Check: func() error { return errors.New("out of tune") }}),
		"-3":                                               agent.NewPolicy(agent.PolicyConfig[any]{Name: "p", Limits: agent.Limits{Requests: -3}}),
	} {
		_, err := agent.New(agent.Config[deps, string]{Policies: []*agent.Policy{p}})
		require.ErrorContains(t, err, want)
		_, err = newAgent(t, agent.Config[deps, string]{Model: modeltest.Script()}).Run(t.Context(), deps{}, "go", agent.WithPolicies(p))
		require.ErrorContains(t, err, want)
	}
	panics := agent.NewPolicy(agent.PolicyConfig[any]{Name: "p", Approvals: func(toolset.Asker) toolset.Asker { panic("boom") }})
	_, err := newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(), Policies: []*agent.Policy{panics}}).Run(t.Context(), deps{}, "go")
	require.ErrorAs(t, err, new(*agent.PanicError))
}

// flat is a table with one price for all models: per million tokens.
func flat(price float64) model.PriceTable {
	return everything{model.Price{Input: price, Output: price}}
}

type everything struct{ price model.Price }

func (e everything) Price(string, string, time.Time) (model.Price, bool) { return e.price, true }

func TestPricesOfThePolicyHoldForTheTree(t *testing.T) {
	inner := newAgent(t, agent.Config[deps, string]{Model: modeltest.Script(modeltest.SayText("x")), Prices: flat(100)})
	a := newAgent(t, agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.Say(ask("1")), modeltest.SayText("y")), Prices: flat(10),
		Policies: []*agent.Policy{agent.NewPolicy(agent.PolicyConfig[any]{Name: "prices", Prices: flat(1)})},
	}, agent.AsTool("ask", "", inner, same))
	res, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	u := res.Usage.Usage
	require.InDelta(t, float64(u.InputTokens+u.OutputTokens)/1e6, res.Usage.Cost, 1e-9)
	require.NotZero(t, res.Usage.Cost)
}

// A worker that lacks a policy of the run does nothing for it, whatever the task is.
func TestWorkersWithoutThePoliciesOfTheRunRefuseItsTasks(t *testing.T) {
	house := agent.NewPolicy(agent.PolicyConfig[any]{Name: "house"})
	for _, fuse := range []bool{false, true} {
		script := modeltest.Script(modeltest.Say(call("1", "look")), modeltest.SayText("done"))
		a := newAgent(t, cfg{Model: script}, says("look", "x"))
		_, err := a.Run(t.Context(), deps{}, "go", agent.WithPolicies(house), onEngine(agent.NewWorker(a, deps{}), fuse))
		require.ErrorContains(t, err, `the run has a policy "house", and the worker has none`)
		require.Empty(t, script.Requests())
		res, err := a.Run(t.Context(), deps{}, "go", agent.WithPolicies(house), onEngine(agent.NewWorker(a, deps{}, agent.WithPolicies(house)), fuse))
		require.NoError(t, err)
		require.Equal(t, "done", res.Output)
	}
}
