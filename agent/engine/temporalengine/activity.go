// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/toolset"
)

// activities executes the tasks of runs on a worker.
type activities struct {
	// open returns what executes the tasks of a run, and a function that frees it.
	open      func(ctx context.Context, in Input) (w engine.Worker, release func(context.Context) error, err error)
	idle      time.Duration
	histories histories
	// transcripts keeps what was said.
	transcripts transcripts

	mu     sync.Mutex
	runs   map[string]*runWorker // by their keys
	closed bool
	// working is the number of attempts in progress. quiet, if not nil, is closed when it reaches
	// zero.
	working int
	quiet   chan struct{}
}

// runWorker is a worker's state for one run.
type runWorker struct {
	id, key string        // of the run, and what it is found by
	ready   chan struct{} // closed when the next three are set
	worker  engine.Worker
	release func(context.Context) error
	err     error
	stop    context.CancelFunc // ends the making
	turn    chan struct{}      // holds a token while a question is open
	users   int
	timer   *time.Timer
}

func newActivities(open func(context.Context, Input) (engine.Worker, func(context.Context) error, error), b Blobs, idle time.Duration) *activities {
	return &activities{open: open, idle: idle, histories: histories{blobs: b}, runs: map[string]*runWorker{}}
}

// opener makes what executes the tasks of runs of an agent.
func opener[D, O any](c *Config[D, O]) func(ctx context.Context, in Input) (engine.Worker, func(context.Context) error, error) {
	return func(ctx context.Context, in Input) (w engine.Worker, release func(context.Context) error, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		var deps D
		if c.Deps != nil {
			if deps, err = c.Deps(ctx, in); err != nil {
				return nil, nil, err
			}
		}
		worker := agent.NewWorker(c.Agent, deps, c.Options...)
		portable := []toolset.Toolset[D]{toolset.Stateless(c.Agent.Toolset())}
		do := func(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
			worker.Do(c.Agent.Override(ctx, agent.Overrides[D]{Toolsets: portable}), t, l, done)
		}
		return doer(do), func(ctx context.Context) error {
			err := worker.Close(ctx)
			if c.Release != nil {
				err = errors.Join(err, c.Release(ctx, deps))
			}
			return err
		}, nil
	}
}

// doer is a worker.
type doer func(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done)

// Do implements [engine.Worker].
func (d doer) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	d(ctx, t, l, done)
}

// attempt is an attempt of the activity. It returns only errors that another attempt may not have.
// Errors of the task are part of its result.
func (a *activities) attempt(ctx context.Context, in taskInput) (any, error) {
	task, err := engine.UnmarshalTask(in.Task)
	if err != nil { // perhaps another worker is newer
		return nil, short(err)
	}
	if err := current(ctx); err != nil {
		return nil, err
	}
	if in.History != nil {
		if task.Info.Messages, err = a.histories.messages(ctx, in.History); err != nil {
			return nil, short(err)
		}
	}
	if task.Op == engine.OpStep || task.Op == engine.OpPrepare {
		if err := a.transcripts.keep(ctx, in.Run.ID, task.Info.Messages, in.Dropped); err != nil {
			return nil, short(err)
		}
	}
	r, err := a.use(ctx, in.Run)
	if err != nil {
		return nil, short(err)
	}
	defer a.leave(r)
	stop := beat(ctx)
	defer stop()
	ctx, cancel := context.WithCancel(engine.WithPart(ctx, engine.TaskOnly)) // nothing is asked afterwards
	defer cancel()
	var done engine.Done
	perform(ctx, r.worker, task, newAsker(ctx, task.Key(), r), &done)
	done.At = engine.TimeOf(time.Now())
	if err := interrupted(ctx, task, &done); err != nil {
		return nil, err
	}
	if errors.Is(done.Err, agent.ErrToolGone) { // perhaps other workers have a version of the agent that has it
		return nil, short(fmt.Errorf("step %d of run %s: %w", task.Info.Step, in.Run.ID, done.Err))
	}
	out := &taskOutput{Key: task.Key()}
	if out.Done, err = engine.MarshalDone(task, &done); err != nil {
		return nil, final(err) // it would be executed again
	}
	limit := localInline
	if !activity.GetInfo(ctx).IsLocalActivity {
		if !in.Little {
			return out, nil
		}
		limit = littleInline
	}
	payload, err := byReferencesOver(a.histories.blobs, limit).ToPayload(out)
	if err != nil {
		return nil, short(err)
	}
	return converter.NewRawValue(payload), nil
}

// current returns an error if the server has given up an attempt. It asks if the attempt should have said long ago that it is alive: a worker that was
// stopped for a time finds in its connection what was sent to it in the meantime.
func current(ctx context.Context) error {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity || info.HeartbeatTimeout <= 0 || time.Since(info.StartedTime) < info.HeartbeatTimeout/2 {
		return nil
	}
	activity.RecordHeartbeat(ctx)
	if ctx.Err() == nil {
		return nil
	}
	return interrupted(ctx, nil, &engine.Done{Err: ctx.Err()})
}

