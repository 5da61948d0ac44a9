// SPDX-License-Identifier: Apache-2.0

package agent

// thrown is what an observer panicked with.
type thrown struct{ value any }

// again goes on with the panic, if there was one.
func (t *thrown) again() {
	if t != nil {
		panic(t.value)
	}
}

// watch is what became of the observers of a run.
type watch struct {
	// left says that the observer of the stream has left.
	left bool
	// telling says that an observer is being told of something.
	telling bool
	// thrown is what an observer panicked with, once it has.
	thrown *thrown
}

// told is deferred around every call of an observer. An observer that panics or ends its goroutine is not called again. The
// panic is kept until the run has ended, because it must not pass through models and tools, which may take it for their own.
func (w *watch) told() {
	if !w.telling {
		return
	}
	w.left, w.thrown = true, &thrown{recover()} // nil if the goroutine is ended, and nobody will ask
}

// Emit implements [loop.Observer]. It tells the observers of an event and reports whether the run may go on.
func (r *agentRun[D, O]) Emit(e *Event) bool {
	if r.thrown != nil {
		return false
	}
	r.telling = true
	defer r.told()
	if e.Kind != EventPartDelta {
		r.tell(e)
	}
	if r.stream && !r.left && !r.emit(e) {
		r.left = true
	}
	r.telling = false
	return !r.left
}

// tell tells the agent's observer, who does not see deltas.
func (r *agentRun[D, O]) tell(e *Event) {
	if r.agent.config.Observer != nil {
		r.agent.config.Observer.observe(*e)
	}
}
