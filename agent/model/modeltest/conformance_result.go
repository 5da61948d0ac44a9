// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"fmt"
	"strings"
	"testing"
)

// Result is the outcome of one case of a rule. See [Conformance].
type Result struct {
	// Rule and Case name the case. Outcome tells how it ended.
	Rule    string  `json:"rule"`
	Case    string  `json:"case"`
	Outcome Outcome `json:"outcome"`
	// Reason states, on one line, why a case was skipped or is known to fail.
	Reason string `json:"reason,omitempty"`
}

// Outcome is the outcome of a case of the conformance suite.
type Outcome string

const (
	// OutcomePassed means that the model keeps the rule.
	OutcomePassed Outcome = "passed"
	// OutcomeSkipped means that the rule does not apply, or that the harness cannot play the
	// scenario.
	OutcomeSkipped Outcome = "skipped"
	// OutcomeKnown means that the model fails as listed in [Harness.Known].
	OutcomeKnown Outcome = "known"
	// OutcomeFailed means that the model fails.
	OutcomeFailed Outcome = "failed"
)

// observer is the test of one case. It records why the case was skipped.
type observer struct {
	testing.TB
	reason string // of skipping
	known  string // reason of an expected failure
}

// observe returns the test of a case of the suite. It reports the result after cleanup.
func observe(t testing.TB, s *Scenario, report func(Result)) *observer {
	o := &observer{TB: t}
	t.Cleanup(func() {
		r := Result{Rule: s.Rule, Case: s.Case, Outcome: OutcomePassed}
		switch {
		case t.Failed():
			r.Outcome = OutcomeFailed
		case o.known != "":
			r.Outcome, r.Reason = OutcomeKnown, oneLine(o.known)
		case t.Skipped():
			r.Outcome, r.Reason = OutcomeSkipped, oneLine(o.reason)
		}
		report(r)
	})
	return o
}

// under returns the observed test.
func under(t testing.TB) testing.TB {
	if o, ok := t.(*observer); ok {
		return o.TB
	}
	return t
}

func (o *observer) Skip(args ...any) {
	o.TB.Helper()
	o.reason = fmt.Sprint(args...)
	o.TB.Skip(args...)
}

func (o *observer) Skipf(format string, args ...any) {
	o.TB.Helper()
	o.Skip(fmt.Sprintf(format, args...))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// known returns the reason why a case is known to fail, or "".
func (h *Harness) known(s *Scenario) string {
	if reason := h.Known[s.Rule+"/"+s.Case]; reason != "" {
		return reason
	}
	return h.Known[s.Rule]
}

// checkKnown checks that each known failure names an existing rule and has a reason.
func checkKnown(t testing.TB, known map[string]string) {
	t.Helper()
	all := map[string]bool{}
	for _, r := range rules {
		all[r.name] = true
		for _, c := range r.cases {
			all[r.name+"/"+c.Case] = true
		}
	}
	for name, reason := range known {
		switch {
		case !all[name]:
			t.Errorf("modeltest: Harness.Known[%q] names no rule and no case of a rule", name)
		case oneLine(reason) == "":
			t.Errorf("modeltest: Harness.Known[%q] has no reason", name)
		}
	}
}

// tryKnown runs a test that must fail, and then skips it.
func (o *observer) tryKnown(reason string, test func(testing.TB, runner)) {
	o.Helper()
	tr := try(o.TB, o.TB.Name(), func(t testing.TB) { test(t, runTrial) })
	switch {
	case tr.Failed():
		o.known = reason
		o.TB.Skipf("known to fail: %s\n%s", reason, strings.Join(tr.problems, "\n"))
	case tr.Skipped():
		o.Skip(tr.skip)
	default:
		o.Errorf("this is known to fail (%s), but it passes; remove it from Harness.Known", reason)
	}
}
