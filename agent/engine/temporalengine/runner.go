// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// RunnerConfig configures a [Runner]. Client, TaskQueue and Store are required.
type RunnerConfig struct {
	// Client is the client of Temporal. It stays open as long as the runner is in use.
	Client client.Client
	// TaskQueue is the queue of the workers. All programs that share the store use the same one.
	TaskQueue string
	// Store is the store of the host. It must be a [session.Watcher], on all machines the same one.
	Store session.Store
	// Name is the type of the workflows, and begins their ids. Empty means "ponte.session".
	Name string
	// Heartbeat is after how long without a sign of life a worker counts as lost, and another one
	// continues the turn. If the store sees that it has died, that takes half the time. Zero means
	// 5 seconds.
	Heartbeat time.Duration
	// Timeout bounds how long a worker works on a session without a pause, with the time that turns
	// wait for people. After it, another attempt continues the turn. Zero means 7 days.
	Timeout time.Duration
	// Worker are the options of the worker of [Runner.Serve], such as how many turns it runs at a
	// time.
	Worker worker.Options
}

// Runner has Temporal distribute the turns of sessions over workers: see [NewRunner].
type Runner struct{ config RunnerConfig }

var _ host.Runner = (*Runner)(nil)

// NewRunner returns a runner for [host.Config]. While a session has work, it has a workflow, whose
// activity runs turns on a worker: a process that calls [host.Host.Serve]. The session is the log of
// its turns, so surfaces in all processes show them as they proceed, and the workflow has only the
// id of the session. If a worker is lost, Temporal has another one continue the turn. Processes that
// only show sessions need no worker.
func NewRunner(c RunnerConfig) (*Runner, error) {
	var errs []error
	if c.Client == nil {
		errs = append(errs, errors.New("temporalengine: RunnerConfig.Client is nil"))
	}
	if c.TaskQueue == "" {
		errs = append(errs, errors.New("temporalengine: RunnerConfig.TaskQueue is empty: name the queue of the workers"))
	}
	if _, ok := c.Store.(session.Watcher); !ok {
		errs = append(errs, errors.New("temporalengine: RunnerConfig.Store is not a session.Watcher: use the store of the host"))
	}
	if c.Heartbeat < 0 || c.Timeout < 0 {
		errs = append(errs, errors.New("temporalengine: RunnerConfig: a duration is negative"))
	}
	c.Name = cmp.Or(c.Name, "ponte.session")
	c.Heartbeat, c.Timeout = cmp.Or(c.Heartbeat, 5*time.Second), cmp.Or(c.Timeout, 7*24*time.Hour)
	return &Runner{c}, errors.Join(errs...)
}

// wakeSignal tells the workflow of a session that there is something to do.
const wakeSignal = "wake"

func (r *Runner) options(id string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: r.WorkflowID(id), TaskQueue: r.config.TaskQueue, WorkflowTaskTimeout: max(r.config.Heartbeat, time.Second),
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}
}

// WorkflowID returns the id of the workflow that a session has while it has work.
func (r *Runner) WorkflowID(session string) string { return r.config.Name + "/" + session }

// Wake implements [host.Runner].
func (r *Runner) Wake(ctx context.Context, id string) error {
	_, err := r.config.Client.SignalWithStartWorkflow(ctx, r.WorkflowID(id), wakeSignal, nil, r.options(id), r.config.Name, id)
	if err != nil {
		return fmt.Errorf("temporalengine: wake session %s: %w", id, err)
	}
	return nil
}

// Serve implements [host.Runner]: it is a worker until ctx ends.
func (r *Runner) Serve(ctx context.Context, turns host.Turns) error {
	o := r.config.Worker
	o.WorkerStopTimeout = cmp.Or(o.WorkerStopTimeout, 10*time.Second)
	o.StickyScheduleToStartTimeout = cmp.Or(o.StickyScheduleToStartTimeout, r.config.Heartbeat)
	w := worker.New(r.config.Client, r.config.TaskQueue, o)
	a := advancing{turns: turns}
	w.RegisterWorkflowWithOptions(r.run, workflow.RegisterOptions{
		Name: r.config.Name, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	})
	w.RegisterActivityWithOptions(a.advance, activity.RegisterOptions{Name: r.activity()})
	if err := w.Start(); err != nil {
		return fmt.Errorf("temporalengine: serve sessions: %w", err)
	}
	defer w.Stop()
	(&patrol{runner: r, spared: map[string]time.Time{}}).walk(ctx)
	return context.Cause(ctx)
}

func (r *Runner) activity() string { return r.config.Name + ".turns" }

// run is the workflow of a session. It ends when the session has no more work.
func (r *Runner) run(ctx workflow.Context, id string) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: r.config.Timeout, HeartbeatTimeout: r.config.Heartbeat, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: 10 * time.Second},
	})
	wakes := workflow.GetSignalChannel(ctx, wakeSignal)
	for {
		for wakes.ReceiveAsync(nil) { // what they tell of is in the inbox
		}
		if err := workflow.ExecuteActivity(ctx, r.activity(), id).Get(ctx, nil); err != nil {
			return err
		}
		switch {
		case wakes.Len() == 0:
			return nil
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			return workflow.NewContinueAsNewError(ctx, r.config.Name, id)
		}
	}
}

// advancing is the activity.
type advancing struct{ turns host.Turns }

// held is how long to wait for a session that another process holds for a moment.
const held = 50 * time.Millisecond

// advance runs the turns of a session until it has no more work.
func (a *advancing) advance(ctx context.Context, id string) error {
	defer beat(ctx)()
	ctx, stop := moving(ctx)
	defer stop()
	for {
		_, err := a.turns.Advance(ctx, id)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, host.ErrIdle), errors.Is(err, session.ErrNotFound):
			return nil
		case errors.Is(err, session.ErrHeld):
			select {
			case <-time.After(held):
			case <-ctx.Done():
			}
		case err != nil:
			return short(err)
		}
	}
}

// moving returns a context that ends with that of the activity. Its cause is [host.ErrMoved], and
// another attempt continues the turn, unless the workflow was cancelled: if the worker stops, does
// not reach the server, or is not the one that has the turn any more.
func moving(ctx context.Context) (moved context.Context, stop func()) {
	moved, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stops, ended := activity.GetWorkerStopChannel(ctx), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-stops:
		case <-ctx.Done():
		case <-moved.Done():
			return
		}
		select {
		case <-stops:
		default:
			if cause := context.Cause(ctx); temporal.IsCanceledError(cause) {
				cancel(cause)
			}
		}
		cancel(host.ErrMoved)
	}()
	return moved, func() {
		cancel(nil)
		<-ended
	}
}
