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
	"sync"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// taskInput is the input of an activity.
type taskInput struct {
	// Run is the workflow's input without what only the workflow needs.
	Run Input `json:"run"`
	// Task is a task in the form of engine.MarshalTask, without its history, which is in History.
	Task    json.RawMessage `json:"task"`
	History *reference      `json:"history,omitempty"`
	// Dropped is the number of transcript messages that the history no longer contains.
	Dropped int `json:"dropped,omitempty"`
	// Little is set if the step has many calls. Their results should then take little space in the
	// events.
	Little bool `json:"little,omitempty"`
}

// taskOutput is the result of an activity, and of the workflow of a call.
type taskOutput struct {
	// Key identifies the task. A different key means that another agent began the workflow.
	Key string `json:"key"`
	// Done is the result in the form of engine.MarshalDone.
	Done json.RawMessage `json:"done"`
}

// runEngine is the engine of one run, in its workflow. All methods are called on the workflow's coroutine.
type runEngine struct {
	ctx      workflow.Context
	local    engine.Worker
	name     string // of the activity
	run      Input
	tool     func(name string) Activity
	step     Activity
	state    *state
	messages workflow.ReceiveChannel
	chain    chain
	// dropped is how many messages history processors have taken away.
	dropped int
	crowd   crowd
	// histories keeps what is too large for the events of many calls.
	histories *histories
	// around is the call that the run is, or nil. own is set if the workflow is the user's.
	around *around
	own    bool
	// steps is how many steps the run has made, in all of its legs.
	steps int
	// continues is set if the run began before this leg.
	continues bool
	// acted is set once this leg has asked the model or called a tool.
	acted bool
	// before is the usage of the earlier legs, until the meter of this leg has counted it.
	before *toolset.Usage
	// outputs are the outputs made so far, as recorded by workers.
	outputs []json.RawMessage
	// resumed is the last message of an earlier execution, until the step that it is the request of is prepared.
	resumed *model.Message
}

type future struct {
	task   *engine.Task
	ctx    context.Context // of the task
	key    string
	how    Activity
	child  bool
	cancel workflow.CancelFunc
	result workflow.Future
	tip    tip
	done   *engine.Done
}

// Done implements [engine.Future].
func (f *future) Done() *engine.Done { return f.done }

// Begin implements [engine.Engine]. Ids derive from the workflow's. Steps count from the beginning
// of the run, which keeps idempotency keys unique.
func (e *runEngine) Begin(context.Context) (engine.Beginning, error) {
	info := workflow.GetInfo(e.ctx)
	of := []byte(info.WorkflowExecution.ID + "\x00" + info.OriginalRunID + "\x00")
	id := func(n uint64) string {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(of, n))
		return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16])
	}
	return engine.Beginning{
		At: engine.TimeOf(workflow.Now(e.ctx)), RunID: id(2), ConversationID: id(1),
		Fuse: true, Continued: e.continues, Steps: e.steps,
	}, nil
}

// Start implements [engine.Engine].
func (e *runEngine) Start(ctx context.Context, t *engine.Task) engine.Future {
	f := &future{task: t, ctx: ctx}
	if e.before != nil { // this is the first task of the leg: nobody has looked at the meter yet
		t.Info.Usage = t.Info.Meter.Add(*e.before)
		e.before = nil
	}
	e.steps = max(e.steps, t.Info.Step)
	if err := e.around.governed(t); err != nil {
		f.done = &engine.Done{Err: err}
		return f
	}
	if t.Op == engine.OpTool || t.Op == engine.OpStep || t.Op == engine.OpModel {
		e.acted = true
	}
	switch t.Op {
	case engine.OpInbox:
		f.done = new(engine.Done)
		e.receive()
		e.local.Do(ctx, t, nil, f.done)
		f.done.Used, f.done.At = nil, engine.TimeOf(workflow.Now(e.ctx)) // it was counted here
		return f
	case engine.OpStep, engine.OpPrepare:
		e.state.messages, e.state.usage = t.Info.Messages, t.Info.Meter.Usage()
		e.crowd.begin()
		if t.Op == engine.OpStep && e.fullBefore(t) {
			f.done = &engine.Done{Err: errFull}
			return f
		}
	}
	f.how = e.step
	if t.Op == engine.OpTool && e.tool != nil {
		f.how = e.tool(t.Call.Tool)
	}
	if e.crowd.full() {
		e.crowd.waiting = append(e.crowd.waiting, f)
		return f
	}
	e.execute(f)
	return f
}

// execute starts the activity or the child of a task.
func (e *runEngine) execute(f *future) {
	e.crowd.calls++
	if f.how.Child != "" {
		e.startChild(f, f.how)
	} else {
		e.startActivity(f, f.how.orDefault())
	}
	if f.done == nil {
		e.crowd.going++
	}
}

func (e *runEngine) startActivity(f *future, how Activity) {
	in, err := e.input(f)
	if err != nil {
		f.done = &engine.Done{Err: err}
		return
	}
	retries := &temporal.RetryPolicy{MaximumAttempts: how.Attempts}
	var wctx workflow.Context
	wctx, f.cancel = workflow.WithCancel(e.ctx)
	if how.Local && e.crowd.local() {
		wctx = workflow.WithLocalActivityOptions(wctx, workflow.LocalActivityOptions{StartToCloseTimeout: how.Timeout, RetryPolicy: retries})
		f.result = workflow.ExecuteLocalActivity(wctx, e.name, in)
		return
	}
	wctx = workflow.WithActivityOptions(wctx, workflow.ActivityOptions{
		StartToCloseTimeout: how.Timeout, HeartbeatTimeout: how.Heartbeat, TaskQueue: how.TaskQueue, RetryPolicy: retries,
		WaitForCancellation: true, // a tool that goes on must not be forgotten
		Summary:             summary(f.task),
	})
	e.state.working = append(e.state.working, f.key)
	f.result = workflow.ExecuteActivity(wctx, e.name, e.compact(in))
}

