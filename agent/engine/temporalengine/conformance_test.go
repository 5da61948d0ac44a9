// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
)

// within executes tasks with a context that ends with that of the life, too: the test environment does not tell activities that they are cancelled.
type within struct {
	engine.Worker
	life    context.Context
	running sync.WaitGroup
}

// Do implements [engine.Worker].
func (w *within) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	w.running.Add(1)
	defer w.running.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(w.life, func() { cancel(context.Cause(w.life)) })()
	w.Worker.Do(ctx, t, l, done)
}

func TestConformance(t *testing.T) {
	play := func(life context.Context, t *testing.T, l *enginetest.Life, play enginetest.Play) {
		suite := new(testsuite.WorkflowTestSuite)
		suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
		env := suite.NewTestWorkflowEnvironment()
		env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a second is little on a machine that is busy
		env.SetTestTimeout(time.Minute)
		blobs := new(MemoryBlobs)
		env.SetDataConverter(byReferences(blobs)) // the other one races in the test environment, where activities have the workflow's
		w := &within{Worker: l.Worker, life: life}
		a := newActivities(func(context.Context, Input) (engine.Worker, func(context.Context) error, error) {
			return w, func(context.Context) error { return nil }, nil
		}, blobs, time.Hour)
		defer a.close()
		env.RegisterActivityWithOptions(a.do, activity.RegisterOptions{Name: "task"})
		env.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
			run, cancel := context.WithCancelCause(life)
			defer cancel(nil)
			over, end := workflow.WithCancel(ctx)
			defer end()
			workflow.Go(over, func(c workflow.Context) {
				c.Done().Receive(c, nil)
				if ctx.Err() != nil {
					cancel(context.Cause(life))
				}
			})
			return play(run, &runEngine{ctx: ctx, local: l.Worker, name: "task", run: Input{ID: l.RunID}, histories: &histories{blobs: new(MemoryBlobs)},
				state: new(state), messages: workflow.GetSignalChannel(ctx, messageSignal)})
		}, workflow.RegisterOptions{Name: "play"})
		defer context.AfterFunc(life, env.CancelWorkflow)()
		env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: l.RunID})
		env.ExecuteWorkflow("play")
		require.True(t, env.IsWorkflowCompleted())
		require.NoError(t, env.GetWorkflowError())
		w.running.Wait()
	}
	enginetest.Conformance(t, enginetest.Harness{Unwatched: true, Play: play})
}
