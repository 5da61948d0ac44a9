// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"fmt"
	"maps"
	"slices"
)

// Gate decides whether a report is good enough, for programs that run in CI.
type Gate struct {
	// Least has the least mean of metrics, by name.
	Least map[string]float64
	// Base is a baseline that no metric may be significantly worse than; nil for none.
	Base *Report
}

// The exit codes of [Gate.Check].
const (
	// ExitGood means that the report is good enough.
	ExitGood = 0
	// ExitWorse means that a metric is below its bound, or significantly worse than the baseline.
	ExitWorse = 1
	// ExitUnknown means that the report does not tell: trials were not run or not scored, an
	// evaluator has failed, or a metric is missing.
	ExitUnknown = 2
)

// Check returns the exit code for a report, and the reasons if it is not [ExitGood]. If the report
// is both worse and incomplete, the code is [ExitWorse].
func (g Gate) Check(r *Report) (code int, reasons []string) {
	note := func(c int, format string, args ...any) {
		if code != ExitWorse {
			code = c
		}
		reasons = append(reasons, fmt.Sprintf(format, args...))
	}
	for _, s := range []Status{StatusUnavailable, StatusStopped, StatusNotRun} {
		if n := r.Count(s); n > 0 {
			note(ExitUnknown, "%d trials: %s", n, s)
		}
	}
	for _, s := range r.Errors() {
		note(ExitUnknown, "evaluator %q failed: %s", s.Name, s.Reason)
	}
	metrics := map[string]Metric{}
	for _, m := range r.Metrics() {
		metrics[m.Name] = m
	}
	for _, name := range slices.Sorted(maps.Keys(g.Least)) {
		m, ok := metrics[name]
		switch least := g.Least[name]; {
		case !ok || m.Kind == KindLabel:
			note(ExitUnknown, "%s: there is no such metric", name)
		case !(m.Mean >= least): // nothing is at least NaN
			note(ExitWorse, "%s: %.4g, at least %.4g is asked for", name, m.Mean, least)
		}
	}
	if g.Base == nil {
		return code, reasons
	}
	c := Compare(g.Base, r)
	for _, change := range c.Changes {
		if change.Verdict == Worse {
			note(ExitWorse, "%s: %.4g, in the baseline %.4g (p = %.4f)",
				change.Name, change.Next, change.Base, change.Corrected)
		}
	}
	for _, m := range g.Base.Metrics() {
		if _, ok := metrics[m.Name]; !ok {
			note(ExitUnknown, "%s: only the baseline has this metric", m.Name)
		}
	}
	return code, reasons
}
