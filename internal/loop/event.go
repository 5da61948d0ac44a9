// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// describe sets the fields of an event that describe a tool.
//
//go:noinline
func describe(e *engine.Event, t *engine.Tool) {
	if t != nil {
		e.ToolKind, e.ToolTitle, e.Output = t.Kind, t.Title, t.Output
	}
}

// emit passes an event to the observer, if there is one. It returns an error once the run has been stopped.
func (r *run) emit(e *engine.Event) error {
	if !r.cfg.Observed || r.stopped {
		return r.stopError()
	}
	*r.event = *e // so that e need not be on the heap
	r.event.Step = r.info.Step
	return r.pass(r.event)
}

// tell passes on the start of a run or a request. It is not inlined because an event would be on the stack of every run that
// waits for its model.
//
//go:noinline
func (r *run) tell(kind engine.EventKind, output bool) error {
	return r.emit(&engine.Event{Kind: kind, Output: output})
}

func (r *run) pass(e *engine.Event) error {
	if !r.observer.Emit(e) {
		return r.stop()
	}
	return nil
}

// stop ends the run, because its observer has left.
func (r *run) stop() error {
	r.stopped = true
	r.cancel(engine.ErrStopped)
	return engine.ErrStopped
}

func (r *run) stopError() error {
	if r.stopped {
		return engine.ErrStopped
	}
	return nil
}

// Sink implements [engine.Listener].
func (r *run) Sink() model.Sink {
	return func(d model.Delta) error { return r.delta(&d) }
}

// Custom implements [engine.Listener].
func (r *run) Custom(c *engine.Call, value any) error {
	r.custom = true
	e := &engine.Event{Kind: engine.EventCustom, Value: value}
	if c != nil {
		e.CallID, e.Tool = c.ID, c.Tool
	}
	return r.emit(e)
}
