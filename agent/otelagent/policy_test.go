// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestSpansNameThePolicyThatRefused(t *testing.T) {
	refuse := func(on guardrails.Stage, v guardrails.Verdict) []*agent.Policy {
		return []*agent.Policy{guardrails.Policy("house rules", guardrails.Guard[any]{
			Name: "g", On: on, Check: func(context.Context, *toolset.RunContext[any], *guardrails.Subject) (guardrails.Verdict, error) {
				return v, nil
			},
		})}
	}
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done")), Policies: refuse(guardrails.Call, guardrails.Deny("content")),
	}, says("look", "x"))
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	span := find(r, "execute_tool")[0]
	require.Equal(t, "house rules", value(span, "ponte.policy"))
	require.Equal(t, "denied", value(span, "ponte.tool.outcome"))
	require.NotContains(t, tree(r.spans.GetSpans()), "content")

	r = newRecorder()
	a = newAgent(t, agent.Config[deps, string]{Hooks: r.hooks(), Model: answers(modeltest.SayText("x")), Policies: refuse(guardrails.Output, guardrails.Block("content"))})
	_, err = a.Run(t.Context(), deps{}, "go")
	require.Error(t, err)
	for _, name := range []string{"invoke_agent", "chat"} {
		require.Equal(t, "house rules", value(find(r, name)[0], "ponte.policy"))
	}
	require.NotContains(t, tree(r.spans.GetSpans()), "content")

	r = newRecorder()
	few := agent.NewPolicy(agent.PolicyConfig[any]{Name: "few", Limits: agent.Limits{Requests: 1}})
	a = newAgent(t, agent.Config[deps, string]{Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look"))), Policies: []*agent.Policy{few}}, says("look", "x"))
	_, err = a.Run(t.Context(), deps{}, "go")
	require.Error(t, err)
	require.Equal(t, "few", value(find(r, "invoke_agent")[0], "ponte.policy"))
	require.Equal(t, "limit_requests", value(find(r, "invoke_agent")[0], "error.type"))
}

// TestRefusalsThatHooksSwallowAreInSpans: the innermost span has them, and no other.
func TestRefusalsThatHooksSwallowAreInSpans(t *testing.T) {
	swallow := agent.Hooks[deps]{
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
	asks := toolset.Func("look", "", func(ctx context.Context, run *toolset.RunContext[deps], _ struct{}) (string, error) {
		_, err := run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("content")}})
		return "x", err
	})
	refuses := errors.New("content")
	for name, c := range map[string]struct {
		policy agent.PolicyConfig[any]
		on     string
		want   []attribute.KeyValue
	}{
		"a request": {agent.PolicyConfig[any]{Doors: agent.Hooks[any]{Request: func(_ context.Context, run *toolset.RunContext[any], _ *model.Request, _ agent.RequestFunc) (*model.Message, error) {
			return nil, refuses
		}}}, "chat", []attribute.KeyValue{attribute.String("ponte.policy", "house"), attribute.String("ponte.refused.stage", "model")}},
		"a request of a tool": {agent.PolicyConfig[any]{Doors: agent.Hooks[any]{Request: func(ctx context.Context, run *toolset.RunContext[any], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			if run.Call.ID != "" {
				return nil, refuses
			}
			return next(ctx, req)
		}}}, "chat", []attribute.KeyValue{
			attribute.String("ponte.policy", "house"), attribute.String("ponte.refused.stage", "model"), attribute.String("gen_ai.tool.name", "look"), attribute.String("gen_ai.tool.call.id", "1"),
		}},
		"a call": {agent.PolicyConfig[any]{Doors: agent.Hooks[any]{Call: func(context.Context, *toolset.RunContext[any], any, toolset.CallFunc) (toolset.Result, error) {
			return toolset.Result{}, toolset.Denied("content")
		}}}, "execute_tool look", []attribute.KeyValue{
			attribute.String("ponte.policy", "house"), attribute.String("ponte.refused.stage", "tool"), attribute.String("gen_ai.tool.name", "look"), attribute.String("gen_ai.tool.call.id", "1"),
		}},
		"an output": {agent.PolicyConfig[any]{Output: func(_ context.Context, _ *toolset.RunContext[any], out any) (any, error) {
			if out == "better" {
				return nil, toolset.Retry("content")
			}
			return out, nil
		}}, "invoke_agent", []attribute.KeyValue{attribute.String("ponte.policy", "house"), attribute.String("ponte.refused.stage", "output")}},
	} {
		r := newRecorder()
		c.policy.Name = "house"
		a := newAgent(t, agent.Config[deps, string]{
			Hooks: append(r.hooks(), swallow), Policies: []*agent.Policy{agent.NewPolicy(c.policy)},
			Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done"), modeltest.SayText("better"), modeltest.SayText("best")),
		}, asks)
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err, name)
		found := 0
		for _, span := range r.spans.GetSpans() {
			for _, e := range span.Events {
				if e.Name == "ponte.refused" {
					found++
					require.True(t, strings.HasPrefix(span.Name, c.on), name)
					require.Equal(t, c.want, e.Attributes, name)
					require.Equal(t, "house", value(span, "ponte.policy"), name)
				}
			}
		}
		require.Equal(t, 1, found, name)
		require.NotContains(t, tree(r.spans.GetSpans()), "content")
	}
}
