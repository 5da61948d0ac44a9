// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	native "github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Result is the result of a successful run. It can be stored as JSON.
type Result[O any] = engine.Result[O]

// Run asks the model and returns its output. Without a prompt it continues the history given by [WithHistory] where that
// stands; see [WithResume] for a history that is finished. The error is a [*RunError].
func (a *Agent[D, O]) Run(ctx context.Context, deps D, prompt string, opts ...RunOption) (*Result[O], error) {
	res, thrown, err := a.run(ctx, deps, prompt, opts, nil)
	thrown.again()
	return res, err
}

// run is the only entry point. emit is nil if the run is not streamed. If the observer panicked,
// the run has ended and the caller panics again.
func (a *Agent[D, O]) run(ctx context.Context, deps D, prompt string, opts []RunOption, emit func(*Event) bool) (*Result[O], *thrown, error) {
	r := new(agentRun[D, O])
	r.emit, r.stream = emit, emit != nil
	r.begin(ctx, a, deps, opts)
	if r.options.partials && emit != nil {
		r.emit = a.output.withPartials(emit)
	}
	cfg, err := r.loopConfig(prompt)
	var res *Result[O]
	switch {
	case err != nil:
		err = r.unstarted(err)
	case len(r.hooks) == 0:
		res, err = r.run(ctx, cfg)
	default:
		res, err = r.runHooked(ctx, cfg)
	}
	r.end(err)
	return res, r.thrown, err
}

// begin sets what does not depend on what the run is asked.
func (r *agentRun[D, O]) begin(ctx context.Context, a *Agent[D, O], deps D, opts []RunOption) {
	r.agent, r.toolset, r.context.Deps = a, a.tools, deps
	r.options.moreOptions = &noMore
	r.options.model, r.options.settings, r.options.limits = a.config.Model, a.config.Settings, a.config.Limits
	r.options.choice, r.options.endings = a.config.ToolChoice, a.config.Endings
	for _, opt := range opts {
		if opt != nil {
			opt.applyRun(&r.options)
		}
	}
	r.override(ctx)
	if own := a.config.Policies; len(own) > 0 {
		own[0].govern(&r.options, own, r.context.Deps)
	} else if rule := r.options.rule; rule != nil {
		rule.govern(&r.options, nil, r.context.Deps)
	}
	r.asking = r.options.findAsker(&r.place, a.config.Asker)
	r.context.Host = (*stepHost[D, O])(r)
	r.instrument(ctx)
}

// unstarted is the error of a run that never began.
func (r *agentRun[D, O]) unstarted(err error) *RunError {
	return &RunError{Agent: r.agent.config.Name, Stage: StagePrepare, Messages: r.options.history, Err: err}
}

// runHooked is run inside of the hooks.
func (r *agentRun[D, O]) runHooked(ctx context.Context, cfg *loop.Config) (*Result[O], error) {
	a := r.agent
	var result *Result[O]
	err := r.hookedRun(ctx, func(ctx context.Context) (*Summary, error) {
		r.options.prepareMeter(&r.context.RunInfo)
		var err error
		if err = r.input(ctx, cfg); err != nil {
			err = r.unstarted(err)
		} else {
			result, err = r.run(ctx, cfg)
		}
		if err != nil {
			var failed *RunError
			errs.As(err, &failed)
			return &Summary{
				Agent: a.config.Name, RunID: failed.RunID, ConversationID: failed.ConversationID, Messages: failed.Messages, Usage: failed.Usage,
			}, err
		}
		return &Summary{
			Output: result.Output, Cut: result.Cut, Agent: a.config.Name, RunID: result.RunID, ConversationID: result.ConversationID,
			Messages: result.Messages, Usage: result.Usage,
		}, nil
	})
	if err == nil && result != nil {
		return result, nil
	}
	if err == nil {
		err = errors.New("a Run hook did not run the agent")
	}
	var failed *RunError
	if !errs.As(err, &failed) {
		failed = r.unstarted(err)
		if result != nil {
			failed.RunID, failed.ConversationID, failed.Messages, failed.Usage = result.RunID, result.ConversationID, result.Messages, result.Usage
		}
	}
	return nil, failed
}

// override applies what the context says about the agent.
func (r *agentRun[D, O]) override(ctx context.Context) {
	over := r.agent.overridden(ctx)
	if over == nil {
		return
	}
	if over.Model != nil {
		r.options.model = over.Model
	}
	if over.Deps != nil {
		r.context.Deps = *over.Deps
	}
	if over.Toolsets != nil {
		r.toolset = r.agent.combined(over.Toolsets)
	}
}