// receive puts the messages that were sent into the inbox. No coroutine does that: one that has received a message and does not run any more
// would lose it when the workflow is continued as a new one.
func (e *runEngine) receive() {
	for {
		var parts []model.Part
		if !e.messages.ReceiveAsync(&parts) {
			return
		}
		e.state.heard = true
		e.state.inbox.Send(parts...)
	}
}

// endLeg makes the engine ready for the next leg.
func (e *runEngine) endLeg() {
	e.acted = false
	if e.before == nil {
		e.before = &e.state.usage
	}
}

// summary returns the text shown in Temporal's UI.
func summary(t *engine.Task) string {
	if t.Call != nil {
		return fmt.Sprintf("step %d: %s %.100s", t.Info.Step, t.Op, t.Call.Tool)
	}
	return fmt.Sprintf("step %d: %s", t.Info.Step, t.Op)
}

// input is the input of the activity for a task.
func (e *runEngine) input(f *future) (taskInput, error) {
	in := taskInput{Run: e.run, Dropped: e.dropped, Little: e.crowd.many()}
	task := *f.task
	info := *task.Info
	task.Info, f.key = &info, ""
	if task.Request == nil {
		ref, t, err := e.refer(info.Messages)
		if err != nil {
			return in, err
		}
		if e.crowd.many() && len(ref.Messages) > 0 { // all calls that follow get the key alone
			e.keepHistory(ref)
			e.chain.keep(t)
			if ref, t, err = e.refer(info.Messages); err != nil {
				return in, err
			}
		}
		in.History, f.tip = ref, t
	}
	info.Messages = nil
	f.key = task.Key()
	var err error
	in.Task, err = engine.MarshalTask(&task)
	return in, err
}

// refer returns the reference for a history: see [chain.next].
func (e *runEngine) refer(messages []*model.Message) (r *reference, t tip, err error) {
	leisurely(e.ctx, func() { r, t, err = e.chain.next(messages) })
	return r, t, err
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
			if f.result == nil { // it waits for others
				if f.ctx.Err() == nil {
					continue
				}
				e.crowd.drop(f)
				f.done = &engine.Done{Err: context.Cause(f.ctx)}
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

// finish takes the result of an activity or a child.
func (e *runEngine) finish(f *future) {
	defer f.cancel()
	defer e.next()
	var out taskOutput
	err := f.result.Get(e.detached(), &out)
	e.state.worked = true
	e.state.end(f)
	var done *engine.Done
	switch {
	case err == nil && out.Key != f.key:
		panic(fmt.Sprintf("temporalengine: run %s was started by another version of its agent: its next step was %q, but the agent of this worker continues with %q. "+
			"Let workers of that version finish the run, or give the new agent another Config.Name", e.run.ID, out.Key, f.key))
	case err == nil:
		e.chain.keep(f.tip)
		done, err = engine.UnmarshalDone(f.task, out.Done)
	case errors.Is(err, errBlobs):
		panic(err) // the task of the workflow fails and is tried again
	case f.child:
		done, err = failedChild(f, err), nil
	}
	if err != nil {
		f.done = &engine.Done{Err: failure(f, err), Used: usedBefore(err)}
		f.task.Count(f.done)
		return
	}
	if f.task.Op == engine.OpStep && e.resumed != nil && done.Offer != nil {
		e.instruct(f.task, done.Offer)
	}
	if done.Err == nil && done.Offer != nil && done.Offer.History != nil {
		e.dropped += f.tip.n - len(done.Offer.History)
	}
	if out, ok := done.Output.(*engine.Output); ok {
		e.outputs = append(e.outputs, out.Data)
	}
	if done.At == 0 { // a worker of an older version, or the workflow of a call
		done.At = engine.TimeOf(workflow.Now(e.ctx))
	}
	f.task.Count(done)
	f.done = done
}

// instruct gives the request of the first step of an execution its instructions. The loop does that
// only for the requests of its own leg.
func (e *runEngine) instruct(t *engine.Task, offer *engine.Offer) {
	last := t.Info.Messages[len(t.Info.Messages)-1]
	if last == e.resumed && offer.History == nil && last.RunID == t.Info.RunID && last.Kind == model.KindRequest {
		last.Instructions = offer.Instructions
	}
	e.resumed = nil
}

// ErrWorkerLost means that an activity was given up, because its workers were lost or took too long.
var ErrWorkerLost = errors.New("temporalengine: the activity was abandoned")

var registering sync.Once

// registerErrors lets errors of this package keep their identity up to clients.
func registerErrors() {
	registering.Do(func() { engine.RegisterErrors(engine.Sentinel("temporal_worker_lost", ErrWorkerLost)) })
}

// usedBefore returns what an activity or a child had used before it was cancelled, or nil.
func usedBefore(err error) *toolset.Usage {
	var cancelled *temporal.CanceledError
	var raw converter.RawValue
	var details failureDetails
	if !errors.As(err, &cancelled) || !cancelled.HasDetails() || cancelled.Details(&raw) != nil ||
		converter.GetDefaultDataConverter().FromPayload(raw.Payload(), &details) != nil {
		return nil
	}
	return &details.Usage
}

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
