// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestGuardsOfTheInputThatNeedMoreThanTheWorkflow are called in activities if they are parallel. A model is not asked in the workflow.
func TestGuardsOfTheInputThatNeedMoreThanTheWorkflow(t *testing.T) {
	judge := func(verdict string) guardrails.Check[deps] {
		return guardrails.ByModel[deps](guardrails.ModelCheck{Policy: "No secrets.", Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return model.Response(model.Text(`{"verdict":"` + verdict + `","reason":"because"}`)), nil
		})})
	}
	users := func(_ context.Context, run *toolset.RunContext[deps], _ *guardrails.Subject) (guardrails.Verdict, error) {
		if run.Deps != (deps{"ada"}) {
			return guardrails.Block("it is not Ada"), nil
		}
		return guardrails.Pass(), nil
	}
	for name, c := range map[string]struct {
		guard guardrails.Guard[deps]
		fails string
	}{
		"a model in the workflow":          {guardrails.Guard[deps]{Check: judge("pass")}, "set Guard.Parallel"},
		"a model that passes the input":    {guardrails.Guard[deps]{Check: judge("pass"), Parallel: true}, ""},
		"a model that blocks the input":    {guardrails.Guard[deps]{Check: judge("block"), Parallel: true}, "because"},
		"dependencies are not there":       {guardrails.Guard[deps]{Check: users}, "it is not Ada"},
		"dependencies, beside the request": {guardrails.Guard[deps]{Check: users, Parallel: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.guard.Name, c.guard.On = "secrets", guardrails.Input
			a, err := agent.New(agent.Config[deps, report]{
				Name: "reporter", Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result", `{"text":"done"}`))), Capabilities: []agent.Capability[deps]{guardrails.New(c.guard)},
			})
			require.NoError(t, err)
			res, err := play(t, config(a, new(temporalengine.MemoryBlobs)), temporalengine.Input{Prompt: "Go.", Metadata: ada})
			if c.fails == "" {
				require.NoError(t, err)
				require.Equal(t, "done", res.Output.Text)
				return
			}
			require.ErrorContains(t, err, c.fails)
		})
	}
}