// interrupted returns the error of an activity whose context has ended before the task was done well. If the worker lost touch with the server, what
// became of the task means nothing, and it is executed again. An activity that was cancelled says what it has used.
func interrupted(ctx context.Context, task *engine.Task, done *engine.Done) error {
	used := done.Used
	switch cause := context.Cause(ctx); {
	case ctx.Err() == nil || done.Settle(ctx, task):
		return nil
	case temporal.IsCanceledError(cause) && used != nil:
		payload, err := converter.GetDefaultDataConverter().ToPayload(failureDetails{Usage: *used})
		if err != nil {
			return ctx.Err()
		}
		return temporal.NewCanceledError(converter.NewRawValue(payload))
	case temporal.IsCanceledError(cause) || errors.Is(ctx.Err(), context.DeadlineExceeded): // Temporal knows what it means
		return ctx.Err()
	default:
		return short(fmt.Errorf("the worker lost touch with the server: %w", cause))
	}
}

// perform does the task. Panics of user code are the worker's business, but runtime.Goexit must not end Temporal's goroutine.
func perform(ctx context.Context, w engine.Worker, task *engine.Task, l engine.Listener, done *engine.Done) {
	ended := make(chan bool, 1)
	go func() {
		returned := false
		defer func() { ended <- returned }()
		w.Do(ctx, task, l, done)
		returned = true
	}()
	if !<-ended {
		*done = engine.Done{Err: engine.ErrGoexit}
	}
}

// beat tells the server that the activity is alive, which also tells the activity when it is cancelled. It says nothing at first: most
// activities are short, and each sign of life costs the server a write.
func beat(ctx context.Context) (stop func()) {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity || info.HeartbeatTimeout <= 0 {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(info.HeartbeatTimeout / 4)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// runKey returns what the dependencies of a run are found by. The id is not enough: once a workflow has been deleted, another run may get its id.
func runKey(in Input) (string, error) {
	data, err := json.Marshal(in)
	return keyOf(data), err
}

// use returns what there is of a run, and makes it if need be.
func (a *activities) use(ctx context.Context, in Input) (*runWorker, error) {
	key, err := runKey(in)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	r := a.runs[key]
	if r == nil {
		r = &runWorker{id: in.ID, key: key, ready: make(chan struct{}), turn: make(chan struct{}, 1)}
		a.runs[key] = r
		var making context.Context
		making, r.stop = context.WithCancel(context.WithoutCancel(ctx)) // what is made outlives the activity
		go a.make(making, in, r)
	}
	r.users++
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	a.mu.Unlock()
	select {
	case <-r.ready:
	case <-ctx.Done():
		a.leave(r)
		return nil, context.Cause(ctx)
	}
	if r.err != nil {
		err := fmt.Errorf("temporalengine: make the dependencies of run %s: %w", in.ID, r.err)
		a.leave(r)
		return nil, err
	}
	return r, nil
}

// make prepares the run on this worker. It runs in its own goroutine, which lets an activity end in
// time even if make blocks or calls Goexit.
func (a *activities) make(ctx context.Context, in Input, r *runWorker) {
	made := runWorker{err: engine.ErrGoexit}
	defer func() {
		a.mu.Lock()
		r.worker, r.release, r.err = made.worker, made.release, made.err
		late := r.users == 0
		a.mu.Unlock()
		close(r.ready)
		if late && made.err == nil {
			released(in.ID, made.release)
		}
	}()
	made.worker, made.release, made.err = a.open(ctx, in)
}

// leave releases a reference to a run. Unused runs are released after a time.
func (a *activities) leave(r *runWorker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.users--; r.users > 0 {
		return
	}
	idle := a.idle
	if r.worker == nil { // it could not be made, or nobody waits for it any more: the next activity tries again
		r.stop()
		if a.runs[r.key] == r {
			delete(a.runs, r.key)
		}
		return
	}
	if a.closed {
		idle = 0
	}
	r.timer = time.AfterFunc(idle, func() { a.free(r) })
}

// free releases what a run has on this worker, unless it is in use again.
func (a *activities) free(r *runWorker) {
	a.mu.Lock()
	if r.users > 0 || a.runs[r.key] != r {
		a.mu.Unlock()
		return
	}
	delete(a.runs, r.key)
	a.mu.Unlock()
	released(r.id, r.release)
	r.stop()
}

// released releases what a run has.
func released(id string, release func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil { // it would end the program
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return release(ctx)
	}()
	if err != nil {
		slog.Error("temporalengine: release what a run had", "run", id, "kind", fmt.Sprintf("%T", err))
	}
}

// close releases what is left of runs. It is called when the worker has stopped.
func (a *activities) close() {
	a.settled()
	a.mu.Lock()
	a.closed = true
	var left []*runWorker
	for _, r := range a.runs {
		if r.timer != nil && r.timer.Stop() {
			left = append(left, r)
		}
	}
	a.mu.Unlock()
	for _, r := range left {
		a.free(r)
	}
}
