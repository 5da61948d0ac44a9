// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

// perConversation is a window of 100 tokens for each conversation.
func perConversation(store session.Store) spend.Options[user] {
	return spend.Options[user]{Store: store, Windows: []spend.Window[user]{{
		Name: "conversation", Length: 24 * time.Hour, Tokens: 100, Reserve: 10,
		Key: func(run *toolset.RunContext[user]) string { return run.ConversationID },
	}}}
}

// TestWindowOfAConversationHoldsForItAlone: the runs of a conversation share a window, with their sub-agents, and no other conversation has it.
func TestWindowOfAConversationHoldsForItAlone(t *testing.T) {
	same := func(u user) user { return u }
	inner := agent.Must(agent.New(agent.Config[user, string]{Model: costs("inner")}))
	o := perConversation(new(session.Memory))
	a := agent.Must(agent.New(agent.Config[user, string]{
		Model: costs("done", model.ToolCall("1", "inner", `{"prompt":"go"}`), model.ToolCall("2", "delegate", `{"agent":"inner","task":"go","background":true}`), model.ToolCall("3", "wait_for_agents", `{}`)),
		Tools: []*toolset.Tool[user]{agent.AsTool("inner", "Inner.", inner, same)},
		Capabilities: []agent.Capability[user]{
			spend.New(o), subagents.New(subagents.Options[user]{Agents: []subagents.Agent[user]{subagents.Of("inner", "Inner.", inner, same)}}),
		},
	}))
	for _, conversation := range []string{"a", "b"} {
		_, err := a.Run(t.Context(), user{}, "go", agent.WithConversationID(conversation))
		require.NoError(t, err)
		_, err = a.Run(t.Context(), user{}, "go", agent.WithConversationID(conversation))
		var spent *spend.Error
		require.ErrorAs(t, err, &spent, "60 of 100 are used")
		require.Equal(t, conversation, spent.Key)
		require.InDelta(t, 100, spent.Used, 0)
	}
	first, err := agentOf(costs("x"), o).Run(t.Context(), user{}, "go") // in a new conversation, with a new id
	require.NoError(t, err)
	for range 9 {
		_, err = agentOf(costs("x"), o).Run(t.Context(), user{}, "go", agent.WithHistory(first.Messages))
		require.NoError(t, err)
	}
	_, err = agentOf(costs("x"), o).Run(t.Context(), user{}, "go", agent.WithHistory(first.Messages))
	var spent *spend.Error
	require.ErrorAs(t, err, &spent)
	require.Equal(t, first.ConversationID, spent.Key)

	page, err := o.Store.List(t.Context(), session.Query{Dir: spend.Dir})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 3, "sub-agents have no windows of their own")
}

// TestUnknownAmountsAreVisibleInTheUsage: an answer that a window counts as its reservation is an unpriced one of the run.
func TestUnknownAmountsAreVisibleInTheUsage(t *testing.T) {
	o := spend.Options[user]{Store: new(session.Memory), Prices: table{}, Windows: []spend.Window[user]{{Name: "daily", Length: time.Hour, Cost: 50, Reserve: 2}}}
	silent := model.Func(model.Info{Provider: "p", Name: "known"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return model.Response(model.Text("x")), nil // without usage
	})
	res, err := agentOf(silent, o).Run(t.Context(), user{}, "Hello.")
	require.NoError(t, err)
	require.Equal(t, 1, res.Usage.Unpriced)
	late := model.Func(model.Info{Provider: "p", Name: "known"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, context.DeadlineExceeded
	})
	_, err = agentOf(late, o).Run(t.Context(), user{}, "Hello.")
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 1, failed.Usage.Unpriced)
	known := costs("x")
	res, err = agentOf(known, o).Run(t.Context(), user{}, "Hello.")
	require.NoError(t, err)
	require.Zero(t, res.Usage.Unpriced)
}

// TestUnknownAmountsCountWhatTheRequestAllowed: the longest answer that the request allowed, at the price of the model that was asked, if
// that is more than the reservation, and at least what was reported.
func TestUnknownAmountsCountWhatTheRequestAllowed(t *testing.T) {
	answers := func(u model.Usage, err error) model.Model {
		first := model.Func(model.Info{Provider: "p", Name: "known"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
			return nil, &model.APIError{Status: 503}
		})
		second := model.Func(model.Info{Provider: "q", Name: "unknown"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
			if err != nil {
				return nil, err
			}
			resp := model.Response(model.Text("x"))
			resp.Usage = u
			return resp, nil
		})
		return fallback(first, second)
	}
	for name, c := range map[string]struct {
		usage   model.Usage
		err     error
		longest int
		want    float64
	}{
		"nothing is known":        {want: 2},
		"a short answer":          {longest: 1, want: 2},
		"a long answer":           {longest: 30, want: 30},
		"its usage is known":      {usage: model.Usage{InputTokens: 40, OutputTokens: 2}, longest: 10, want: 42},
		"it timed out":            {err: context.DeadlineExceeded, longest: 30, want: 30},
		"it was refused":          {err: &model.APIError{Status: 400}, longest: 30, want: 0},
		"it failed after a while": {err: errors.New("broken"), longest: 30, want: 0},
	} {
		o := spend.Options[user]{Store: new(session.Memory), Prices: table{}, Windows: []spend.Window[user]{{Name: "daily", Length: time.Hour, Cost: 100, Reserve: 2}}}
		_, _ = agentOf(answers(c.usage, c.err), o).Run(t.Context(), user{}, "Hello.", agent.WithSettings(model.Settings{MaxTokens: c.longest}))
		o.Windows[0].Reserve = 100
		_, err := agentOf(costs("x"), o).Run(t.Context(), user{}, "Hello.")
		var spent *spend.Error
		if c.want == 0 {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorAs(t, err, &spent, name)
		require.InDelta(t, c.want, spent.Used, 1e-9, name)
	}
}

func fallback(models ...model.Model) model.Model {
	return modelwrap.Fallback(models, modelwrap.FallbackPolicy{})
}
