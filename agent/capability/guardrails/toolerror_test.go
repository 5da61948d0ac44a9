// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// told turns every error into one that tells the model all about it.
func told(as func(string, ...any) error) func(context.Context, *toolset.RunContext[none], error) error {
	return func(_ context.Context, _ *toolset.RunContext[none], err error) error { return as("it failed: %v", err) }
}

// broken fails with the secret in its error.
var broken = toolset.Func("broken", "", func(context.Context, *toolset.RunContext[none], none) (string, error) {
	return "", errors.New("no card " + secret)
})

// Guards see what Config.ToolError tells the model about an error.
func TestGuardsSeeWhatErrorsOfToolsBecome(t *testing.T) {
	for _, as := range []func(string, ...any) error{toolset.Failed, toolset.Retry, toolset.Denied} {
		for _, panics := range []bool{false, true} {
			script := modeltest.Script(modeltest.Say(model.ToolCall("1", "broken", "{}")), modeltest.SayText("done"))
			c := config(script, guard{Name: "cards", On: guardrails.Result, Check: redact})
			c.ToolError, c.Tools = told(as), []*toolset.Tool[none]{broken}
			if panics {
				c.Tools = []*toolset.Tool[none]{toolset.Func("broken", "", func(context.Context, *toolset.RunContext[none], none) (string, error) { panic("no card " + secret) })}
			}
			o := play(t, agent.Must(agent.New(c)), script, "go")
			require.NoError(t, o.err)
			require.NotContains(t, o.seen, secret)
			require.Contains(t, o.seen, "it failed: ")
			require.Contains(t, o.seen, "no card [card]")
		}
	}
}

// Config.ToolError does not see what policies refuse, so it cannot turn the end of the run into news for the model: neither in the
// agent with the policy, nor in one inside or around it, and wherever the arguments were changed.
func TestErrorsOfPoliciesAreNoErrorsOfTools(t *testing.T) {
	block := guard{Name: "never", Check: always(guardrails.Block("no"))}
	same := func(n none) none { return n }
	for name, c := range map[string]struct {
		on     guardrails.Stage
		only   string
		change bool
	}{
		"a call":                      {guardrails.Call, "echo", false},
		"a result":                    {guardrails.Result, "echo", false},
		"a call that was changed":     {guardrails.Call, "echo", true},
		"an output of an inner agent": {guardrails.Output, "", false},
	} {
		g := block
		if g.On = c.on; c.only != "" {
			g.Tools = []string{c.only}
		}
		if c.change { // it blocks what a hook of the toolset has made of the arguments
			g.Check = func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
				if s.At("/text") == "changed" {
					return guardrails.Block("no"), nil
				}
				return guardrails.Pass(), nil
			}
		}
		asked := 0
		catch := func(_ context.Context, _ *toolset.RunContext[none], err error) error {
			asked++
			return toolset.Failed("caught: %v", err)
		}
		tools := toolset.Wrapped(toolset.Of(echo), func(ctx context.Context, _ *toolset.RunContext[none], args any, next toolset.CallFunc) (toolset.Result, error) {
			if c.change {
				args = echoArgs{"changed"}
			}
			return next(ctx, args)
		})
		inner := agent.Must(agent.New(agent.Config[none, string]{
			Name: "inner", ToolError: catch, Toolsets: []toolset.Toolset[none]{tools},
			Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "echo", `{"text":"x"}`)), modeltest.SayText("said")),
		}))
		outer := agent.Must(agent.New(agent.Config[none, string]{
			Name: "outer", ToolError: catch, Tools: []*toolset.Tool[none]{agent.AsTool("inner", "", inner, same)},
			Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"go"}`)), modeltest.SayText("done")),
		}))
		_, err := outer.Run(t.Context(), none{}, "go", agent.WithPolicies(guardrails.Policy("house", g)))
		var refused *agent.PolicyError
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, "house", refused.Policy, name)
		require.ErrorIs(t, err, guardrails.ErrBlocked, name)
		require.Zero(t, asked, name)
	}
}

// An error of a hook is not one of a tool: nobody has checked what it would tell the model.
func TestErrorsOfHooksAreNoErrorsOfTools(t *testing.T) {
	boom := errors.New("boom")
	script := modeltest.Script(modeltest.Say(model.ToolCall("1", "echo", `{"text":"x"}`)), modeltest.SayText("done"))
	c := config(script)
	c.ToolError = told(toolset.Failed)
	c.Hooks = []agent.Hooks[none]{{Call: func(context.Context, *toolset.RunContext[none], any, toolset.CallFunc) (toolset.Result, error) {
		return toolset.Result{}, boom
	}}}
	_, err := agent.Must(agent.New(c)).Run(t.Context(), none{}, "go")
	require.ErrorIs(t, err, boom)
}

// An error of a policy that says nothing to users is no error of the tool around the inner run either.
func TestErrorsOfPoliciesInInnerRunsAreNoErrorsOfTools(t *testing.T) {
	boom := errors.New("boom")
	house := agent.NewPolicy(agent.PolicyConfig[none]{Name: "house", Output: func(context.Context, *toolset.RunContext[none], any) (any, error) { return nil, boom }})
	inner := agent.Must(agent.New(agent.Config[none, string]{Name: "inner", Model: modeltest.Script(modeltest.SayText("said"))}))
	outer := agent.Must(agent.New(agent.Config[none, string]{
		Name: "outer", ToolError: told(toolset.Failed), Tools: []*toolset.Tool[none]{agent.AsTool("inner", "", inner, sameDeps)},
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"go"}`))),
	}))
	_, err := outer.Run(t.Context(), none{}, "go", agent.WithPolicies(house))
	require.ErrorIs(t, err, boom)
}
