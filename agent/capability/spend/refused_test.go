// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

type noted struct {
	Text string `json:"text"`
}

// TestRefusedOutputsAreInTheWindow: outputs that guards, policies, validators and schemas refuse, and those that are asked for again, cost
// what they cost. A window of money has the price of each response, in every output mode and place, whole, streamed and replayed.
func TestRefusedOutputsAreInTheWindow(t *testing.T) {
	const each = 3e-6 // the price of a response
	var asked atomic.Int64
	says := func(parts ...model.Part) model.Model {
		info := model.Info{Provider: "p", Name: "known", NativeOutput: true}
		return model.Func(info, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
			asked.Add(1)
			resp := model.Response(parts...)
			resp.Usage = model.Usage{InputTokens: 1, OutputTokens: 2}
			if sink != nil {
				if err := sink(model.Delta{Usage: &resp.Usage}); err != nil {
					return nil, err
				}
			}
			return resp, nil
		})
	}
	guard := func(v guardrails.Verdict) *agent.Policy {
		return guardrails.Policy("guard", guardrails.Guard[any]{Name: "g", On: guardrails.Output, Check: func(context.Context, *toolset.RunContext[any], *guardrails.Subject) (guardrails.Verdict, error) {
			return v, nil
		}})
	}
	retry := agent.NewPolicy(agent.PolicyConfig[any]{Name: "retry", Output: func(context.Context, *toolset.RunContext[any], any) (any, error) {
		return nil, toolset.Retry("again")
	}})
	fails := agent.NewPolicy(agent.PolicyConfig[any]{Name: "fails", Output: func(context.Context, *toolset.RunContext[any], any) (any, error) {
		return nil, errors.New("no")
	}})
	text, call := model.Text(`{"text":"x"}`), model.ToolCall("1", "final_result", `{"text":"x"}`)
	never := func(context.Context, *toolset.RunContext[user], noted) (noted, error) {
		return noted{}, toolset.Retry("again")
	}
	inner := func(m model.Model, p *agent.Policy) *agent.Agent[user, string] {
		return agent.Must(agent.New(agent.Config[user, string]{Name: "inner", Model: m, Policies: []*agent.Policy{p}}))
	}
	toInner := says(model.ToolCall("1", "inner", `{"prompt":"go"}`))
	same := func(u user) user { return u }
	type play func(ctx context.Context, streamed bool, opts ...agent.RunOption) toolset.Usage
	for name, c := range map[string]struct {
		play play
		sent int64
	}{
		"text, blocked":              {playing(t, agent.Config[user, string]{Model: says(text), Policies: []*agent.Policy{guard(guardrails.Block("no"))}}), 1},
		"text, retried":              {playing(t, agent.Config[user, string]{Model: says(text), Policies: []*agent.Policy{retry}}), 2},
		"text, refused":              {playing(t, agent.Config[user, string]{Model: says(text), Policies: []*agent.Policy{fails}}), 1},
		"text, replaced and retried": {playing(t, agent.Config[user, string]{Model: says(text), Policies: []*agent.Policy{retry, guard(guardrails.Replace("y", ""))}}), 2},
		"a tool, blocked":            {playing(t, agent.Config[user, noted]{Model: says(call), Policies: []*agent.Policy{guard(guardrails.Block("no"))}}), 1},
		"a tool, retried":            {playing(t, agent.Config[user, noted]{Model: says(call), Policies: []*agent.Policy{retry}}), 2},
		"a tool, by its validator":   {playing(t, agent.Config[user, noted]{Model: says(call), Validators: []agent.Validator[user, noted]{never}, OutputRetries: new(3)}), 4},
		"a tool, by its schema":      {playing(t, agent.Config[user, noted]{Model: says(model.ToolCall("1", "final_result", `{"more":1}`))}), 2},
		"native JSON, blocked":       {playing(t, agent.Config[user, noted]{Model: says(text), Output: agent.Output{Mode: agent.OutputNative}, Policies: []*agent.Policy{guard(guardrails.Block("no"))}}), 1},
		"native JSON, retried":       {playing(t, agent.Config[user, noted]{Model: says(text), Output: agent.Output{Mode: agent.OutputNative}, Policies: []*agent.Policy{retry}}), 2},
		"prompted JSON, retried":     {playing(t, agent.Config[user, noted]{Model: says(text), Output: agent.Output{Mode: agent.OutputPrompted}, Policies: []*agent.Policy{retry}}), 2},
		"a hand-over, blocked": {playing(t, agent.Config[user, string]{Model: toInner, Alternatives: []agent.Alternative[user, string]{
			agent.HandOver("inner", "", inner(says(text), guard(guardrails.Block("no"))), same),
		}}), 2},
		"a hand-over, retried": {playing(t, agent.Config[user, string]{Model: toInner, Alternatives: []agent.Alternative[user, string]{
			agent.HandOver("inner", "", inner(says(text), retry), same),
		}}), 3},
		"a sub-agent, retried": {playing(t, agent.Config[user, string]{
			Model: toInner, Tools: []*toolset.Tool[user]{agent.AsTool("inner", "", inner(says(text), retry), same)}, Limits: agent.Limits{Requests: 4},
		}), 4},
		"an output that asks a model": {playing(t, agent.Config[user, string]{Model: says(model.ToolCall("1", "make", `{}`)), Alternatives: []agent.Alternative[user, string]{
			agent.OutputFunc("make", "", func(ctx context.Context, run *toolset.RunContext[user], _ struct{}) (string, error) {
				_, err := run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("go")}})
				return "", errors.Join(err, toolset.Retry("again"))
			}),
		}}), 4},
	} {
		for _, streamed := range []bool{false, true} {
			where := fmt.Sprintf("%s, streamed %t", name, streamed)
			o := spend.Options[any]{Store: new(session.Memory), Prices: model.Prices{"p/known": {Input: 1, Output: 1}}, Windows: []spend.Window[any]{{Name: "daily", Length: time.Hour, Cost: 1, Reserve: 1e-3}}}
			window := agent.WithPolicies(spend.Policy("money", o))
			before := asked.Load()
			j := new(journal.Memory)
			c.play(t.Context(), streamed, window, agent.WithJournal(j), agent.WithRunID("r"))
			sent := asked.Load() - before
			require.Equal(t, c.sent, sent, where)
			require.InDelta(t, each*float64(sent), inWindow(t, o), 1e-12, where)
			again := c.play(t.Context(), streamed, window, agent.WithJournal(j), agent.WithRunID("r"))
			require.InDelta(t, each*float64(asked.Load()-before), inWindow(t, o), 1e-12, "%s: what a replay sends, and nothing else", where)
			require.GreaterOrEqual(t, int64(again.Requests), sent, where)
		}
	}
}

