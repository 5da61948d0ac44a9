// SPDX-License-Identifier: Apache-2.0

package modeltest

import "testing"

// Conform runs the conformance suite with a testing.TB that is not a real test.
func Conform(t testing.TB, h Harness, run func(t testing.TB, name string, f func(testing.TB))) []Result {
	t.Helper()
	return conform(t, h, run)
}
