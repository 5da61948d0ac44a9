// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// The request of a judge counts on the run, under its limits, and a run that is repeated from its journal reads it from there.
func TestRunPaysForItsJudge(t *testing.T) {
	type none struct{}
	run := func(t *testing.T, judge *modeltest.Scripted, opts ...agent.RunOption) (*agent.Result[string], error) {
		layer, err := approval.Judge{Model: judge, Policy: policy}.Layer()
		require.NoError(t, err)
		pay := toolset.Func("pay", "Pays.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
			return "paid", nil
		})
		a := agent.Must(agent.New(agent.Config[none, string]{
			Model:    modeltest.Script(modeltest.Say(model.ToolCall("1", "pay", "{}")), modeltest.SayText("done")),
			Toolsets: []toolset.Toolset[none]{toolset.Approved(toolset.Of(pay), nil)},
		}))
		return a.Run(t.Context(), none{}, "Pay.", append(opts, agent.WithAsker(approval.Layered(thePerson, layer)))...)
	}
	says := func() *modeltest.Scripted { return modeltest.Script(modeltest.SayText(allows)) }

	judge := says()
	res, err := run(t, judge)
	require.NoError(t, err)
	require.Equal(t, 3, res.Usage.Requests)
	require.Len(t, judge.Requests(), 1)

	judge = says()
	_, err = run(t, judge, agent.WithLimits(toolset.Limits{Requests: 1}))
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Empty(t, judge.Requests(), "the limit of the run holds for its judge")

	judge = says()
	log := new(journal.Memory)
	for range 2 {
		res, err = run(t, judge, agent.WithJournal(log), agent.WithRunID("r"))
		require.NoError(t, err)
		require.Equal(t, 3, res.Usage.Requests)
	}
	require.Len(t, judge.Requests(), 1, "the journal has the decision and what it has used")
}
