// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
)

// Local activities get the converter of their workflow. What that does for workflows must not happen on their goroutines.
func TestConverterOfLocalActivitiesLeavesTheWorkflowAlone(t *testing.T) {
	c := temporalengine.Converter(new(temporalengine.MemoryBlobs))
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a second is little on a machine that is busy
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		inside := c.(workflow.ContextAware).WithWorkflowContext(ctx)
		require.NotEqual(t, c, inside)
		require.Equal(t, c, inside.(workflow.ContextAware).WithContext(context.Background()))
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}

// 6,000 calls that are local activities, ten at a time in each of 100 runs.
func TestLocalCallsDoNotStopTheWorker(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	cfg := config(walker(6, 10, 10), blobs)
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Local: true} }
	runs := start(t, c, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // it takes seconds, or for ever
	defer cancel()
	var all []*temporalengine.Run[report]
	for range 100 {
		run, err := runs.Start(ctx, temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		all = append(all, run)
	}
	for _, run := range all {
		res, err := run.Result(ctx)
		require.NoError(t, err)
		require.Equal(t, 60, res.Usage.ToolCalls)
	}
}
