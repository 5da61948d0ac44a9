// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Worker executes the tasks of an agent's runs, which may continue in other processes: see package
// agent/engine. It needs only the tasks: tools are found by their names, and arguments are decoded
// again. [NewWorker] makes one. It is safe for concurrent use.
//
// The worker opens the agent's toolsets for a run when a task needs them, and keeps them open for the next tasks of the run, until
// End or Close.
type Worker struct {
	// Function fields instead of a generic type keep programs without workers from linking the code
	// of tasks.
	do    func(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done)
	end   func(ctx context.Context, runID string) error
	close func(ctx context.Context) error
}

// Do implements [engine.Worker].
func (w *Worker) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	w.do(ctx, t, l, done)
}

// End closes the tools that the worker has open for a run. It must not be called while a task of the run is executed. A run that it
// does not know is fine.
func (w *Worker) End(ctx context.Context, runID string) error { return w.end(ctx, runID) }

// Close ends all runs.
func (w *Worker) Close(ctx context.Context) error { return w.close(ctx) }

// tasks is the typed side of a [Worker].
type tasks[D, O any] struct {
	begin func(ctx context.Context) *agentRun[D, O]
	// remote reports that the runs belong to another process.
	remote bool

	mu   sync.Mutex
	runs map[string]*workerRun[D]
}

// workerRun is a worker's state of a run.
type workerRun[D any] struct {
	mu    sync.Mutex
	tools toolset.Instance[D]
	// listed are the tools of a step.
	listed []*toolset.Tool[D]
	step   int
	place  seat
}

// NewWorker returns a worker for runs of an agent. deps and the options replace what tasks cannot
// carry: the dependencies, the model, the asker, the history store, the journal of inner runs, and
// the policies of the run, without which its tasks fail. Instructions, settings, the tool choice
// and the number of retries come with each task.
func NewWorker[D, O any](a *Agent[D, O], deps D, opts ...RunOption) *Worker {
	registerErrors()
	opts = slices.Clone(opts)
	w := &tasks[D, O]{remote: true, begin: func(ctx context.Context) *agentRun[D, O] {
		r := new(agentRun[D, O])
		r.begin(ctx, a, deps, opts)
		if r.options.more().inbox = nil; r.options.journal == nil {
			r.options.runOn = nil // otherwise it is for inner runs
		}
		return r
	}}
	return w.worker()
}

func (w *tasks[D, O]) worker() *Worker {
	return &Worker{
		do:    func(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) { w.do(ctx, t, l, done) },
		end:   func(ctx context.Context, runID string) error { return w.end(ctx, runID) },
		close: func(ctx context.Context) error { return w.close(ctx) },
	}
}

// localWorker implements [localWorker].
func (r *agentRun[D, O]) localWorker() (*Worker, func()) {
	w := &tasks[D, O]{begin: func(context.Context) *agentRun[D, O] {
		t := new(agentRun[D, O])
		t.agent, t.options, t.hooks, t.toolset, t.asking = r.agent, r.options, r.hooks, r.toolset, r.asking
		t.context.Deps = r.context.Deps
		t.context.Host = (*stepHost[D, O])(t)
		t.options.runOn = nil
		return t
	}}
	return w.worker(), func() {
		for _, run := range w.runs { // there is one
			r.tools = run.tools // and it is closed with the run
		}
	}
}

func (w *tasks[D, O]) do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	defer recovered(&done.Err)
	switch {
	case t == nil || t.Info == nil || t.Info.Meter == nil:
		done.Err = errors.New("agent: worker: the task has no run, or the run no meter")
		return
	case t.Op == engine.OpInbox && w.remote:
		done.Err = errors.New("agent: worker: messages come in where the run is: have this task done by the local worker")
		return
	}
	r := w.begin(ctx)
	info := *t.Info
	info.Meter = t.Info.Meter.Sub()
	own := *t
	own.Info = &info
	settle := prepay(ctx, r.options.journal, &own)
	err := r.enter(&own, w.remote)
	if err == nil {
		err = w.withTools(ctx, r, &own, func() { r.Do(ctx, &own, l, done) })
	}
	settle(err == nil && done.Err == nil && done.Return.Approval == nil)
	if err != nil {
		*done = engine.Done{Err: err}
	}
	back := done.HandOver != nil && done.HandOver.Back
	if t.Op == engine.OpOutput && done.Err == nil && !done.Return.Retry && done.Return.Pending == nil && !back {
		out := &engine.Output{Value: done.Output}
		if typ, data, ok := r.agent.output.Encode(done.Output); ok {
			out.Type, out.Data = typ, data
		}
		done.Output = out
	}
	done.Used = new(info.Meter.Own())
}