// loopConfig says to the loop what the agent and the run's options say.
func (r *agentRun[D, O]) loopConfig(prompt string) (*loop.Config, error) {
	a, o := r.agent, &r.options
	if o.model == nil {
		return nil, ErrNoModel
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	answers, err := o.results.loop()
	if err != nil {
		return nil, err
	}
	meter := &r.meter
	if o.meter != nil {
		meter = o.meter.Child(bounds(o.limits))
	} else {
		meter.SetLimits(bounds(o.limits))
	}
	if prices := o.prices(a.config.Prices); prices != nil {
		meter.SetPrices(prices)
	}
	if r.model, err = infoOf(o.model); err != nil {
		return nil, err
	}
	r.context.Agent, r.context.Model, r.context.Meter = a.config.Name, &r.model, meter
	cfg := r.newConfig()
	memory := cfg.Memory
	*cfg = loop.Config{
		Agent: a.config.Name, Model: &r.model,
		RunID: o.runID, ConversationID: o.conversationID, History: o.history, Prompt: o.prompt(prompt), Resume: o.resume, Template: o.template(),
		Meter: meter, OutputRetries: a.outputRetries, End: a.config.EndStrategy, Parallel: a.config.MaxParallelCalls,
		Asks: r.asking != nil, Answers: answers, Over: a.output.over, Steered: o.inbox != nil, Processed: len(a.config.History) > 0,
		NoCut: o.endings.NoCut, Filtered: o.endings.Filtered,
		Observed: r.stream || a.config.Observer != nil, Stream: r.stream, Memory: memory,
	}
	return cfg, nil
}

// newConfig returns an empty configuration. On the native engine it is in the run's room.
func (r *agentRun[D, O]) newConfig() *loop.Config {
	if r.options.runOn != nil {
		return new(loop.Config)
	}
	r.room = native.Enter(r)
	return &r.room.Config
}

// prices returns the prices of the run, or nil if they are those of the run around it. own are the
// agent's.
//
//go:noinline
func (o *runOptions) prices(own model.PriceTable) model.PriceTable {
	if o.rule != nil {
		if prices := o.rule.says.prices(); prices != nil {
			return prices
		}
	}
	return own
}

// infoOf asks a model what it is.
func infoOf(m model.Model) (info model.Info, err error) {
	defer recovered(&err)
	return m.Info(), nil
}

// run runs the loop once.
func (r *agentRun[D, O]) run(ctx context.Context, cfg *loop.Config) (*Result[O], error) {
	defer r.close(ctx) // if the goroutine is ended; otherwise it is done already
	if cfg.Stream {
		scratch := scratches.Get().(*loop.Scratch)
		cfg.Scratch = scratch
		defer scratches.Put(scratch)
	}
	res, err := r.loop(ctx, cfg)
	closeErr := r.close(ctx)
	res.Usage = cfg.Meter.Usage() // with that of what has worked in the background until now
	result, err := r.ended(ctx, res, err, closeErr)
	if r.room != nil && !r.stream {
		r.room.Leave()
		r.room = nil
	}
	return result, err
}

// ended makes the run's result of the loop's.
func (r *agentRun[D, O]) ended(ctx context.Context, res *loop.Result, err, closeErr error) (*Result[O], error) {
	r.steps = int32(res.Steps)
	if err != nil {
		runErr := runError(r.agent.config.Name, res, err)
		if rule := r.options.rule; rule != nil {
			runErr.Err = rule.says.named(runErr.Err)
		}
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
			runErr.Ended = ctx.Err()
		}
		if closeErr != nil {
			runErr.Err = errors.Join(runErr.Err, closeErr)
		}
		return nil, runErr
	}
	out, _ := res.Output.(O)
	return &Result[O]{
		Output: out, Cut: res.Cut, Agent: cmp.Or(res.Agent, r.agent.config.Name), RunID: res.RunID, ConversationID: res.ConversationID,
		Messages: res.Messages, Usage: res.Usage,
	}, nil
}

// loop runs the loop on the engine that the run asks for.
func (r *agentRun[D, O]) loop(ctx context.Context, cfg *loop.Config) (*loop.Result, error) {
	if err := r.claimInbox(); err != nil {
		return cfg.NotRun(), err
	}
	if r.options.runOn != nil {
		return r.options.runOn(ctx, r, r.agent.output, &r.options, r.agent.config.Name, cfg)
	}
	eng := &r.room.Engine
	defer eng.Close()
	return loop.Run(ctx, eng, r, cfg)
}

// scratches are for streams that follow one another.
var scratches = sync.Pool{New: func() any { return new(loop.Scratch) }}

// agentRun is the typed side of one run: what the loop's observer and the engine's worker need.
type agentRun[D, O any] struct {
	agent   *Agent[D, O]
	options runOptions
	emit    func(*Event) bool
	// room has what only the loop and the native engine use; nil on other engines, and once the
	// loop has ended.
	room   *native.Room
	stream bool
	// claimed reports that the run has its inbox to itself.
	claimed bool
	// steps is how far the run got.
	steps int32
	watch
	// asking handles the run's questions; nil without an asker. It is &place or belongs to the run
	// around it.
	asking *seat
	place  seat
	// emits takes what history processors emit; nil if none have run.
	emits *processing
	meter toolset.Meter
	model model.Info
	// context holds what user code of the current step may see. Tasks copy it.
	context toolset.RunContext[D]
	// hooks are the program's and the agent's, outermost first.
	hooks   []Hooks[D]
	toolset toolset.Toolset[D]
	tools   toolset.Instance[D]
	// listed are the tools of the step.
	listed []*toolset.Tool[D]
	// mode is how the output is asked for in the offer.
	mode OutputMode
	// offer is the offer to the model for these tools and the mode; nil before the first step. Other
	// runs may have it, too.
	offer *engine.Offer
}

// end emits the last event.
func (r *agentRun[D, O]) end(err error) {
	if r.stream || r.agent.config.Observer != nil {
		usage := new(toolset.Usage)
		if r.context.Meter != nil {
			*usage = r.context.Meter.Usage()
		}
		r.Emit(&Event{Kind: EventRunEnd, Step: int(r.steps), Usage: usage, Err: err})
	}
}

// close releases the inbox, and closes the tools if they are open.
func (r *agentRun[D, O]) close(ctx context.Context) (err error) {
	defer recovered(&err)
	if r.claimed {
		r.claimed = false
		r.options.inbox.inUse.Store(false)
	}
	tools := r.tools
	if tools == nil {
		return nil
	}
	if r.tools = nil; ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	return tools.Close(ctx)
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = panicked(p)
	}
}

//go:noinline
func panicked(value any) error { return &PanicError{Value: value, Stack: debug.Stack()} }
