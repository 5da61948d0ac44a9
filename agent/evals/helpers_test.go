// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// scoresOf runs a task on one case, and returns its scores by name.
func scoresOf[In, Out any](t *testing.T, c evals.Case[In, Out], task evals.Task[In, Out],
	list ...evals.Evaluator) map[string]evals.Score {
	t.Helper()
	d := evals.Dataset[In, Out]{Cases: []evals.Case[In, Out]{c}, Evaluators: list}
	report, err := evals.Run(t.Context(), d, task, evals.Options{Retries: -1})
	require.NoError(t, err)
	scores := map[string]evals.Score{}
	for _, s := range report.Cases[0].Trials[0].Scores {
		scores[s.Name] = s
	}
	return scores
}

// scoreOf runs one evaluator on an output.
func scoreOf(t *testing.T, e evals.Evaluator, output any, expected ...any) evals.Score {
	t.Helper()
	c := evals.Case[any, any]{Unlabeled: len(expected) == 0}
	if len(expected) > 0 {
		c.Expected = expected[0]
	}
	task := func(context.Context, any) (any, error) { return output, nil }
	return scoresOf(t, c, task, e)[e.Name()]
}

// raw is a JSON text as a value.
func raw(text string) json.RawMessage { return json.RawMessage(text) }

type order struct {
	ID    string `json:"id" validate:"required"`
	Cents int    `json:"cents,omitempty"`
}

// tool returns a tool that answers with fn.
func tool(name string, fn func(order) (string, error)) *toolset.Tool[any] {
	return toolset.Func(name, "A tool.", func(_ context.Context, _ *toolset.RunContext[any], o order) (string, error) {
		return fn(o)
	})
}

func fine(order) (string, error) { return "done", nil }

// scripted returns an agent with tools whose model takes the steps.
func scripted(tools []*toolset.Tool[any], steps ...modeltest.Step) *agent.Agent[any, string] {
	return agent.Must(agent.New(agent.Config[any, string]{
		Name: "clerk", Model: modeltest.Script(steps...), Tools: tools,
	}))
}

// saying returns an agent whose model always says the same.
func saying(text string) *agent.Agent[any, string] {
	return agent.Must(agent.New(agent.Config[any, string]{
		Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			m := model.Response(model.Text(text))
			m.Usage = model.Usage{InputTokens: 10, OutputTokens: 5}
			return m, nil
		}),
	}))
}

// named returns n cases.
func named(n int) []evals.Case[string, string] {
	cases := make([]evals.Case[string, string], n)
	for i := range cases {
		cases[i] = evals.Case[string, string]{Input: "go", Expected: "ok"}
	}
	return cases
}

// known is a model that tells what its answers depend on.
type known struct {
	model.Model
	id string
}

func (k known) Identity() string { return k.id }
