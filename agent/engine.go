// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
	native "github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/loop"
)

// WithEngine runs the run on an engine of the caller's: see package agent/engine. start is called once, when the run starts, and
// returns the engine of this run. If the engine has a method Close without arguments and results, it is called when the run has
// ended. An error of start ends the run.
//
// local executes the run's tasks in this process, with the dependencies and options of the run. An engine may also have tasks
// executed by a [Worker] in another process; those options that are data go with each task. Tasks of [engine.OpInbox] are for
// local, where the [Inbox] is. local is used until the run has ended.
//
// Runs inside tools are executed where the tool is. WithEngine takes the place of [WithJournal], and the other way round. Nil means the
// native engine, which executes everything in this process.
func WithEngine(start func(ctx context.Context, local engine.Worker) (engine.Engine, error)) RunOption {
	return runOption(func(o *runOptions) {
		if o.more().journal, o.runOn = nil, nil; start != nil {
			o.runOn = func(ctx context.Context, side runSide, codec native.Codec, o *runOptions, _ string, cfg *loop.Config) (*loop.Result, error) {
				return runOnEngine(ctx, start, side, codec, o, cfg)
			}
		}
	})
}

// runFunc runs the loop on an engine. [WithJournal] and [WithEngine] set it, which keeps its
// dependencies out of other programs.
type runFunc func(ctx context.Context, side runSide, codec native.Codec, o *runOptions, agent string, cfg *loop.Config) (*loop.Result, error)

// runSide is the typed side of a run.
type runSide interface {
	loop.Observer
	engine.Worker
}

// localWorker is implemented by [runSide]. It is not part of that, because then every program would link what it needs.
type localWorker interface {
	// localWorker returns a worker that goes by the data of tasks, and a function that gives its open tools to the run.
	localWorker() (w *Worker, end func())
}

func runOnEngine(
	ctx context.Context, start func(context.Context, engine.Worker) (engine.Engine, error), side runSide, codec native.Codec, o *runOptions, cfg *loop.Config,
) (*loop.Result, error) {
	registerErrors()
	worker, end := side.(localWorker).localWorker()
	defer end()
	eng, err := startEngine(ctx, start, worker)
	if err != nil {
		return cfg.NotRun(), errs.Errorf("start the engine: %w", err)
	}
	if closer, ok := eng.(interface{ Close() }); ok {
		defer closer.Close()
	}
	cfg.Options = &engine.Options{Instructions: o.instructions, Settings: o.settings, Choice: o.choice, ToolRetries: o.toolRetries}
	if o.rule != nil {
		cfg.Options.Policies = o.rule.says.names()
	}
	return loop.Run(ctx, &plainEngine{Engine: eng, codec: codec}, side, cfg)
}

func startEngine(ctx context.Context, start func(context.Context, engine.Worker) (engine.Engine, error), worker engine.Worker) (eng engine.Engine, err error) {
	defer recovered(&err)
	if eng, err = start(ctx, worker); err == nil && eng == nil {
		err = errors.New("there is neither an engine nor an error")
	}
	return eng, err
}

// plainEngine is an engine that knows outputs as plain data only.
type plainEngine struct {
	engine.Engine
	codec   native.Codec
	futures []engine.Future
}

// plainFuture is a future of a plainEngine.
type plainFuture struct {
	engine.Future
	codec native.Codec
	task  *engine.Task
	read  bool
}

// Start implements [engine.Engine].
func (e *plainEngine) Start(ctx context.Context, t *engine.Task) engine.Future {
	t.Lend()
	return &plainFuture{Future: e.Engine.Start(ctx, t), codec: e.codec, task: t}
}

// WaitAny implements [engine.Engine].
func (e *plainEngine) WaitAny(futures []engine.Future, l engine.Listener) int {
	e.futures = e.futures[:0]
	for _, f := range futures {
		e.futures = append(e.futures, f.(*plainFuture).Future)
	}
	return e.Engine.WaitAny(e.futures, l)
}

// Done implements [engine.Future].
func (f *plainFuture) Done() *engine.Done {
	d := f.Future.Done()
	if d == nil || f.read {
		return d
	}
	f.read = true
	f.task.Settle(d)
	out, ok := d.Output.(*engine.Output)
	switch {
	case !ok:
	case out.Value != nil || out.Data == nil:
		d.Output = out.Value
	default:
		var err error
		if d.Output, err = f.codec.Decode(out.Type, out.Data); err != nil {
			*d = engine.Done{Err: errs.Errorf("read the output that the engine returned: %w", err)}
		}
	}
	return d
}

// registerErrors registers the errors of this package with package engine, so they keep their
// identity between processes. Only programs that use an engine call it; others do not link the JSON
// form.
func registerErrors() {
	registering.Do(func() {
		inside := engine.Sentinel("inside", errInside)
		engine.RegisterErrors(inside, engine.Sentinel("tool_timeout", errToolTimeout), policyErrors())
	})
}

var registering sync.Once
