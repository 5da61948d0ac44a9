// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/toolset"
)

// full is a budget without room.
type full struct{}

func (full) Key() any { return "full" }

func (full) Reserve(context.Context, model.Info, *model.Request) (func(toolset.Spent) bool, error) {
	return nil, errors.New("a secret window is used up")
}

// refusals collects what policies have refused.
type refusals struct {
	mu  sync.Mutex
	all []agent.Refusal
}

func (r *refusals) add(_ context.Context, refusal agent.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, refusal)
}

// take returns what was collected since the last time.
func (r *refusals) take() []agent.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// swallows are hooks that make a success of everything.
func swallows() agent.Hooks[deps] {
	return agent.Hooks[deps]{
		Request: func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			if resp, err := next(ctx, req); err == nil {
				return resp, nil
			}
			return model.Response(model.Text("from the hook")), nil
		},
		Call: func(ctx context.Context, _ *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
			if res, err := next(ctx, args); err == nil {
				return res, nil
			}
			return toolset.Result{Text: "from the hook"}, nil
		},
	}
}

// TestRefusalsAreToldWhateverHooksMakeOfThem: a hook turns everything that a policy refuses into a success. The refusal is told to whoever
// asks for it and to the stream, once, by its policy and without what it was; a replay does not tell it again.
func TestRefusalsAreToldWhateverHooksMakeOfThem(t *testing.T) {
	uses := modeltest.Say(call("1", "work"))
	asks := func(ctx context.Context, run *toolset.RunContext[deps], _ none) (string, error) {
		if _, err := run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("a secret")}}); err != nil {
			return "none", nil //nolint:nilerr // the tool swallows it
		}
		return "asked", nil
	}
	refuses := func(ctx context.Context, run *toolset.RunContext[any], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
		if resp, err := next(ctx, req); err != nil {
			return resp, err
		}
		return nil, errors.New("a secret response")
	}
	inCalls := func(ctx context.Context, run *toolset.RunContext[any], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
		if run.Call.ID != "" {
			return nil, errors.New("a secret request")
		}
		return next(ctx, req)
	}
	denies := func(context.Context, *toolset.RunContext[any], any, toolset.CallFunc) (toolset.Result, error) {
		return toolset.Result{}, toolset.Denied("a secret call")
	}
	blocks := func(ctx context.Context, _ *toolset.RunContext[any], args any, next toolset.CallFunc) (toolset.Result, error) {
		if res, err := next(ctx, args); err != nil {
			return res, err
		}
		return toolset.Result{}, errors.New("a secret result")
	}
	waits := func(ctx context.Context, run *toolset.RunContext[any], args any, next toolset.CallFunc) (toolset.Result, error) {
		if !run.Call.Approved {
			return toolset.Result{}, toolset.ApprovalRequired(toolset.Approval{Reason: "a secret"})
		}
		return next(ctx, args)
	}
	once := func() func(context.Context, *toolset.RunContext[any], any) (any, error) {
		n := 0
		return func(_ context.Context, _ *toolset.RunContext[any], out any) (any, error) {
			if n++; n == 1 {
				return nil, toolset.Retry("another secret")
			}
			return out, nil
		}
	}
	inner := func(policies ...*agent.Policy) *toolset.Tool[deps] {
		return toolset.Func("work", "", func(ctx context.Context, run *toolset.RunContext[deps], _ none) (string, error) {
			a := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("x")), Policies: policies})
			if _, err := a.Run(ctx, deps{}, "a secret", agent.Within(run)); err != nil {
				return "none", nil //nolint:nilerr // the tool swallows it
			}
			return "ran", nil
		})
	}
	noPrompts := agent.NewPolicy(agent.PolicyConfig[any]{Name: "no prompts", Doors: agent.Hooks[any]{
		Input: func(context.Context, *toolset.RunContext[any], []model.Part) ([]model.Part, error) {
			return nil, errors.New("a secret prompt")
		},
	}})
	noRuns := agent.NewPolicy(agent.PolicyConfig[any]{Name: "no runs", Doors: agent.Hooks[any]{
		Run: func(context.Context, *toolset.RunContext[any], agent.RunFunc) error {
			return errors.New("a secret run")
		},
	}})
	dear := model.Func(model.Info{Name: "dear"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, &model.APIError{Status: 503}
	})
	noLimits := agent.NewPolicy(agent.PolicyConfig[any]{Name: "unlimited"})
	full := func(*toolset.RunContext[any]) []toolset.Budget { return []toolset.Budget{full{}} }
	of := func(at agent.Stage) []agent.Refusal { return []agent.Refusal{{Policy: "house", Stage: at}} }
	inWork := func(policy string, at agent.Stage) []agent.Refusal {
		return []agent.Refusal{{Policy: policy, Stage: at, Tool: "work", CallID: "1"}}
	}
	for name, c := range map[string]struct {
		policy agent.PolicyConfig[any]
		steps  []modeltest.Step
		wrap   func(model.Model) model.Model
		tool   *toolset.Tool[deps]
		more   []*agent.Policy
		want   []agent.Refusal
	}{
		"a response": {policy: agent.PolicyConfig[any]{Doors: agent.Hooks[any]{Request: refuses}}, want: of(agent.StageModel)},
		"a window":   {policy: agent.PolicyConfig[any]{Windows: full}, want: of(agent.StageModel)},
		"a window, within a fallback": {
			policy: agent.PolicyConfig[any]{Windows: full}, want: of(agent.StageModel),
			wrap: func(m model.Model) model.Model {
				return modelwrap.Fallback([]model.Model{m, m}, modelwrap.FallbackPolicy{On: func(error) bool { return true }})
			},
		},
		"a limit": {
			policy: agent.PolicyConfig[any]{Limits: agent.Limits{Requests: 1}}, want: of(agent.StageModel),
			wrap: func(m model.Model) model.Model {
				return modelwrap.Fallback([]model.Model{dear, m}, modelwrap.FallbackPolicy{})
			},
		},
		"a limit of one of three policies": {
			policy: agent.PolicyConfig[any]{Limits: agent.Limits{Requests: 1}}, want: of(agent.StageModel),
			wrap: func(m model.Model) model.Model {
				return modelwrap.Fallback([]model.Model{dear, m}, modelwrap.FallbackPolicy{})
			},
			more: []*agent.Policy{agent.NewPolicy(agent.PolicyConfig[any]{Name: "more", Limits: agent.Limits{Requests: 9}}), noLimits},
		},
		"a call": {policy: agent.PolicyConfig[any]{Doors: agent.Hooks[any]{Call: denies}}, steps: []modeltest.Step{uses}, want: inWork("house", agent.StageTool)},
		"a call that is held and denied": {
			policy: agent.PolicyConfig[any]{Doors: agent.Hooks[any]{Call: func(ctx context.Context, run *toolset.RunContext[any], args any, next toolset.CallFunc) (toolset.Result, error) {
				release := agent.HoldEvents(run)
				defer release(false)
				return denies(ctx, run, args, next)
			}}}, steps: []modeltest.Step{uses}, want: inWork("house", agent.StageTool),
		},
		"a result": {policy: agent.PolicyConfig[any]{Doors: agent.Hooks[any]{Call: blocks}}, steps: []modeltest.Step{uses}, want: inWork("house", agent.StageTool)},
		"a request of a tool": {
			policy: agent.PolicyConfig[any]{Doors: agent.Hooks[any]{Request: inCalls}}, steps: []modeltest.Step{uses},
			tool: toolset.Func("work", "", asks), want: inWork("house", agent.StageModel),
		},
		"an output":                     {policy: agent.PolicyConfig[any]{Output: once()}, steps: []modeltest.Step{modeltest.SayText("x")}, want: of(agent.StageOutput)},
		"the prompt of a run inside":    {steps: []modeltest.Step{uses}, tool: inner(noPrompts), want: inWork("no prompts", agent.StagePrepare)},
		"a run inside":                  {steps: []modeltest.Step{uses}, tool: inner(noRuns), want: inWork("no runs", agent.StagePrepare)},
		"nothing":                       {steps: []modeltest.Step{uses}, tool: says("work", "x")},
		"an approval, which is no such": {policy: agent.PolicyConfig[any]{Doors: agent.Hooks[any]{Call: waits}}, steps: []modeltest.Step{uses}},
	} {
		for _, streamed := range []bool{false, true} {
			asIn(t, func(t *testing.T, opts ...agent.RunOption) {
				config := c.policy
				config.Name = "house"
				if name == "an output" {
					config.Output = once()
				}
				tool := c.tool
				if tool == nil {
					tool = says("work", "done")
				}
				script := modeltest.Script(append(c.steps[:len(c.steps):len(c.steps)], modeltest.SayText("ok"))...)
				m := model.Model(script)
				if c.wrap != nil {
					m = c.wrap(m)
				}
				a := newAgent(t, cfg{Model: m, Hooks: []agent.Hooks[deps]{swallows()}, Policies: append([]*agent.Policy{agent.NewPolicy(config)}, c.more...)}, tool)
				var told, also refusals
				ctx := agent.WithRefusals(agent.WithRefusals(t.Context(), also.add), told.add)
				opts = append(opts[:len(opts):len(opts)], agent.WithRunID("r"))
				play := func() (told []agent.Refusal) {
					if !streamed {
						_, err := a.Run(ctx, deps{}, "go", opts...)
						require.NoError(t, err, name)
						return nil
					}
					s := a.Stream(ctx, deps{}, "go", opts...)
					for e := range s.Events() {
						data, err := json.Marshal(e)
						require.NoError(t, err)
						if refusal, ok := e.Value.(agent.Refusal); ok {
							require.Equal(t, agent.EventCustom, e.Kind)
							require.Equal(t, refusal.CallID, e.CallID)
							require.NotContains(t, string(data), "secret")
							told = append(told, refusal)
						}
					}
					_, err := s.Result()
					require.NoError(t, err, name)
					return told
				}
				events := play()
				where := fmt.Sprintf("%s, streamed %t", name, streamed)
				require.Equal(t, c.want, told.take(), where)
				require.Equal(t, c.want, also.take(), where)
				if streamed {
					require.Equal(t, c.want, events, where)
				}
				if strings.HasSuffix(t.Name(), "journal") {
					require.Empty(t, play(), "a replay tells nothing")
					require.Empty(t, told.take())
				}
			})
		}
	}
}

