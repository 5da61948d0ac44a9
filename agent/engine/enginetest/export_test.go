// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"testing"
	"time"
)

// HurryUp makes the suite wait for a short time only, until the test ends.
func HurryUp(t testing.TB) {
	old := patience
	patience = time.Second / 10
	t.Cleanup(func() { patience = old })
}

// Check checks one rule, of a harness that needs no test of its own.
func Check(t testing.TB, rule string, h Harness) {
	for _, r := range rules {
		if r.name == rule {
			r.check(t, &h)
		}
	}
}

// Rules returns the names of the rules.
func Rules() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// Reference returns what the run of the suite consists of: its tasks in order, its history, and
// what it used.
func Reference(t testing.TB) (tasks []string, messages, usage string) {
	res, l := reference(t, "reference")
	return l.begun, history(t, res.Messages), fmt.Sprintf("%+v", res.Usage)
}

// Passed returns how many places of a life were passed where it could have ended.
func Passed(l *Life) int { return l.passed }
