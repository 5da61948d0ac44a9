package loop

import (
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
	ToolEnd
	Custom
	RetryAsked
	MessageIn
	CallDeferred
	OutputDone
	RunEnd
)

// Event is something that happened in a run. Which fields mean something depends on Kind.
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
	Output  bool
	Args    model.RawArgs
	Valid   bool
	Attempt int
	// Result is the part that answers a call, in ToolEnd.
	Result *model.Part
	// Message is the response in ResponseDone, the request in MessageIn.
	Message *model.Message
	Usage   *toolset.Usage
	Value   any
	Err     error
}

// describe says what a tool is, if there is one.
func (e *Event) describe(t *Tool) {
	if t != nil {
		e.ToolKind, e.ToolTitle, e.Output = t.Kind, t.Title, t.Output
	}
}

// emit passes an event on if somebody watches. It reports an error once the run has been stopped.
func (r *run) emit(e Event) error {
	if !r.cfg.Observed || r.stopped {
		return r.stopError()
	}
	r.event = e // so that e need not be on the heap
	r.event.Step = r.info.Step
	return r.pass(&r.event)
}

func (r *run) pass(e *Event) error {
	if !r.host.Emit(e) {
		r.stopped = true
		r.cancel(ErrStopped)
	}
	return r.stopError()
}

func (r *run) stopError() error {
	if r.stopped {
		return ErrStopped
	}
	return nil
}

// Delta implements [Listener].
func (r *run) Delta(d model.Delta) error { return r.delta(&d) }

// Custom implements [Listener].
func (r *run) Custom(t *Task, value any) error {
	return r.emit(Event{Kind: Custom, CallID: t.Call.ID, Tool: t.Call.Tool, Value: value})
}

// openPart is a part that is being streamed.
type openPart struct {
	index int
	kind  model.PartKind
	ended bool
}

// delta turns a model's delta into events: a part starts with the first delta of its index; text and thinking end when
// another part starts, tool calls, whose fragments may be interleaved, at the end of the response.
func (r *run) delta(d *model.Delta) error {
	if d.Usage != nil {
		u := r.cfg.Meter.Usage()
		u.Usage.Add(*d.Usage)
		if err := r.emit(Event{Kind: UsageChanged, Usage: &u}); err != nil {
			return err
		}
		if err := r.cfg.Meter.CheckTokens(*d.Usage); err != nil {
			return err
		}
	}
	if d.Kind == "" {
		return r.stopError()
	}
	if n := len(r.parts); n == 0 || r.parts[n-1].index != d.Part {
		if err := r.switchPart(d); err != nil {
			return err
		}
	}
	if d.Text == "" {
		return r.stopError()
	}
	return r.grow(d)
}

// grow emits a PartDelta. There are thousands of them, so only what differs from the last one is set.
func (r *run) grow(d *model.Delta) error {
	if !r.cfg.Observed || r.stopped {
		return r.stopError()
	}
	e := &r.event
	if e.Kind != PartDelta || e.PartKind != d.Kind {
		*e = Event{Kind: PartDelta, PartKind: d.Kind}
	}
	e.Step, e.Part, e.Text = r.info.Step, d.Part, d.Text
	return r.pass(e)
}

func (r *run) switchPart(d *model.Delta) error {
	for i := range r.parts {
		if r.parts[i].index == d.Part {
			return nil
		}
	}
	if n := len(r.parts); n > 0 && r.parts[n-1].kind != model.PartToolCall {
		if err := r.endPart(n - 1); err != nil {
			return err
		}
	}
	r.parts = append(r.parts, openPart{index: d.Part, kind: d.Kind})
	e := Event{Kind: PartStart, Part: d.Part, PartKind: d.Kind, CallID: d.CallID, Tool: d.Tool}
	e.describe(r.frame.tool(d.Tool))
	return r.emit(e)
}

func (r *run) endPart(i int) error {
	p := &r.parts[i]
	if p.ended {
		return nil
	}
	p.ended = true
	return r.emit(Event{Kind: PartEnd, Part: p.index, PartKind: p.kind})
}

// responseEvents ends the parts that are still open. If the model did not stream, it makes up for it.
func (r *run) responseEvents(resp *model.Message) error {
	if !r.cfg.Observed {
		return nil
	}
	if len(r.parts) == 0 && r.cfg.Stream {
		for i := range resp.Parts {
			p := &resp.Parts[i]
			text := p.Text
			switch p.Kind {
			case model.PartToolCall:
				text = string(p.Args)
			case model.PartText, model.PartThinking:
			default:
				continue
			}
			if err := r.delta(&model.Delta{Part: i, Kind: p.Kind, Text: text, CallID: p.CallID, Tool: p.Tool}); err != nil {
				return err
			}
		}
	}
	for i := range r.parts {
		if err := r.endPart(i); err != nil {
			return err
		}
	}
	r.parts = r.parts[:0]
	u := r.info.Usage
	if err := r.emit(Event{Kind: UsageChanged, Usage: &u}); err != nil {
		return err
	}
	return r.emit(Event{Kind: ResponseDone, Message: resp})
}
