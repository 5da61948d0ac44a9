// SPDX-License-Identifier: Apache-2.0

package toolset

// WithDeps returns a copy of run with other dependencies. The rest, including the call and the host, is the same. Use it
// to call code for narrower dependencies from a tool or hook with wider ones.
func WithDeps[N, D any](run *RunContext[D], deps N) *RunContext[N] {
	return &RunContext[N]{Deps: deps, RunInfo: run.RunInfo, Call: run.Call, Host: run.Host}
}