// playing runs an agent, however it ends.
func playing[O any](t *testing.T, c agent.Config[user, O]) func(context.Context, bool, ...agent.RunOption) toolset.Usage {
	a := agent.Must(agent.New(c))
	return func(ctx context.Context, streamed bool, opts ...agent.RunOption) toolset.Usage {
		var res *agent.Result[O]
		var err error
		if streamed {
			res, err = a.Stream(ctx, user{"ada"}, "go", opts...).Result()
		} else {
			res, err = a.Run(ctx, user{"ada"}, "go", opts...)
		}
		if err == nil {
			return res.Usage
		}
		var failed *agent.RunError
		require.ErrorAs(t, err, &failed)
		return failed.Usage
	}
}

// inWindow returns what is used of a window of money, as its store has it.
func inWindow(t *testing.T, o spend.Options[any]) (sum float64) {
	t.Helper()
	list, err := o.Store.List(t.Context(), session.Query{})
	require.NoError(t, err)
	for _, info := range list.Sessions {
		for e, err := range o.Store.Load(t.Context(), info.ID, 0) {
			require.NoError(t, err)
			var content struct {
				Account struct {
					Spent []struct{ Value float64 }
					Held  []struct{ Value float64 }
				}
			}
			require.NoError(t, json.Unmarshal(e.Data, &content))
			require.Empty(t, content.Account.Held)
			sum = 0
			for _, s := range content.Account.Spent {
				sum += s.Value
			}
		}
	}
	return sum
}

// kept keeps the contexts of what is appended.
type kept struct {
	session.Memory
	contexts []context.Context
}

func (k *kept) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	k.contexts = append(k.contexts, ctx)
	return k.Memory.Append(ctx, l, head, b)
}

// TestSettlingEnds: the context in which a window is settled ends with that, whatever the run does.
func TestSettlingEnds(t *testing.T) {
	store := new(kept)
	_, err := spender(1, hourly(store, 100, 10)).Run(t.Context(), user{"ada"}, "go")
	require.NoError(t, err)
	require.Len(t, store.contexts, 2, "a reservation and what was used")
	require.ErrorIs(t, store.contexts[1].Err(), context.Canceled)
}
