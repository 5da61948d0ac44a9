// SPDX-License-Identifier: Apache-2.0

// Package evalstest runs datasets as Go tests. Package evals describes datasets, tasks and
// evaluators.
//
// Programs do not import this package, so they do not link package testing.
package evalstest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/evals"
)

// Options change how a dataset is tested. The zero value is useful.
type Options struct {
	evals.Options
	// PassRate is the share of trials that must pass, from 0 to 1. 0 means all of them: each case
	// that does not pass fails its subtest. With a PassRate, subtests log what did not pass, and
	// the test fails if too few trials have passed.
	PassRate float64
	// Serial runs the cases one after another. By default they are parallel tests.
	Serial bool
	// Done, if not nil, gets the report when all cases have ended, for example to save it.
	Done func(*evals.Report)
}

// Test runs a task on each case of a dataset, as a subtest with the name of the case. A trial
// passes if the task returns an output and no score is a no. The subtests may still be running when
// Test returns; like other parallel subtests, they end before t does.
//
// The flags of go test work as for other tests: -run selects cases, -parallel bounds how many run
// at the same time, -count runs the dataset again. With -short, each case runs once, whatever
// Options.Repeats says. Options.Concurrency has no effect. The file of Options.Resume is removed
// when the selected cases have ended: only a test that was killed, or whose budget was used up,
// continues.
//
// A case that says nothing about the task fails its subtest, whatever the PassRate: the provider
// failed, also after retries; the budget did not allow it; or an evaluator failed.
func Test[In, Out any](t *testing.T, d evals.Dataset[In, Out], task evals.Task[In, Out],
	o Options) {
	t.Helper()
	if !(o.PassRate >= 0 && o.PassRate <= 1) {
		t.Fatalf("evalstest: Options.PassRate is %v: it is a share from 0 to 1", o.PassRate)
	}
	if testing.Short() {
		o.Repeats = 1
	}
	runner, err := evals.Prepare(d, task, o.Options)
	if err != nil {
		t.Fatal(err)
	}
	tally := &tally{rate: o.PassRate}
	t.Cleanup(func() {
		tally.check(t)
		report := runner.Report()
		if o.Resume != "" && report.Stopped == "" { // cases may be left that were not selected
			_ = os.Remove(o.Resume)
		}
		if o.Done != nil {
			o.Done(report)
		}
	})
	for i, name := range runner.Cases() {
		t.Run(name, func(t *testing.T) {
			if !o.Serial {
				t.Parallel()
			}
			tally.add(t, runner.Case(t.Context(), i))
		})
	}
}

// tally counts the trials that say something about the task.
type tally struct {
	rate           float64
	mu             sync.Mutex
	trials, passed int
}

// add reports the trials of a case.
func (c *tally) add(t *testing.T, trials []evals.TrialResult) {
	for i := range trials {
		trial := &trials[i]
		which := ""
		if len(trials) > 1 {
			which = fmt.Sprintf("repeat %d of %d: ", i+1, len(trials))
		}
		if !trial.Counts() {
			t.Errorf("%s%s: %s", which, trial.Status, trial.Error)
			continue
		}
		passed := trial.Passed()
		c.mu.Lock()
		c.trials++
		if passed {
			c.passed++
		}
		c.mu.Unlock()
		report(t, which, trial)
		if !passed && c.rate == 0 {
			t.Fail()
		}
	}
}

// report logs what a trial did not pass, and fails the test if an evaluator failed.
func report(t *testing.T, which string, trial *evals.TrialResult) {
	if trial.Status == evals.StatusFailed {
		t.Logf("%sthe task failed: %s", which, trial.Error)
	}
	for _, s := range trial.Scores {
		switch {
		case s.Kind == evals.KindError:
			t.Errorf("%sevaluator %q failed: %s", which, s.Name, s.Reason)
		case s.Kind == evals.KindPass && !s.Passed():
			t.Logf("%s%s: no: %s\noutput: %s", which, s.Name, s.Reason, trial.Output)
		}
	}
}

// check fails the test if too few trials have passed.
func (c *tally) check(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rate > 0 && float64(c.passed) < c.rate*float64(c.trials) {
		t.Errorf("%d of %d trials passed: fewer than %v", c.passed, c.trials, c.rate)
	}
}
