// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestStateInMemoryIsKeptOrRefused: the engines that stay in one process keep what tools have in
// memory, and one with a worker for each task refuses the tool if it is told to.
func TestStateInMemoryIsKeptOrRefused(t *testing.T) {
	script := func() *modeltest.Scripted {
		call := func(id string) modeltest.Step { return modeltest.Say(model.ToolCall(id, "count", "{}")) }
		return modeltest.Script(call("c1"), call("c2"), modeltest.SayText("Two."))
	}
	newAgent := func(m model.Model, set toolset.Toolset[none]) *agent.Agent[none, string] {
		return agent.Must(agent.New(agent.Config[none, string]{Name: "counter", Model: m, Toolsets: []toolset.Toolset[none]{set}}))
	}
	check := func(t *testing.T, m *modeltest.Scripted, res *agent.Result[string], err error) error {
		var messages []*model.Message
		if err == nil {
			messages = res.Messages
		}
		return enginetest.CheckCounter(messages, err, len(m.Requests()))
	}
	t.Run("native", func(t *testing.T) {
		m := script()
		res, err := newAgent(m, enginetest.Counter[none]()).Run(t.Context(), none{}, "Count.")
		require.NoError(t, check(t, m, res, err))
		require.NoError(t, err)
	})
	t.Run("journal", func(t *testing.T) {
		m := script()
		res, err := newAgent(m, enginetest.Counter[none]()).Run(t.Context(), none{}, "Count.", agent.WithJournal(new(journal.Memory)))
		require.NoError(t, check(t, m, res, err))
		require.NoError(t, err)
	})
	scattered := func(t *testing.T, set toolset.Toolset[none]) (*modeltest.Scripted, *agent.Result[string], error) {
		m := script()
		a := newAgent(m, set)
		each := func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			w := agent.NewWorker(a, none{})
			defer w.Close(ctx)
			return engine.Execute(ctx, w, task, report)
		}
		res, err := a.Run(t.Context(), none{}, "Count.", agent.WithEngine(func(_ context.Context, w engine.Worker) (engine.Engine, error) {
			return enginetest.NewRemote(w, each), nil
		}))
		return m, res, err
	}
	t.Run("a worker for each task", func(t *testing.T) {
		m, res, err := scattered(t, toolset.Stateless(enginetest.Counter[none]()))
		require.NoError(t, check(t, m, res, err))
		require.ErrorAs(t, err, new(*toolset.InMemoryError), "it keeps its type between processes")
	})
	t.Run("a worker for each task that does not care", func(t *testing.T) {
		m, res, err := scattered(t, enginetest.Counter[none]())
		require.ErrorContains(t, check(t, m, res, err), "call 2 of the run has counted 1")
	})
}
