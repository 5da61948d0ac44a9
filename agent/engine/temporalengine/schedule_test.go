// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
)

// TestScheduledRuns are runs like any other. Each has an id of its own.
func TestScheduledRuns(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	require.NoError(t, temporalengine.AddSearchAttributes(t.Context(), c, "default"))
	queue := rand.Text()
	cfg := config(newAgent(t, said(model.Response(model.ToolCall("a", "guarded", `{"n":1}`)), model.Response(final("done")))), blobs)
	work(t, c, queue, worker.Options{}, cfg)
	index := new(temporalengine.Index)
	schedule, err := c.ScheduleClient().Create(t.Context(), client.ScheduleOptions{
		ID: queue, Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: 24 * time.Hour}}},
		Action: &client.ScheduleWorkflowAction{
			ID: "report", Workflow: cfg.Name, TaskQueue: queue,
			Args:                  []any{temporalengine.Input{Prompt: "Write the report.", Metadata: ada, User: queue}},
			TypedSearchAttributes: index.Attributes(cfg.Name, queue),
		},
	})
	require.NoError(t, err)
	runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: cfg.Name, TaskQueue: queue, Index: index})
	require.NoError(t, err)
	seen := map[string]bool{}
	for range 2 {
		require.NoError(t, schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
		var id string
		require.Eventually(t, func() bool {
			for w, err := range runs.Waiting(t.Context(), queue) {
				require.NoError(t, err)
				id = w.ID
			}
			return id != "" && !seen[id]
		}, time.Minute, 50*time.Millisecond)
		seen[id] = true
		run := runs.Run(id)
		_, err := run.Answer(t.Context(), both(waiting(t, run)))
		require.NoError(t, err)
		res, err := run.Result(t.Context())
		require.NoError(t, err)
		require.Equal(t, id, res.RunID)
		require.Equal(t, "done", res.Output.Text)
		time.Sleep(1100 * time.Millisecond) // the server names scheduled workflows by the second
	}
	require.NoError(t, schedule.Delete(t.Context()))
}
