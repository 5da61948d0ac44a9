// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

// summaries is a model that writes summaries for 10 tokens, and counts them.
func summaries(asked *int) model.Model {
	return modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		*asked++
		resp := model.Response(model.Text("short"))
		resp.Usage = model.Usage{InputTokens: 10}
		return resp, nil
	})
}

// TestCommandsCountInTheWindow: what /compact asks counts like a request of a run, once, and is not
// sent if the window, or a shared meter, has no room. The conversation goes on as it was.
func TestCommandsCountInTheWindow(t *testing.T) {
	const window = 44 // four requests of 10, each with a reservation of 5
	o := hourly(new(session.Memory), window, 5)
	for name, installed := range map[string]struct {
		own []agent.Capability[user]
		opt []agent.RunOption
	}{
		"of the agent":   {own: []agent.Capability[user]{spend.New(o)}},
		"of the options": {opt: []agent.RunOption{agent.WithPolicies(spend.Policy("house", hourly(new(session.Memory), window, 5)))}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			short := summaries(&asked)
			a := agent.Must(agent.New(agent.Config[user, string]{
				Model:        costs("well"),
				Capabilities: append(installed.own, compaction.New(compaction.Options[user]{Model: short})),
			}))
			var messages []*model.Message
			say := func() error {
				res, err := a.Run(t.Context(), user{"ada"}, "Hello.", append(installed.opt, agent.WithHistory(messages))...)
				if err == nil {
					messages = res.Messages
				}
				return err
			}
			require.NoError(t, say())
			require.NoError(t, say())
			res, ok, err := a.Command(t.Context(), user{"ada"}, "/compact", messages, installed.opt...)
			require.NoError(t, err)
			require.True(t, ok)
			require.NotNil(t, res.Messages)
			messages = res.Messages
			require.NoError(t, say(), "the conversation goes on")
			before := len(messages)
			require.ErrorIs(t, say(), spend.ErrSpent, "40 of 44 are used")
			_, ok, err = a.Command(t.Context(), user{"ada"}, "/compact", messages, installed.opt...)
			require.True(t, ok)
			require.ErrorIs(t, err, spend.ErrSpent)
			require.Len(t, messages, before)
			require.Equal(t, 1, asked, "it was not sent")
			_, _, err = a.Command(t.Context(), user{"bob"}, "/compact", messages, installed.opt...)
			require.NoError(t, err, "the window of another user")
		})
	}
}

func TestCommandsCountOnASharedMeter(t *testing.T) {
	asked := 0
	a := agent.Must(agent.New(agent.Config[user, string]{
		Model: costs("well"), Prices: model.Prices{"p/known": {Input: 1e6}, "modeltest/*": {Input: 1e6}},
		Capabilities: []agent.Capability[user]{compaction.New(compaction.Options[user]{Model: summaries(&asked)})},
	}))
	meter := toolset.NewMeter(toolset.Limits{Cost: 25})
	var messages []*model.Message
	for range 2 {
		res, err := a.Run(t.Context(), user{"ada"}, "Hello.", agent.WithMeter(meter), agent.WithHistory(messages))
		require.NoError(t, err)
		messages = res.Messages
	}
	_, _, err := a.Command(t.Context(), user{"ada"}, "/compact", messages, agent.WithMeter(meter))
	require.NoError(t, err)
	require.Equal(t, 3, meter.Usage().Requests)
	require.InDelta(t, 30, meter.Usage().Cost, 1e-9)
	_, _, err = a.Command(t.Context(), user{"ada"}, "/compact", messages, agent.WithMeter(meter))
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, 1, asked)
}
