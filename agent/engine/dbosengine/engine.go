// SPDX-License-Identifier: Apache-2.0

package dbosengine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// runEngine is the engine of one run. Its methods are called on the goroutine of the workflow.
type runEngine struct {
	ctx     dbos.Context
	worker  engine.Worker
	news    chan news
	quit    chan struct{}
	running sync.WaitGroup
	// recalled is set once the run has counted what failed steps of earlier executions have used.
	recalled bool
}

var _ engine.Engine = (*runEngine)(nil)

// news is what a task has to say, which waits for the reply, or that it is over.
type news struct {
	over  *future
	done  *engine.Done
	say   func(engine.Listener) error
	reply chan error
}

type future struct {
	task *engine.Task
	done *engine.Done
	// executed is set if the task was executed here and not recorded before, failed if its result
	// is not worth a record.
	executed bool
	failed   *engine.Done
}

// Done implements [engine.Future].
func (f *future) Done() *engine.Done { return f.done }

func newEngine(ctx dbos.Context, w engine.Worker) *runEngine {
	return &runEngine{ctx: ctx, worker: w, news: make(chan news), quit: make(chan struct{})}
}

// Begin implements [engine.Engine].
func (e *runEngine) Begin(context.Context) (engine.Beginning, error) {
	begin := func(context.Context) (engine.Beginning, error) {
		b := engine.Beginning{At: now(), RunID: rand.Text(), ConversationID: rand.Text(), Fuse: true}
		return b, nil
	}
	return dbos.RunAsStep(e.ctx, begin, dbos.WithStepName("begin"))
}

// Start implements [engine.Engine]. Tasks are started in the same order each time, so steps
// have the same numbers.
func (e *runEngine) Start(ctx context.Context, t *engine.Task) engine.Future {
	f := &future{task: t}
	if err := e.recall(t); err != nil {
		f.done = failed(err)
		return f
	}
	step := func(within context.Context) (string, error) { return e.execute(ctx, within, f) }
	outcome, err := dbos.Go(e.ctx, step, dbos.WithStepName(t.Key()))
	if err != nil {
		f.done = failed(err)
		return f
	}
	e.running.Go(func() {
		done := f.result(outcome)
		select {
		case e.news <- news{over: f, done: done}:
		case <-e.quit:
		}
	})
	return f
}

// lostKey is the key of the stream of the workflow with what failed steps of a run have used.
func lostKey(run string) string { return "ponte/lost/" + run }

// recall counts what failed steps of the run have used in earlier executions of the workflow.
func (e *runEngine) recall(t *engine.Task) error {
	if e.recalled {
		return nil
	}
	id, err := dbos.GetWorkflowID(e.ctx)
	if err != nil {
		return err
	}
	lost, _, err := dbos.ReadStream[toolset.Usage](
		e.ctx, id, lostKey(t.Info.RunID), dbos.WithReadStreamSnapshot())
	if err != nil {
		return fmt.Errorf("read what failed steps have used: %w", err)
	}
	for _, used := range lost {
		t.Info.Meter.Add(used)
	}
	e.recalled = true
	return nil
}

// keep keeps what a failed step has used. within is the context of the step: what is written to a
// stream there is kept, whatever becomes of the step.
func keep(within context.Context, run string, used *toolset.Usage) error {
	step, ok := within.(dbos.Context)
	if !ok || used == nil || *used == (toolset.Usage{}) {
		return nil
	}
	if err := dbos.WriteStream(step, lostKey(run), *used); err != nil {
		return fmt.Errorf("keep what a failed step has used: %w", err)
	}
	return nil
}

// execute executes a task. It returns the result as it is recorded. DBOS records whatever a
// step returns, so a step whose result is not worth a record does not return.
func (e *runEngine) execute(ctx, within context.Context, f *future) (string, error) {
	f.executed = true
	f.failed = &engine.Done{Err: engine.ErrGoexit} // unless it returns
	done := new(engine.Done)
	e.worker.Do(engine.WithPart(ctx, engine.TaskOnly), f.task, relay{e}, done)
	done.At = now()
	used := done.Used
	if !done.Settle(ctx, f.task) {
		if err := keep(within, f.task.Info.RunID, used); err != nil {
			done.Err = errors.Join(done.Err, err)
		}
		f.failed = done
		runtime.Goexit()
	}
	data, err := engine.MarshalDone(f.task, done)
	if err != nil {
		f.failed = failed(err)
		runtime.Goexit()
	}
	f.failed = nil
	return string(data), nil
}

// result returns what a task has come to, as it was recorded. The end of a goroutine closes
// the channel without an outcome.
func (f *future) result(outcomes <-chan dbos.StepOutcome[string]) *engine.Done {
	outcome, ok := <-outcomes
	switch {
	case f.failed != nil:
		return f.failed
	case !ok:
		return failed(errors.New("the step has no outcome"))
	case outcome.Err != nil:
		return failed(outcome.Err)
	}
	done, err := engine.UnmarshalDone(f.task, []byte(outcome.Result))
	if err != nil {
		return failed(err)
	}
	return done
}

func failed(err error) *engine.Done { return &engine.Done{Err: fmt.Errorf("dbosengine: %w", err)} }

// WaitAny implements [engine.Engine].
func (e *runEngine) WaitAny(futures []engine.Future, l engine.Listener) int {
	for {
		for i := range futures {
			if futures[i].Done() != nil {
				return i
			}
		}
		n := <-e.news
		if n.over == nil {
			n.reply <- n.say(l)
			continue
		}
		if !n.over.executed {
			n.over.task.Count(n.done)
		}
		n.over.done = n.done
	}
}

// Close waits for abandoned tasks. Their contexts have ended.
func (e *runEngine) Close() {
	close(e.quit)
	e.running.Wait()
}

// relay is the listener of a task: it takes reports to the goroutine that waits.
type relay struct{ engine *runEngine }

// Sink implements [engine.Listener].
func (r relay) Sink() model.Sink {
	return func(d model.Delta) error {
		return r.send(func(l engine.Listener) error { return l.Sink()(d) })
	}
}

// Custom implements [engine.Listener].
func (r relay) Custom(c *engine.Call, value any) error {
	return r.send(func(l engine.Listener) error { return l.Custom(c, value) })
}

func (r relay) send(say func(engine.Listener) error) error {
	n := news{say: say, reply: make(chan error, 1)}
	select {
	case r.engine.news <- n:
	case <-r.engine.quit:
		return engine.ErrStopped
	}
	select {
	case err := <-n.reply:
		return err
	case <-r.engine.quit:
		return engine.ErrStopped
	}
}

func now() engine.Time { return engine.TimeOf(time.Now()) }