// prepay counts ahead what runs inside a task have recorded, in case the task was executed before.
// The returned function settles what they do not use: it stays counted if the task has its result.
// It has no type parameters, because the code of a generic run is in every program.
func prepay(ctx context.Context, j journal.Journal, t *engine.Task) (settle func(keep bool)) {
	p, ok := j.(prepayer)
	if !ok || t.Op != engine.OpTool && t.Op != engine.OpOutput {
		return func(bool) {}
	}
	call := ""
	if t.Call != nil {
		call = t.Call.ID
	}
	return p.prepay(ctx, t.Info.Meter, t.Info.RunID, t.Info.Step, call)
}

// enter sets what a run would know by itself.
func (r *agentRun[D, O]) enter(t *engine.Task, remote bool) error {
	r.context.RunInfo, r.stream = *t.Info, t.Stream
	if r.model = (model.Info{}); t.Info.Model != nil {
		r.model = *t.Info.Model
	}
	r.options.prepareMeter(t.Info)
	if prices := r.options.prices(r.agent.config.Prices); prices != nil {
		t.Info.Meter.SetPrices(prices)
	}
	if !remote {
		return nil
	}
	if o := t.Options; o != nil {
		more := r.options.more()
		more.instructions, more.toolRetries = o.Instructions, o.ToolRetries
		r.options.settings, r.options.choice = o.Settings, o.Choice
		if err := r.options.governed(o.Policies); err != nil {
			return err
		}
	}
	if r.options.model == nil && (t.Op == engine.OpModel || t.Op == engine.OpStep) {
		return ErrNoModel
	}
	return nil
}

// governed returns an error unless a worker has policies of the names that the run has.
func (o *runOptions) governed(by []engine.Policy) error {
	for _, p := range by {
		if !slices.ContainsFunc(o.policies(), func(own *Policy) bool { return own.name == p.Name }) {
			const text = "agent: worker: the run has a policy %q, and the worker has none: " +
				"give it to NewWorker as well"
			return fmt.Errorf(text, p.Name)
		}
	}
	return nil
}

// withTools calls f with the tools that a task needs.
func (w *tasks[D, O]) withTools(ctx context.Context, r *agentRun[D, O], t *engine.Task, f func()) error {
	if t.Op == engine.OpModel || t.Op == engine.OpInbox || t.Op == engine.OpOutput && t.Call == nil {
		f()
		return nil
	}
	run := w.run(t.Info.RunID, r.place.asker)
	if r.asking == &r.place {
		r.asking = &run.place
	}
	if t.Op == engine.OpPrepare || t.Op == engine.OpStep {
		run.mu.Lock()
		defer run.mu.Unlock()
		r.tools = run.tools
		f()
		run.tools, run.listed, run.step = r.tools, r.listed, t.Info.Step
		return nil
	}
	if err := r.findTools(ctx, run); err != nil {
		return err
	}
	f()
	return nil
}

// run returns what the worker keeps of a run.
func (w *tasks[D, O]) run(id string, asker toolset.Asker) *workerRun[D] {
	w.mu.Lock()
	defer w.mu.Unlock()
	run := w.runs[id]
	if run == nil {
		run = new(workerRun[D])
		run.place.asker = asker
		if w.runs == nil {
			w.runs = map[string]*workerRun[D]{}
		}
		w.runs[id] = run
	}
	return run
}

// findTools makes the tools of a step known to a task. A worker that has not prepared the step asks the toolsets for them.
func (r *agentRun[D, O]) findTools(ctx context.Context, run *workerRun[D]) (err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.tools == nil {
		if run.tools, err = r.toolset.Open(ctx, &r.context); err != nil {
			return err
		}
	}
	if run.step != r.context.Step {
		listing, err := run.tools.Tools(ctx, &r.context)
		if err != nil {
			return err
		}
		run.listed, run.step = listing.Tools, r.context.Step
	}
	r.listed = run.listed
	return nil
}

func (w *tasks[D, O]) end(ctx context.Context, runID string) error {
	w.mu.Lock()
	run := w.runs[runID]
	delete(w.runs, runID)
	w.mu.Unlock()
	return run.close(ctx)
}

func (w *tasks[D, O]) close(ctx context.Context) error {
	w.mu.Lock()
	runs := w.runs
	w.runs = nil
	w.mu.Unlock()
	var errs []error
	for _, run := range runs {
		errs = append(errs, run.close(ctx))
	}
	return errors.Join(errs...)
}

func (run *workerRun[D]) close(ctx context.Context) (err error) {
	if run == nil {
		return nil
	}
	defer recovered(&err)
	run.mu.Lock()
	defer run.mu.Unlock()
	tools := run.tools
	if run.tools = nil; tools == nil {
		return nil
	}
	return tools.Close(ctx)
}
