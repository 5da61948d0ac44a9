// SPDX-License-Identifier: Apache-2.0

package loop

// Memory is memory for the state of a run. Runs that follow one another may share it: see
// [Memory.Clear].
type Memory struct{ run run }

// maxCalls bounds how many calls the memory of a run keeps room for.
const maxCalls = 16

// Clear makes the memory of a run that has ended ready for another one. Nobody may use the run any
// more: not its result, and neither a task nor its listener, which was streamed to.
func (m *Memory) Clear() {
	calls := m.run.calls[:0]
	if cap(calls) > maxCalls {
		calls = nil
	}
	clear(calls[:cap(calls)])
	m.run = run{calls: calls}
}

// noCalls returns memory for the calls of a response. Those of the response before are done with.
func (r *run) noCalls(n int) []call {
	if cap(r.calls) < n {
		r.calls = make([]call, 0, n)
	}
	return r.calls[:0]
}
