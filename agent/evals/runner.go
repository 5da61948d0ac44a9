// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/toolset"
)

// Run runs a task on each case of a dataset, and scores what it does. The report is nil if the
// dataset or the options are wrong. If the context ends, or the budget of [Options.Limits] is used
// up, Run returns an error and the report of the trials so far.
func Run[In, Out any](ctx context.Context, d Dataset[In, Out], task Task[In, Out],
	o Options) (*Report, error) {
	r, err := Prepare(d, task, o)
	if err != nil {
		return nil, err
	}
	ctx = r.instrument(ctx)
	var next atomic.Int64
	var workers sync.WaitGroup
	total := len(r.subjects) * r.options.Repeats
	for range min(r.options.Concurrency, total) {
		workers.Go(func() { r.work(ctx, &workers, &next, total) })
	}
	workers.Wait()
	err = r.stopped()
	if err == nil && ctx.Err() != nil && r.left() > 0 {
		err = fmt.Errorf("evals: the run was stopped: %w", context.Cause(ctx))
		r.stop(err)
	}
	return r.soFar(), err
}

// work runs the remaining trials. If one ends the goroutine, another takes its place.
func (r *Runner) work(ctx context.Context, workers *sync.WaitGroup, next *atomic.Int64, total int) {
	returned := false
	defer func() {
		if !returned {
			workers.Go(func() { r.work(ctx, workers, next, total) })
		}
	}()
	for {
		i := int(next.Add(1)) - 1
		if i >= total || ctx.Err() != nil || r.stopped() != nil {
			break
		}
		r.trial(ctx, i%len(r.subjects), i/len(r.subjects))
	}
	returned = true
}

// Runner runs the cases of a dataset one by one, for programs that schedule the cases themselves,
// such as go test: see package evalstest. [Run] is simpler. A Runner is safe for concurrent use.
type Runner struct {
	options  Options
	subjects []subject
	budget   *budget
	task     func(ctx context.Context, i int) (any, error)

	mu      sync.Mutex
	report  Report
	done    int
	resumed int // how many of them an earlier run has done
	over    error
	ended   [][]bool // trials of an earlier run, by case and repeat
	hashes  []string // of the cases, while trials are written to a file
}

// String names the type. The fields of a Runner may hold secrets, such as an error of a model.
func (*Runner) String() string { return "evals.Runner" }

