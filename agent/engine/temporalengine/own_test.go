// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// own starts a worker whose workflow is work, which runs an agent, and the workflow.
func own(
	t *testing.T, c client.Client, cfg temporalengine.Config[deps, report], work any, args ...any,
) client.WorkflowRun {
	t.Helper()
	queue := rand.Text()
	w := worker.New(c, queue, worker.Options{})
	closeRuns, err := temporalengine.RegisterActivities(w, cfg)
	require.NoError(t, err)
	w.RegisterWorkflowWithOptions(work, workflow.RegisterOptions{Name: "own"})
	w.RegisterActivityWithOptions(func(_ context.Context, what string) (string, error) {
		return "published " + what, nil
	}, activity.RegisterOptions{Name: "publish"})
	require.NoError(t, w.Start())
	t.Cleanup(func() {
		w.Stop()
		closeRuns()
	})
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: rand.Text(), TaskQueue: queue}, "own", args...)
	require.NoError(t, err)
	return run
}

// TestAgentsRunInsideWorkflows of the user's: two runs, with an approval, and an activity between
// them.
func TestAgentsRunInsideWorkflows(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	keys := make(chan string, 10)
	tool := func(_ context.Context, run *toolset.RunContext[deps], _ struct{}) (string, error) {
		keys <- run.IdempotencyKey()
		return "worked for " + run.Deps.user, nil
	}
	cfg := config(agent.Must(agent.New(agent.Config[deps, report]{
		Model: said(model.Response(model.ToolCall("a", "work", `{}`)), model.Response(final("done"))),
		Tools: []*toolset.Tool[deps]{toolset.Func("work", "Work.", tool, asksFirst)},
	})), blobs)
	run := own(t, c, cfg, func(ctx workflow.Context) (string, error) {
		var text string
		for range 2 {
			res, err := temporalengine.RunAgent(ctx, cfg, temporalengine.Input{Prompt: "Go.", Metadata: ada})
			if err != nil {
				return "", err
			}
			ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
			if err := workflow.ExecuteActivity(ctx, "publish", res.Output.Text).Get(ctx, &text); err != nil {
				return "", err
			}
		}
		return text, nil
	})
	runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: cfg.Name, TaskQueue: "q"})
	require.NoError(t, err)
	for range 2 {
		pending := waiting(t, runs.Run(run.GetID()))
		require.Equal(t, "work", pending[0].Tool)
		_, err := runs.Run(run.GetID()).Answer(t.Context(), allow(pending)[0])
		require.NoError(t, err)
		<-keys
	}
	var text string
	require.NoError(t, run.Get(t.Context(), &text))
	require.Equal(t, "published done", text)
}

// TestRunInsideAWorkflowFailsAsAnError of which the workflow decides what follows.
func TestRunInsideAWorkflowFailsAsAnError(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	cfg := config(newAgent(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return nil, errors.New("the provider is down")
	})), blobs)
	run := own(t, c, cfg, func(ctx workflow.Context) (string, error) {
		_, err := temporalengine.RunAgent(ctx, cfg, temporalengine.Input{Prompt: "Go."})
		var failed *temporalengine.Error
		if !errors.As(err, &failed) {
			return "", err
		}
		return fmt.Sprint(len(failed.Messages), " ", failed.Err), nil
	})
	var text string
	require.NoError(t, run.Get(t.Context(), &text))
	require.Contains(t, text, "1 ")
	require.Contains(t, text, "the provider is down")
}

// TestCancellationOfAWorkflowReachesTheToolsOfItsRuns.
func TestCancellationOfAWorkflowReachesTheToolsOfItsRuns(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	working, stopped := make(chan struct{}), make(chan error, 1)
	wait := func(ctx context.Context, _ *toolset.RunContext[deps], _ struct{}) (string, error) {
		close(working)
		<-ctx.Done()
		stopped <- ctx.Err()
		return "", ctx.Err()
	}
	cfg := config(agent.Must(agent.New(agent.Config[deps, report]{
		Model: said(model.Response(model.ToolCall("a", "wait", `{}`))),
		Tools: []*toolset.Tool[deps]{toolset.Func("wait", "Wait.", wait)},
	})), blobs)
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Heartbeat: time.Second} }
	run := own(t, c, cfg, func(ctx workflow.Context) (string, error) {
		_, err := temporalengine.RunAgent(ctx, cfg, temporalengine.Input{Prompt: "Go."})
		if !temporal.IsCanceledError(err) {
			return "", fmt.Errorf("not cancelled: %w", err)
		}
		return "", err
	})
	<-working
	require.NoError(t, c.CancelWorkflow(t.Context(), run.GetID(), ""))
	err := run.Get(t.Context(), nil)
	require.ErrorIs(t, <-stopped, context.Canceled)
	require.True(t, temporal.IsCanceledError(err), err)
}

// TestWorkersWithVersions register agents without a panic.
func TestWorkersWithVersions(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	o := worker.Options{DeploymentOptions: worker.DeploymentOptions{
		UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: "agents", BuildID: "1"},
	}}
	w := worker.New(c, rand.Text(), o)
	closeRuns, err := temporalengine.Register(w, config(newAgent(t, said()), blobs))
	require.NoError(t, err)
	closeRuns()
	_, err = temporalengine.Register(w, config(newAgent(t, said()), blobs))
	require.ErrorContains(t, err, "temporalengine: register: ", "it is registered already")
}

// asksFirst has each call of a tool approved.
var asksFirst = toolset.Approve(func(context.Context, *toolset.RunContext[deps], struct{}) (*toolset.Approval, error) {
	return &toolset.Approval{Reason: "guarded"}, nil
})
