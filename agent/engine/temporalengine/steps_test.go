// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

var steps = flag.Int("steps", 30, "how many steps the long run has")

// walker makes a number of steps with calls of a tool each, whose results have a size.
func walker(steps, calls, size int) *agent.Agent[deps, report] {
	result := strings.Repeat("x", size)
	return agent.Must(agent.New(agent.Config[deps, report]{
		Name: "walker", Limits: agent.Limits{Requests: steps + 10},
		Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			step := len(req.Messages) / 2
			if step == steps {
				return model.Response(final("done")), nil
			}
			var parts []model.Part
			for i := range calls {
				parts = append(parts, model.ToolCall(fmt.Sprint("c", i), "work", fmt.Sprintf(`{"n":%d}`, step)))
			}
			return model.Response(parts...), nil
		}),
		Tools: []*toolset.Tool[deps]{toolset.Func("work", "Work.", func(_ context.Context, _ *toolset.RunContext[deps], a args) (string, error) {
			return fmt.Sprint(a.N, " ", result), nil
		})},
	}))
}

// byHand is the workflow that somebody would write who has no engine: an activity for the model, and one for the tool.
func byHand(ctx workflow.Context, steps int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: 30 * time.Second})
	for range steps {
		for _, name := range []string{"model", "tool"} {
			if err := workflow.ExecuteActivity(ctx, name, "x").Get(ctx, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// startByHand starts a worker of the workflow.
func startByHand(t testing.TB, c client.Client, queue string) {
	t.Helper()
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflowWithOptions(byHand, workflow.RegisterOptions{Name: "by hand"})
	for _, name := range []string{"model", "tool"} {
		w.RegisterActivityWithOptions(func(context.Context, string) (string, error) { return "x", nil }, activity.RegisterOptions{Name: name})
	}
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

// TestStepHasFewEvents: at most one more than that of a workflow by hand.
func TestStepHasFewEvents(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	hand := rand.Text()
	startByHand(t, c, hand)
	events := func(steps int) (ponte, byHand int) {
		run, err := start(t, c, config(walker(steps, 1, 10), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		_, err = run.Result(t.Context())
		require.NoError(t, err)
		other, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: hand}, "by hand", steps)
		require.NoError(t, err)
		require.NoError(t, other.Get(t.Context(), nil))
		return len(history(t, c, run.ID())), len(history(t, c, other.GetID()))
	}
	ponte2, hand2 := events(2)
	ponte22, hand22 := events(22)
	ofPonte, ofHand := float64(ponte22-ponte2)/20, float64(hand22-hand2)/20
	t.Logf("events a step: %.1f, by hand %.1f", ofPonte, ofHand)
	require.LessOrEqual(t, ofPonte, ofHand+1)
}

// TestLongRunStaysWithinTheLimits of Temporal: 51,200 events and 50 MiB an execution, 2 MiB an event; and of this package: 256 KiB an event. Repeat the
// proof with -steps 2000.
func TestLongRunStaysWithinTheLimits(t *testing.T) {
	blobs := new(squeezed) // 2,000 steps have 13 GB of blobs, and to sync 6,000 files takes most of an hour
	c := dial(t, blobs)
	run, err := start(t, c, config(walker(*steps, 1, 100<<10), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Len(t, res.Messages, 2**steps+3)
	require.Equal(t, *steps, res.Usage.ToolCalls)
	for i := range *steps {
		require.True(t, strings.HasPrefix(res.Messages[2*i+2].Parts[0].Text, fmt.Sprint(i, " x")), "the result of step %d", i)
	}
	executions, largest, most := 0, 0, 0
	runID := history(t, c, run.ID())[0].GetWorkflowExecutionStartedEventAttributes().FirstExecutionRunId
	for runID != "" {
		executions++
		id := runID
		runID = ""
		n, size := 0, 0
		for it := c.GetWorkflowHistory(t.Context(), run.ID(), id, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); n++ {
			e, err := it.Next()
			require.NoError(t, err)
			data, err := json.Marshal(e)
			require.NoError(t, err)
			largest, size = max(largest, len(data)), size+len(data)
			if a := e.GetWorkflowExecutionContinuedAsNewEventAttributes(); a != nil {
				runID = a.NewExecutionRunId
			}
		}
		require.Less(t, n, 51_200)
		require.Less(t, size, 50<<20)
		most = max(most, n)
	}
	require.Less(t, largest, 256<<10)
	if *steps >= 1000 {
		require.Greater(t, executions, 2)
	}
	t.Logf("%d steps: %d executions of %d events at most, the largest has %d bytes", *steps, executions, most, largest)
}

// BenchmarkStep compares a step with that of a workflow by hand.
func BenchmarkStep(b *testing.B) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(b, blobs)
	hand := rand.Text()
	startByHand(b, c, hand)
	const steps = 50
	runs := start(b, c, config(walker(steps, 1, 10), blobs))
	var ponte, other time.Duration
	for b.Loop() { // one after another, so that both meet the same machine
		begin := time.Now()
		run, err := runs.Start(b.Context(), temporalengine.Input{Prompt: "Go."})
		require.NoError(b, err)
		_, err = run.Result(b.Context())
		require.NoError(b, err)
		ponte += time.Since(begin)
		begin = time.Now()
		w, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: hand}, "by hand", steps)
		require.NoError(b, err)
		require.NoError(b, w.Get(b.Context(), nil))
		other += time.Since(begin)
	}
	b.ReportMetric(ponte.Seconds()*1000/float64(b.N*steps), "ms/step")
	b.ReportMetric(other.Seconds()*1000/float64(b.N*steps), "ms/step-by-hand")
	b.ReportMetric(ponte.Seconds()/other.Seconds(), "ratio")
}

// BenchmarkLocalStep measures a step with a call that is a local activity.
func BenchmarkLocalStep(b *testing.B) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(b, blobs)
	const steps = 50
	cfg := config(walker(steps, 1, 10), blobs)
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Local: true} }
	runs := start(b, c, cfg)
	for b.Loop() {
		run, err := runs.Start(b.Context(), temporalengine.Input{Prompt: "Go."})
		require.NoError(b, err)
		_, err = run.Result(b.Context())
		require.NoError(b, err)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N*steps), "ms/step")
}

// BenchmarkLocalCalls measures tool calls that are local activities: 100 runs of six steps of three calls.
func BenchmarkLocalCalls(b *testing.B) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(b, blobs)
	cfg := config(walker(6, 10, 10), blobs)
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Local: true} }
	runs := start(b, c, cfg)
	calls := 0
	begin := time.Now()
	for b.Loop() {
		var all []*temporalengine.Run[report]
		for range 100 {
			run, err := runs.Start(b.Context(), temporalengine.Input{Prompt: "Go."})
			require.NoError(b, err)
			all = append(all, run)
		}
		for _, run := range all {
			res, err := run.Result(b.Context())
			require.NoError(b, err)
			calls += res.Usage.ToolCalls
		}
	}
	b.ReportMetric(float64(calls)/time.Since(begin).Seconds(), "calls/s")
}