// TestRefusalsOfParallelChecksAreTold: a policy checks beside the request, and its check asks a model for which there is no room.
func TestRefusalsOfParallelChecksAreTold(t *testing.T) {
	for range 20 {
		check := agent.NewPolicy(agent.PolicyConfig[any]{Name: "check", Doors: agent.Hooks[any]{
			Request: func(ctx context.Context, run *toolset.RunContext[any], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = run.Meter.Generate(ctx, modeltest.Script(modeltest.SayText("x")), req, nil)
				}()
				defer func() { <-ended }()
				return model.Response(model.Text("checked")), nil
			},
		}})
		room := agent.NewPolicy(agent.PolicyConfig[any]{Name: "room", Windows: func(*toolset.RunContext[any]) []toolset.Budget { return []toolset.Budget{full{}} }})
		a := newAgent(t, cfg{Model: modeltest.Script(), Policies: []*agent.Policy{check, room}})
		var told []any
		for e := range a.Stream(t.Context(), deps{}, "go").Events() {
			if e.Kind == agent.EventCustom {
				told = append(told, e.Value)
			}
		}
		require.Equal(t, []any{agent.Refusal{Policy: "room", Stage: agent.StageModel}}, told)
	}
}

// TestCostLimitsOfPoliciesNameThemForModelsWithoutAPrice: such a model is not asked because of the policy.
func TestCostLimitsOfPoliciesNameThemForModelsWithoutAPrice(t *testing.T) {
	asIn(t, func(t *testing.T, opts ...agent.RunOption) {
		few := agent.NewPolicy(agent.PolicyConfig[any]{Name: "few", Limits: agent.Limits{Cost: 1}})
		_, err := newAgent(t, cfg{Model: modeltest.Script(), Prices: perMillion, Policies: []*agent.Policy{few}}).Run(t.Context(), deps{}, "go", opts...)
		var refused *agent.PolicyError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "few", refused.Policy)
		require.ErrorAs(t, err, new(*agent.PriceError))
	})
}
