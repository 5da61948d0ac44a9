// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
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
