// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// EventKind says what happened.
type EventKind uint8

// The kinds of events, in the order in which they first appear in a run.
const (
	RunStart EventKind = iota + 1
	RequestStart
	PartStart
	PartDelta
	PartEnd
	ResponseDone
	UsageChanged
	ToolStart
	ToolRun
	ToolEnd
	Custom
	RetryAsked
	MessageIn
	CallDeferred
	OutputDone
	RunEnd
	// PartialOutput has an incomplete output. It is emitted by package agent, not by the loop.
	PartialOutput
)

// Event is something that happened in a run. Kind determines which fields are set.
type Event struct {
	Kind     EventKind
	Step     int
	Part     int
	PartKind model.PartKind
	Text     string
	CallID   string
	Tool     string
	// Kind and Title describe the tool to people, in PartStart and ToolStart.
	ToolKind  toolset.Kind
	ToolTitle string
	// Output says that the tool is one by which the model gives the output; in RequestStart, that text is bound to a schema.
	Output bool
	Args   model.RawArgs
	// Repaired is the JSON that arguments, or the text of an output, were read as; nil if they were read as written.
	Repaired model.RawArgs
	Valid    bool
	Attempt  int
	// Decision is what allowed the call, in ToolRun; nil if nobody was asked.
	Decision *toolset.Decision
	// Result is the part that answers a call, in ToolEnd.
	Result *model.Part
	// Message is the response in ResponseDone, the request in MessageIn.
	Message *model.Message
	Usage   *toolset.Usage
	Value   any
	Err     error
}

// describe sets the fields that describe a tool.
func (e *Event) describe(t *engine.Tool) {
	if t != nil {
		e.ToolKind, e.ToolTitle, e.Output = t.Kind, t.Title, t.Output
	}
}

// emit passes an event to the observer, if there is one. It returns an error once the run has been stopped.
func (r *run) emit(e *Event) error {
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
func (r *run) tell(kind EventKind, output bool) error {
	return r.emit(&Event{Kind: kind, Output: output})
}

func (r *run) pass(e *Event) error {
	if !r.observer.Emit(e) {
		return r.stop()
	}
	return nil
}

// stop ends the run, because its observer has left.
func (r *run) stop() error {
	r.stopped = true
	r.cancel(ErrStopped)
	return ErrStopped
}

func (r *run) stopError() error {
	if r.stopped {
		return ErrStopped
	}
	return nil
}

// Sink implements [Listener].
func (r *run) Sink() model.Sink {
	return func(d model.Delta) error { return r.delta(&d) }
}

// Custom implements [Listener].
func (r *run) Custom(c *engine.Call, value any) error {
	r.custom = true
	e := &Event{Kind: Custom, Value: value}
	if c != nil {
		e.CallID, e.Tool = c.ID, c.Tool
	}
	return r.emit(e)
}