// Prepare checks a dataset and returns a runner for it. Options.Concurrency has no effect.
func Prepare[In, Out any](d Dataset[In, Out], task Task[In, Out], o Options) (*Runner, error) {
	all, err := subjects(d, task)
	if err != nil {
		return nil, err
	}
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	r := &Runner{options: o, subjects: all}
	r.task = func(ctx context.Context, i int) (any, error) { return task(ctx, d.Cases[i].Input) }
	r.budget = &budget{meter: toolset.NewMeter(o.Limits), prices: o.Prices, over: r.stop}
	r.budget.limited = o.Limits != (toolset.Limits{})
	r.budget.meter.SetPrices(o.Prices)
	r.report = Report{Name: o.Name, Dataset: d.Name, Start: time.Now().UTC()}
	r.report.Cases = make([]ReportCase, len(all))
	trials := make([]TrialResult, len(all)*o.Repeats)
	for i := range trials {
		trials[i].Status = StatusNotRun
	}
	for i := range all {
		c := &r.report.Cases[i]
		c.Name, c.Metadata = all[i].name, all[i].metadata
		c.Trials, trials = trials[:o.Repeats:o.Repeats], trials[o.Repeats:]
		if c.Input, err = encode(all[i].input); err != nil {
			return nil, fmt.Errorf("evals: the input of case %q is not JSON: %w", c.Name, err)
		}
		if all[i].unlabeled {
			continue
		}
		if c.Expected, err = encode(all[i].expected); err != nil {
			const problem = "evals: the expected output of case %q is not JSON: %w"
			return nil, fmt.Errorf(problem, c.Name, err)
		}
	}
	if o.Resume != "" {
		if err := r.resume(o.Resume); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// instrument returns a context whose runs are recorded and count on the budget.
func (r *Runner) instrument(ctx context.Context) context.Context {
	hooks := []agent.Hooks[any]{r.budget.hooks()}
	if r.options.Cache != "" {
		kept := &cache{r.options.Cache}
		hooks = append(hooks, agent.Hooks[any]{Request: kept.answer})
	}
	return agent.AddInstrumentation(ctx, hooks...)
}

// encode returns a value as JSON.
func encode(v any) (json.RawMessage, error) {
	if text, ok := v.(string); ok {
		return plainjson.AppendString(make([]byte, 0, len(text)+2), text), nil
	}
	return plainjson.Marshal(v)
}

// Cases returns the names of the cases, in order.
func (r *Runner) Cases() []string {
	names := make([]string, len(r.subjects))
	for i := range r.subjects {
		names[i] = r.subjects[i].name
	}
	return names
}

// Case runs all repeats of a case, one after another, and returns what came out of them. i is its
// index in [Runner.Cases]. Repeats are not run once the budget is used up, or the context has
// ended.
func (r *Runner) Case(ctx context.Context, i int) []TrialResult {
	ctx = r.instrument(ctx)
	for repeat := range r.options.Repeats {
		if ctx.Err() == nil && r.stopped() == nil {
			r.trial(ctx, i, repeat)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.report.Cases[i].Trials)
}

// Report returns the report of what was done so far.
func (r *Runner) Report() *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.soFar()
	report.Cases = slices.Clone(report.Cases)
	for i := range report.Cases {
		report.Cases[i].Trials = slices.Clone(report.Cases[i].Trials)
	}
	return report
}

// soFar returns the report, which shares the trials with the runner.
func (r *Runner) soFar() *Report {
	report := r.report
	report.Usage, report.Duration = r.budget.meter.Usage(), time.Since(report.Start)
	return &report
}

// stop ends the run: no further trials begin.
func (r *Runner) stop(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over == nil {
		r.over, r.report.Stopped = why, why.Error()
	}
}

func (r *Runner) stopped() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// left returns how many trials have not ended.
func (r *Runner) left() int { return r.report.Count(StatusNotRun) + r.report.Count(StatusStopped) }

// trial runs a trial and keeps its result, also if the trial ends the goroutine.
func (r *Runner) trial(ctx context.Context, i, repeat int) {
	if r.ended != nil && r.ended[i][repeat] {
		return
	}
	var result TrialResult
	var used toolset.Usage
	defer func() {
		if result.Status == "" {
			result = r.exited(i)
		}
		r.keep(i, repeat, &result, &used)
	}()
	result = r.attempts(ctx, i, repeat, &used)
}

// exited returns the result of a trial that has ended its goroutine.
func (r *Runner) exited(i int) TrialResult {
	result := TrialResult{Status: StatusFailed, Error: errGoexit.Error(), Attempts: 1}
	for _, e := range r.subjects[i].evaluators {
		result.Scores = append(result.Scores, e.failed())
	}
	return result
}

// keep keeps the result of a trial and what it has used, with judges, and reports progress.
func (r *Runner) keep(i, repeat int, result *TrialResult, used *toolset.Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	trial := &r.report.Cases[i].Trials[repeat]
	if trial.Status == StatusNotRun { // the case is not run again
		r.done++
	}
	*trial = *result
	total := len(r.subjects) * r.options.Repeats
	if r.hashes != nil {
		if err := r.write(i, repeat, result, *used); err != nil && r.over == nil {
			r.over = fmt.Errorf("evals: progress cannot be kept: %w", err)
			r.report.Stopped = r.over.Error()
		}
		if r.over == nil && r.done == total && r.left() == 0 {
			_ = os.Remove(r.options.Resume)
		}
	}
	if r.options.Progress == nil {
		return
	}
	elapsed := time.Since(r.report.Start)
	r.options.Progress(Progress{
		Case: r.subjects[i].name, Repeat: repeat + 1, Status: result.Status,
		Done: r.done, Total: total,
		Usage: r.budget.meter.Usage(), Elapsed: elapsed,
		Left: time.Duration(float64(elapsed) / float64(r.done-r.resumed) * float64(total-r.done)),
	})
}

// attempts runs a trial, again as long as the provider fails.
func (r *Runner) attempts(ctx context.Context, i, repeat int, used *toolset.Usage) TrialResult {
	for attempt := 1; ; attempt++ {
		result, temporary := r.attempt(ctx, i, repeat, used)
		result.Attempts = attempt
		if temporary == nil || !r.again(ctx, temporary, attempt) {
			return result
		}
	}
}

// again waits before the next attempt. It reports false if there is none.
func (r *Runner) again(ctx context.Context, why error, attempt int) bool {
	return attempt <= r.options.Retries && pause(ctx, why, attempt) == nil
}

// attempt runs a trial once, and adds to what it has used. temporary is the failure of a provider
// that may be over soon.
func (r *Runner) attempt(ctx context.Context, i, repeat int, used *toolset.Usage) (
	result TrialResult, temporary error) {
	t := &trial{subject: &r.subjects[i]}
	t.repeat, t.judges.repeat = repeat, repeat
	defer t.count(used)
	space, err := r.workspace(ctx, t.subject)
	if err != nil {
		return TrialResult{Status: StatusUnavailable, Error: err.Error()}, nil
	}
	defer closeWorkspace(space)
	r.run(ctx, t, i, space)
	result = TrialResult{Duration: t.trace.Duration, Usage: t.trace.Usage, Runs: t.trace.Runs}
	if t.err != nil {
		result.Error = t.err.Error()
	}
	switch {
	case t.refused != nil || ctx.Err() != nil:
		result.Status, result.Error = StatusStopped, cmp.Or(t.refused, context.Cause(ctx)).Error()
		return result, nil
	case t.unavailable != nil:
		return unavailable(result, t.unavailable)
	case t.err != nil && !t.timedOut && isProviderFailure(t.err):
		return unavailable(result, t.err)
	case t.err != nil:
		result.Status = StatusFailed
	default:
		result.Status = StatusCompleted
		if result.Output, err = encode(t.output); err != nil {
			result.Output, _ = json.Marshal(fmt.Sprintf("not JSON: %v", err))
		}
	}
	result.Scores = r.scores(ctx, t)
	return result, nil
}

// unavailable returns the result of an attempt in which a provider failed, and the failure if it
// may be over soon.
func unavailable(result TrialResult, why error) (TrialResult, error) {
	result.Status, result.Error = StatusUnavailable, why.Error()
	if !isTemporary(why) {
		why = nil
	}
	return result, why
}

// scores returns what the evaluators say.
func (r *Runner) scores(ctx context.Context, t *trial) []Score {
	t.places[1] = place{Context: ctx, recorder: &t.judges}
	ctx = &t.places[1]
	return scoresOf(t.evaluators, func(e Evaluator) (Score, error) {
		return r.score(ctx, e, t)
	})
}

// scoresOf returns what evaluators say. The error of one of them is its score.
func scoresOf(all []Evaluator, ask func(Evaluator) (Score, error)) []Score {
	scores := make([]Score, 0, len(all))
	for _, e := range all {
		s, err := ask(e)
		switch {
		case err != nil:
			scores = append(scores, Score{Name: e.name, Kind: KindError, Reason: err.Error()})
		case s.Kind != "":
			scores = append(scores, s)
		}
	}
	return scores
}

// score returns what an evaluator says. It is asked again if the provider of a judge fails.
func (r *Runner) score(ctx context.Context, e Evaluator, t *trial) (Score, error) {
	for attempt := 1; ; attempt++ {
		s, err := e.evaluate(ctx, t)
		temporary := err != nil && isProviderFailure(err) && isTemporary(err)
		if !temporary || !r.again(ctx, err, attempt) {
			return s, err
		}
	}
}
