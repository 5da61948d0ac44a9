// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// Result is the outcome of one case of a rule. See [Run].
type Result struct {
	// Rule and Case name the case, and Outcome says how it ended.
	Rule    string  `json:"rule"`
	Case    string  `json:"case"`
	Outcome Outcome `json:"outcome"`
	// Reason says, on one line, why a case was skipped or is known to fail.
	Reason string `json:"reason,omitempty"`
}

// Outcome says how a case of the conformance suite ended.
type Outcome string

const (
	// Passed means that the model keeps the rule.
	Passed Outcome = "passed"
	// Skipped means that the rule does not apply, or that the harness cannot play the scenario.
	Skipped Outcome = "skipped"
	// Known means that the model fails, as [Harness.Known] says that it does.
	Known Outcome = "known"
	// Failed means that the model fails.
	Failed Outcome = "failed"
)

// observer is the test of one case. It remembers why it was skipped.
type observer struct {
	testing.TB
	reason string // of a skip
	known  string // reason of a failure that was expected
}

// observe returns the test of a case of the suite. It reports the result when all is over, clean-up included.
func observe(t testing.TB, s *Scenario, report func(Result)) *observer {
	o := &observer{TB: t}
	t.Cleanup(func() {
		r := Result{Rule: s.Rule, Case: s.Case, Outcome: Passed}
		switch {
		case t.Failed():
			r.Outcome = Failed
		case o.known != "":
			r.Outcome, r.Reason = Known, oneLine(o.known)
		case t.Skipped():
			r.Outcome, r.Reason = Skipped, oneLine(o.reason)
		}
		report(r)
	})
	return o
}

// under returns the test that is observed.
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

// known returns why a case is known to fail, or "".
func (h *Harness) known(s *Scenario) string {
	if reason := h.Known[s.Rule+"/"+s.Case]; reason != "" {
		return reason
	}
	return h.Known[s.Rule]
}

// checkKnown makes sure that a list of known failures speaks of rules that there are, and says why.
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
			t.Errorf("conformance: Harness.Known[%q] is the name of no rule, and of no case of one", name)
		case oneLine(reason) == "":
			t.Errorf("conformance: Harness.Known[%q] does not say why", name)
		}
	}
}

// tryKnown runs a test that must fail, and skips it then.
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
		o.Errorf("this is known to fail (%s), but it passes: take it out of Harness.Known", reason)
	}
}
