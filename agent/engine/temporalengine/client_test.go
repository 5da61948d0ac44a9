// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// away is a client of a server that goes away after its first answer.
type away struct {
	client.Client
	first error
}

var errAway = serviceerror.NewUnavailable("the server is away")

func (a *away) SignalWorkflow(context.Context, string, string, string, any) error { return a.first }

func (a *away) GetWorkflow(context.Context, string, string) client.WorkflowRun {
	return awayRun{nil, a.first}
}

func (a *away) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, errAway
}

type awayRun struct {
	client.WorkflowRun
	err error
}

func (r awayRun) Get(context.Context, any) error { return r.err }

// TestServerThatIsAwaySaysNothingOfARun: the run is there, and may be going on.
func TestServerThatIsAwaySaysNothingOfARun(t *testing.T) {
	for _, first := range []error{serviceerror.NewNotFound("no such workflow, or it has ended"), errors.Join(new(temporal.WorkflowExecutionError), new(temporal.TerminatedError))} {
		runs, err := temporalengine.NewClient[report](&away{first: first}, temporalengine.ClientOptions{Name: "n", TaskQueue: "q"})
		require.NoError(t, err)
		_, err = runs.Run("r").Result(t.Context())
		require.ErrorIs(t, err, errAway)
		require.False(t, errors.As(err, new(*temporalengine.Error)))
		require.NotErrorIs(t, err, temporalengine.ErrNoRun)
	}
	runs, err := temporalengine.NewClient[report](&away{first: serviceerror.NewNotFound("no such workflow, or it has ended")}, temporalengine.ClientOptions{Name: "n", TaskQueue: "q"})
	require.NoError(t, err)
	err = runs.Run("r").Send(t.Context(), model.User("Go on."))
	require.ErrorIs(t, err, errAway)
	require.NotErrorIs(t, err, temporalengine.ErrNoRun)
}

// TestContextThatEndsIsTheError of every call of a client, whoever finds out first.
func TestContextThatEndsIsTheError(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	queue := rand.Text()
	stop := work(t, c, queue, worker.Options{}, config(newAgent(t, said(model.Response(model.ToolCall("g", "guarded", `{"n":1}`)))), blobs))
	runs := clientOf(t, c, queue)
	run, err := runs.Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	calls := waiting(t, run)
	stop() // nobody answers
	for name, call := range map[string]func(ctx context.Context) error{
		"start": func(ctx context.Context) error {
			_, err := runs.Start(ctx, temporalengine.Input{Prompt: "Go."})
			return err
		},
		"send":   func(ctx context.Context) error { return run.Send(ctx, model.User("Hurry.")) },
		"answer": func(ctx context.Context) error { _, err := run.Answer(ctx, both(calls)); return err },
		"reply":  func(ctx context.Context) error { return run.Reply(ctx, run.ID()+"?1", accept("{}")) },
		"state":  func(ctx context.Context) error { _, err := run.State(ctx); return err },
		"cancel": func(ctx context.Context) error { return runs.Run("nobody").Cancel(ctx) },
	} {
		for i := range 12 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*100*time.Microsecond)
			if err := call(ctx); err != nil && !(name == "cancel" && errors.Is(err, temporalengine.ErrNoRun)) {
				require.ErrorIs(t, err, context.DeadlineExceeded, name)
			}
			cancel()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		mine := errors.New("mine")
		cancel(mine)
		require.ErrorIs(t, call(ctx), mine, name)
	}
}

// TestRunsWithTheSameID: the first one counts, with its input, and the others are told.
func TestRunsWithTheSameID(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	runs := start(t, c, config(newAgent(t, modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		return model.Response(final(req.Messages[0].Parts[0].Text)), nil
	})), blobs))
	id := rand.Text()
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			_, errs[i] = runs.Start(t.Context(), temporalengine.Input{ID: id, Prompt: fmt.Sprint("Go ", i)})
		})
	}
	all.Wait()
	first := -1
	for i, err := range errs {
		if err == nil {
			require.Equal(t, -1, first)
			first = i
			continue
		}
		require.ErrorIs(t, err, temporalengine.ErrRunning)
	}
	res, err := runs.Run(id).Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint("Go ", first), res.Output.Text)
}
