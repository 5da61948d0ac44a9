// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Options change how a dataset is run. The zero value is useful.
type Options struct {
	// Name identifies the run in results, for example by the model or the version of the prompt.
	Name string
	// Concurrency is how many trials run at the same time; 0 means 8.
	Concurrency int
	// Repeats is how often each case is run; 0 means once. All cases begin once before any begins
	// again.
	Repeats int
	// Limits are one budget for all trials, their retries and their judges. Requests are never more
	// than that. Tokens and cost are checked before each request, so those in progress come on top.
	// The run ends when a request is refused, and the report has what was done until then.
	Limits toolset.Limits
	// Prices are used for Limits.Cost and for the cost in results. They take the place of the
	// agents' own.
	Prices model.PriceTable
	// Retries is how often a trial is repeated if a provider failed in a way that may be over soon;
	// 0 means 2, and a negative number none. If a provider asks to wait longer than ten minutes, it
	// is not asked again. Failures of the agent are never retried.
	Retries int
	// Timeout bounds the task in each attempt of a trial; 0 means no bound. A task that takes
	// longer is a failure of the agent, also if it then returns an output.
	Timeout time.Duration
	// Workspace returns the workspace for a trial of a case, empty; the case's Files are then
	// written to it. If it has a method Close() error, that is called after the evaluators. If
	// Workspace is nil, cases with Files get a workspace in memory. [WorkspaceOf] returns it to the
	// task.
	Workspace func(ctx context.Context, caseName string) (workspace.Workspace, error)
	// Cache is a directory for the answers of models, including judges; empty means none. A request
	// that was made before, by the same repeat, is answered from there, so a run after a change of
	// an evaluator asks no model again. Models are told apart by their Info and [model.Identity];
	// one without an identity is always asked. Known answers count in the usage of trials, not on
	// Limits, nor in the usage of the report. Files have what was answered, so keep them to
	// yourself.
	Cache string
	// Resume is a file for the trials that have ended; empty means none. If the run is stopped, or
	// the process is killed, a run with the same file, names, cases and evaluators continues: it
	// repeats only trials that had not ended, or that say nothing about the task. A run
	// that is complete removes the file. A file belongs to one run at a time.
	Resume string
	// Progress is called after each trial, one call at a time. See [ProgressLine].
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	// Case and Repeat identify the trial that has ended with Status.
	Case   string
	Repeat int
	Status Status
	// Done is how many of Total trials have ended.
	Done, Total int
	// Usage is the usage of all trials so far, with retries and judges.
	Usage toolset.Usage
	// Elapsed is the time since the beginning, and Left an estimate of the time to the end.
	Elapsed, Left time.Duration
}

const (
	defaultConcurrency = 8
	defaultRetries     = 2
)

// withDefaults checks the options and fills in defaults.
func (o Options) withDefaults() (Options, error) {
	var problems []error
	check := func(name string, negative bool, value any) {
		if negative {
			err := fmt.Errorf("evals: Options.%s is %v: it cannot be negative", name, value)
			problems = append(problems, err)
		}
	}
	check("Concurrency", o.Concurrency < 0, o.Concurrency)
	check("Repeats", o.Repeats < 0, o.Repeats)
	check("Timeout", o.Timeout < 0, o.Timeout)
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Repeats == 0 {
		o.Repeats = 1
	}
	if o.Retries == 0 {
		o.Retries = defaultRetries
	}
	return o, errors.Join(problems...)
}
