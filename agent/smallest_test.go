// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type nothing struct{}

// The shortest timeout counts, be it the tool's or the agent's.
func TestShortestTimeoutOfToolsCounts(t *testing.T) {
	for name, c := range map[string]struct{ own, others time.Duration }{
		"the agent's": {0, 1}, "the tool's": {1, 0}, "the tool's, before the agent's": {1, time.Hour}, "the tool's, longer": {time.Hour, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			want := cmp.Or(c.own, c.others)
			slow := toolset.Func("slow", "Slow.", func(ctx context.Context, _ *toolset.RunContext[nothing], _ nothing) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}, toolset.Timeout(c.own))
			a := agent.Must(agent.New(agent.Config[nothing, string]{
				Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "slow", "{}")), modeltest.SayText("done")),
				Tools: []*toolset.Tool[nothing]{slow}, ToolTimeout: c.others,
			}))
			res, err := a.Run(t.Context(), nothing{}, "go")
			require.NoError(t, err, name)
			require.Equal(t, want, time.Since(begin), name)
			require.Contains(t, res.Messages[2].Parts[0].Text, want.String(), name)
		})
	}
}

// Of the limits of a run and of a policy on requests the smaller one holds, be it one.
func TestSmallestLimitOnRequestsHolds(t *testing.T) {
	for _, c := range []struct{ run, policy, want int }{{0, 1, 1}, {1, 5, 1}, {5, 1, 1}, {1, 0, 1}, {2, 5, 2}, {5, 2, 2}, {1, 1, 1}} {
		asked := 0
		a := agent.Must(agent.New(agent.Config[nothing, string]{
			Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				asked++
				return model.Response(model.ToolCall("1", "look", "{}")), nil
			}),
			Tools:  []*toolset.Tool[nothing]{toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[nothing], nothing) (string, error) { return "x", nil })},
			Limits: agent.Limits{Requests: c.run},
			Policies: []*agent.Policy{
				agent.NewPolicy(agent.PolicyConfig[nothing]{Name: "p", Limits: agent.Limits{Requests: c.policy}, Check: func() error { return nil }}),
			},
		}))
		_, err := a.Run(t.Context(), nothing{}, "go")
		var limit *agent.LimitError
		require.ErrorAs(t, err, &limit)
		require.Equal(t, c.want, asked, "%+v", c)
	}
}

type closer interface{ Close() }

// An interface with a single method is no output that a model could write.
func TestInterfacesAreNoOutputs(t *testing.T) {
	_, err := agent.New(agent.Config[nothing, closer]{Model: modeltest.Script()})
	require.ErrorContains(t, err, "output: agent_test.closer is an interface: list the types that the model can choose from in Config.Alternatives")
	_, err = agent.New(agent.Config[nothing, any]{Model: modeltest.Script()})
	require.NoError(t, err)
}

// What tools keep is checked to be JSON, however short it is.
func TestShortestMetaIsChecked(t *testing.T) {
	for meta, ok := range map[string]bool{"": true, "1": true, "x": false, "{": false, "{}": true} {
		look := toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[nothing], nothing) (toolset.Result, error) {
			return toolset.Result{Text: "x", Meta: json.RawMessage(meta)}, nil
		})
		a := agent.Must(agent.New(agent.Config[nothing, string]{
			Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "look", "{}")), modeltest.SayText("done")), Tools: []*toolset.Tool[nothing]{look},
		}))
		_, err := a.Run(t.Context(), nothing{}, "go")
		if ok {
			require.NoError(t, err, meta)
			continue
		}
		require.ErrorContains(t, err, "the Meta that the tool returned is not valid JSON", meta)
		require.Error(t, errors.Unwrap(err))
	}
}
