// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestStateInMemoryIsRefused: a tool that keeps state in memory is refused when the agent is
// registered, or before the first request if it is known only then.
func TestStateInMemoryIsRefused(t *testing.T) {
	call := func(id string) modeltest.Step { return modeltest.Say(model.ToolCall(id, "count", "{}")) }
	m := modeltest.Script(call("c1"), call("c2"), modeltest.SayText(`{"text":"two"}`))
	newAgent := func(c agent.Config[deps, report]) *agent.Agent[deps, report] {
		c.Name, c.Model = "reporter", m
		return agent.Must(agent.New(c))
	}
	t.Run("known before", func(t *testing.T) {
		count := toolset.Func("count", "Count.", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) {
			return "1", nil
		}, toolset.InMemory("a count"))
		c := config(newAgent(agent.Config[deps, report]{Tools: []*toolset.Tool[deps]{count}}), new(temporalengine.MemoryBlobs))
		replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{})
		require.NoError(t, err)
		err = temporalengine.RegisterWorkflow(replayer, c)
		require.ErrorAs(t, err, new(*toolset.InMemoryError))
		require.EqualError(t, err, `temporalengine: Config.Agent: toolset: the tool "count" keeps state in memory (a count), `+
			`and its calls may run in several processes: leave it out, or run the agent on an engine that stays in one process`)
	})
	t.Run("known when a run begins", func(t *testing.T) {
		a := newAgent(agent.Config[deps, report]{Toolsets: []toolset.Toolset[deps]{enginetest.Counter[deps]()}})
		c := config(a, new(temporalengine.MemoryBlobs))
		env := environment(t, c)
		env.ExecuteWorkflow(c.Name, temporalengine.Input{Prompt: "Count."})
		err := env.GetWorkflowError()
		require.ErrorContains(t, err, `the tool "count" keeps state in memory (a count)`)
		require.Empty(t, m.Requests())
	})
}
