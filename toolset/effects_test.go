// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type payment struct {
	To     string `json:"to"`
	Amount int64  `json:"amount"`
}

func spends(_ context.Context, run *toolset.RunContext[string], in payment) ([]toolset.Effect, error) {
	if in.Amount < 0 {
		return nil, errors.New("no amount")
	}
	return []toolset.Effect{{Kind: model.EffectMoney, Amount: in.Amount}, {Kind: model.EffectHost, Host: in.To + "." + run.Deps}}, nil
}

// What a tool says of its effects is in the approval, through every combinator.
func TestEffectsOfAToolAreInItsApproval(t *testing.T) {
	pay := func(opts ...toolset.Option) *toolset.Tool[string] {
		return toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[string], payment) (string, error) { return "paid", nil }, opts...)
	}
	approve := toolset.Approve(func(context.Context, *toolset.RunContext[string], payment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay"}, nil
	})
	own := toolset.Approve(func(context.Context, *toolset.RunContext[string], payment) (*toolset.Approval, error) {
		return &toolset.Approval{Effects: []toolset.Effect{{Kind: model.EffectUnknown}}}, nil
	})
	want := []toolset.Effect{{Kind: model.EffectMoney, Amount: 7}, {Kind: model.EffectHost, Host: "bank.example"}}
	for name, c := range map[string]struct {
		set  toolset.Toolset[string]
		want []toolset.Effect
	}{
		"alone":    {toolset.Of(pay(approve, toolset.Effects(spends))), want},
		"before":   {toolset.Of(pay(toolset.Effects(spends), approve)), want},
		"approved": {toolset.Approved(toolset.Of(pay(toolset.Effects(spends))), nil), want},
		"prefixed": {toolset.Prefixed(toolset.Of(pay(approve, toolset.Effects(spends))), "x_"), want},
		"adapted":  {toolset.Adapt(toolset.Of(pay(approve, toolset.Effects(spends))), func(d string) string { return d }), want},
		"its own":  {toolset.Of(pay(own, toolset.Effects(spends))), []toolset.Effect{{Kind: model.EffectUnknown}}},
		"none":     {toolset.Of(pay(approve)), nil},
	} {
		tool := "pay"
		if name == "prefixed" {
			tool = "x_pay"
		}
		var got []toolset.Effect
		person := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			got = r.Approval.Effects
			return toolset.Allow(), nil
		}}
		a := agent.Must(agent.New(agent.Config[string, string]{
			Model:    modeltest.Script(modeltest.Say(model.ToolCall("1", tool, `{"to":"bank","amount":7}`)), modeltest.SayText("Done.")),
			Toolsets: []toolset.Toolset[string]{c.set},
		}))
		_, err := a.Run(t.Context(), "example", "Pay.", agent.WithAsker(person))
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	require.ErrorContains(t, pay(toolset.Effects(func(context.Context, *toolset.RunContext[int], payment) ([]toolset.Effect, error) { return nil, nil })).Err(), `tool "pay": Effects: the function takes`)
	var none func(context.Context, *toolset.RunContext[string], payment) ([]toolset.Effect, error)
	require.ErrorContains(t, pay(toolset.Effects(none)).Err(), "Effects: the function is nil")
}
