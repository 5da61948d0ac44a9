// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// outputs is a policy of a name that refuses one output.
func outputs(name, bad string) *agent.Policy {
	return agent.NewPolicy(agent.PolicyConfig[any]{Name: name, Output: func(_ context.Context, _ *toolset.RunContext[any], output any) (any, error) {
		if output == bad {
			return nil, errors.New("a bad output")
		}
		return output, nil
	}})
}

// TestPoliciesHoldForChildrenOrRefuseThem: a policy is found by its name where the child is, and nothing runs without it.
func TestPoliciesHoldForChildrenOrRefuseThem(t *testing.T) {
	calls := guardrails.Policy("calls", guardrails.Guard[any]{
		Name: "g", On: guardrails.Call, Check: func(context.Context, *toolset.RunContext[any], *guardrails.Subject) (guardrails.Verdict, error) {
			return guardrails.Pass(), nil
		},
	})
	for name, c := range map[string]struct {
		outer, inner *agent.Policy
		says, fails  string
	}{
		"the child has it":             {outputs("words", "x"), outputs("words", "x"), "fine", ""},
		"the child lacks it":           {outputs("words", "x"), nil, "fine", `a policy of the run around is missing: "words"`},
		"the child has another":        {outputs("words", "x"), outputs("others", "x"), "fine", `a policy of the run around is missing: "words"`},
		"it refuses in the child":      {outputs("words", "x"), outputs("words", "bad"), "bad", "a bad output"},
		"the child's own refuses":      {nil, outputs("words", "bad"), "bad", ""},
		"it decides about calls":       {calls, calls, "fine", `the policy "calls" decides about calls where they are executed`},
		"neither has any":              {nil, nil, "fine", ""},
		"the child has one of its own": {nil, outputs("words", "x"), "fine", ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			inner := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				asked++
				return model.Response(model.Text(c.says)), nil
			})
			s := familyOf(t, true, inner, func(config *agent.Config[deps, report]) { config.MaxParallelCalls = 1 })
			if c.outer != nil {
				s.config.Options = append(s.config.Options, agent.WithPolicies(c.outer))
			}
			s.register = func(env *testsuite.TestWorkflowEnvironment) {
				config := temporalengine.Config[deps, string]{Name: "researcher", Agent: researcher(inner, new(keys)), Blobs: s.config.Blobs, Deps: s.config.Deps}
				if c.inner != nil {
					config.Options = []agent.RunOption{agent.WithPolicies(c.inner)}
				}
				closeRuns, err := temporalengine.Register(env, config)
				require.NoError(t, err)
				t.Cleanup(closeRuns)
			}
			_, err := s.play(t, temporalengine.Input{Prompt: "Go."})
			if c.fails == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.fails)
			if c.says == "fine" {
				require.Zero(t, asked)
			}
		})
	}
}

// TestGuardsHoldWhereTheTasksAre: the doors of policies are in the activities.
func TestGuardsHoldWhereTheTasksAre(t *testing.T) {
	deny := guardrails.Policy("p", guardrails.Guard[any]{
		Name: "g", On: guardrails.Call, Check: func(context.Context, *toolset.RunContext[any], *guardrails.Subject) (guardrails.Verdict, error) {
			return guardrails.Deny("no"), nil
		},
	})
	s := familyOf(t, false, modeltest.Script(), nil) // must not be asked
	s.config.Options = append(s.config.Options, agent.WithPolicies(deny))
	res, err := s.play(t, temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	part := res.Messages[2].Parts[0]
	require.Equal(t, model.OutcomeDenied, part.Outcome)
	require.Equal(t, `policy "p"`, part.Decision.By)
}

// TestRefusalsInActivitiesAreTold: a hook makes successes of what a policy refuses. It is told where the task is executed, once, also if
// the run is continued in other executions of the workflow.
func TestRefusalsInActivitiesAreTold(t *testing.T) {
	var mu sync.Mutex
	var told []agent.Refusal
	tells := func(ctx context.Context) context.Context {
		return agent.WithRefusals(ctx, func(_ context.Context, r agent.Refusal) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, r)
		})
	}
	swallows := agent.Hooks[deps]{
		Request: func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			if resp, err := next(tells(ctx), req); err == nil {
				return resp, nil
			}
			return model.Response(final("from the hook")), nil
		},
		Call: func(ctx context.Context, _ *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
			if res, err := next(tells(ctx), args); err == nil {
				return res, nil
			}
			return toolset.Result{Text: "from the hook"}, nil
		},
	}
	house := agent.NewPolicy(agent.PolicyConfig[any]{Name: "house", Doors: agent.Hooks[any]{
		Request: func(ctx context.Context, run *toolset.RunContext[any], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			if run.Step > 1 {
				return nil, errors.New("no more")
			}
			return next(ctx, req)
		},
		Call: func(context.Context, *toolset.RunContext[any], any, toolset.CallFunc) (toolset.Result, error) {
			return toolset.Result{}, toolset.Denied("no")
		},
	}})
	for _, full := range []bool{false, true} {
		told = nil
		s := familyOf(t, false, modeltest.Script(), func(c *agent.Config[deps, report]) { c.Hooks = append(c.Hooks, swallows) })
		s.full = full
		s.config.Options = append(s.config.Options, agent.WithPolicies(house))
		res, err := s.play(t, temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		require.Equal(t, "from the hook", res.Messages[2].Parts[0].Text)
		require.ElementsMatch(t, []agent.Refusal{
			{Policy: "house", Stage: agent.StageTool, Tool: "research", CallID: "a"},
			{Policy: "house", Stage: agent.StageTool, Tool: "research", CallID: "b"},
			{Policy: "house", Stage: agent.StageModel},
		}, told)
	}
}
