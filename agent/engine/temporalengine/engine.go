// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// taskInput is the input of an activity.
type taskInput struct {
	// Run is the workflow's input without what only the workflow needs.
	Run Input `json:"run"`
	// Task is a task in the form of engine.MarshalTask, without the history. History stands for it.
	Task    json.RawMessage `json:"task"`
	History *reference      `json:"history,omitempty"`
}

// taskOutput is what an activity returns.
type taskOutput struct {
	// Done is the result in the form of engine.MarshalDone.
	Done json.RawMessage `json:"done"`
}

// runEngine is the engine of one run, in its workflow. All methods are called on the workflow's coroutine.
type runEngine struct {
	ctx   workflow.Context
	local engine.Worker
	name  string // of the activity
	run   Input
	tool  func(name string) Activity
	step  Activity
	chain chain
	ids   *uint64
}

type future struct {
	task   *engine.Task
	ctx    context.Context // of the task
	cancel workflow.CancelFunc
	result workflow.Future
	tip    tip
	done   *engine.Done
}

// Done implements [engine.Future].
func (f *future) Done() *engine.Done { return f.done }

// Fuses implements [engine.Fuser].
func (e *runEngine) Fuses() bool { return true }

// Start implements [engine.Engine].
func (e *runEngine) Start(ctx context.Context, t *engine.Task) engine.Future {
	f := &future{task: t, ctx: ctx}
	if t.Op == engine.OpInbox {
		f.done = new(engine.Done)
		e.local.Do(ctx, t, nil, f.done)
		f.done.Used = nil // it was counted here
		return f
	}
	in, err := e.input(f)
	if err != nil {
		f.done = &engine.Done{Err: err}
		return f
	}
	how := e.step
	if t.Op == engine.OpTool && e.tool != nil {
		how = e.tool(t.Call.Tool)
	}
	how = how.orDefault()
	retries := &temporal.RetryPolicy{MaximumAttempts: how.Attempts}
	var wctx workflow.Context
	wctx, f.cancel = workflow.WithCancel(e.ctx)
	if how.Local {
		wctx = workflow.WithLocalActivityOptions(wctx, workflow.LocalActivityOptions{StartToCloseTimeout: how.Timeout, RetryPolicy: retries})
		f.result = workflow.ExecuteLocalActivity(wctx, e.name, in)
		return f
	}
	wctx = workflow.WithActivityOptions(wctx, workflow.ActivityOptions{
		StartToCloseTimeout: how.Timeout, HeartbeatTimeout: how.Heartbeat, TaskQueue: how.TaskQueue, RetryPolicy: retries,
		WaitForCancellation: true, // a tool that goes on must not be forgotten
		Summary:             summary(t),
	})
	f.result = workflow.ExecuteActivity(wctx, e.name, in)
	return f
}

// summary is what people read in Temporal's UI.
func summary(t *engine.Task) string {
	if t.Call != nil {
		return fmt.Sprintf("step %d: %s %s", t.Info.Step, t.Op, t.Call.Tool)
	}
	return fmt.Sprintf("step %d: %s", t.Info.Step, t.Op)
}

// input is the input of the activity for a task.
func (e *runEngine) input(f *future) (taskInput, error) {
	in := taskInput{Run: e.run}
	task := *f.task
	if task.Info != nil && task.Request == nil {
		ref, t, err := e.chain.next(task.Info.Messages)
		if err != nil {
			return in, err
		}
		info := *task.Info
		info.Messages = nil
		task.Info, in.History, f.tip = &info, ref, t
	}
	var err error
	in.Task, err = engine.MarshalTask(&task)
	return in, err
}

// WaitAny implements [engine.Engine].
func (e *runEngine) WaitAny(futures []engine.Future, _ engine.Listener) int {
	for {
		selector := workflow.NewSelector(e.ctx)
		for i := range futures {
			f := futures[i].(*future)
			if f.done != nil {
				return i
			}
			if f.ctx.Err() != nil { // the loop needs it no more, or the workflow was cancelled
				f.cancel()
			}
			selector.AddFuture(f.result, func(workflow.Future) { e.finish(f) })
		}
		// A workflow that is cancelled waits for its activities, which are cancelled, too.
		selector.Select(e.detached())
	}
}

// detached is the context to wait with: cancelling the workflow does not end the wait.
func (e *runEngine) detached() workflow.Context {
	ctx, _ := workflow.NewDisconnectedContext(e.ctx)
	return ctx
}

// finish takes the result of an activity.
func (e *runEngine) finish(f *future) {
	defer f.cancel()
	var out taskOutput
	err := f.result.Get(e.detached(), &out)
	var done *engine.Done
	if err == nil {
		e.chain.keep(f.tip)
		done, err = engine.UnmarshalDone(f.task, out.Done)
	}
	if err != nil {
		f.done = &engine.Done{Err: failure(f, err)}
		return
	}
	f.task.Count(done)
	f.done = done
}

// ErrWorkerLost means that an activity was given up, because its workers were lost or took too long.
var ErrWorkerLost = errors.New("temporalengine: the activity was given up")

// failure is the error of a task whose activity has failed.
func failure(f *future, err error) error {
	if temporal.IsCanceledError(err) {
		if cause := context.Cause(f.ctx); cause != nil {
			return cause
		}
		return context.Canceled
	}
	return fmt.Errorf("%w: %w", ErrWorkerLost, err)
}

// Stamp implements [engine.Engine].
func (e *runEngine) Stamp(m *model.Message) { m.Time = workflow.Now(e.ctx).UTC().Round(0) }

// NewID implements [engine.Engine]. Ids are made of the workflow's, so that they are the same in each replay.
func (e *runEngine) NewID() string {
	*e.ids++
	info := workflow.GetInfo(e.ctx)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(info.WorkflowExecution.ID+"\x00"+info.OriginalRunID+"\x00"), *e.ids))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16])
}
