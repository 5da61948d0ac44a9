// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
)

// TestTasksApartFromTheirLoopAreRecordedOnce: where the loop of a run may be repeated, such as in a workflow, requests and calls are recorded where
// they are executed, and the loop records nothing. Agents inside tools are recorded as ever.
func TestTasksApartFromTheirLoopAreRecordedOnce(t *testing.T) {
	r := newRecorder()
	inside := newAgent(t, agent.Config[deps, string]{Name: "inside", Model: answers(modeltest.SayText("found"))})
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look"), model.ToolCall("2", "research", `{"prompt":"Go."}`)), modeltest.SayText("done")),
	}, says("look", "nothing"), agent.AsTool("research", "", inside, func(d deps) deps { return d }))
	ctx := agent.WithInstrumentation(t.Context(), otelagent.New(r.config())) // besides the agent's own: recorded once all the same
	worker := agent.NewWorker(a, deps{})
	defer worker.Close(ctx)
	elsewhere := func(_ context.Context, task []byte, report func([]byte) error) ([]byte, error) {
		return engine.Execute(ctx, worker, task, report)
	}
	_, err := a.Run(engine.WithPart(ctx, engine.LoopOnly), deps{}, "go", agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		return enginetest.NewRemote(local, elsewhere), nil
	}))
	require.NoError(t, err)
	metrics := dumpMetrics(t, r)
	require.Equal(t, 1, strings.Count(metrics, "gen_ai.invoke_agent.duration"), metrics)
	require.Contains(t, metrics, "gen_ai.agent.name=inside", metrics)
	require.NotContains(t, metrics, "gen_ai.agent.name=helper", metrics)
	require.Contains(t, metrics, "gen_ai.client.operation.duration s: 3 recorded", metrics)
	require.Contains(t, metrics, "gen_ai.execute_tool.duration s: 1 recorded", metrics)
	require.Equal(t, 2, strings.Count(metrics, "gen_ai.execute_tool.duration"), metrics)
}
