// SPDX-License-Identifier: Apache-2.0

package toolset

// WithDeps returns a copy of run with other dependencies. Everything else is the same: the run, the call, and where events
// go. Code for narrower dependencies that is called from a tool or hook with wider ones is given such a copy.
func WithDeps[N, D any](run *RunContext[D], deps N) *RunContext[N] {
	return &RunContext[N]{Deps: deps, RunInfo: run.RunInfo, Call: run.Call, Host: run.Host}
}
