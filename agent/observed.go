// SPDX-License-Identifier: Apache-2.0

package agent

// thrown is the value of an observer's panic.
type thrown struct{ value any }

// again continues the panic, if there was one.
func (t *thrown) again() {
	if t != nil {
		panic(t.value)
	}
}

// watch is the state of the observers of a run.
type watch struct {
	// left reports that the observer of the stream has left.
	left bool
	// telling reports that an observer is being called.
	telling bool
	// thrown is the value of an observer's panic, once it has panicked.
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

// Emit implements [loop.Observer]. It passes an event to the observers and reports whether the run
// may continue.
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
