package agent

import "github.com/ponte-go/ponte/internal/loop"

// thrown is what an observer panicked with.
type thrown struct{ value any }

// again goes on with the panic, if there was one.
func (t *thrown) again() {
	if t != nil {
		panic(t.value)
	}
}

// Emit implements [loop.Host]. It tells the observers of an event and reports whether the run may go on. An observer that
// panics or ends its goroutine is not called again. A panic is kept until the run has ended, because it must not pass through
// models and tools, which may take it for their own.
func (r *agentRun[D, O]) Emit(e *loop.Event) bool {
	if r.thrown != nil {
		return false
	}
	if e.Kind == loop.OutputDone {
		e.Args = r.repaired // where eventOf looks for it
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		r.left = true
		r.thrown = &thrown{}
		r.thrown.value = recover() // nil if the goroutine is ended, and nobody will ask
	}()
	if r.agent.config.Observer != nil {
		r.agent.config.Observer.observe(eventOf(e))
	}
	if r.stream && !r.left && !r.emit(e) {
		r.left = true
	}
	returned = true
	return !r.left
}
