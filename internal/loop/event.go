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
	// Output says that the tool is one by which the model gives the output.
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

// event returns the run's one event, empty but for its kind. It is to be filled in and passed to emit at once.
func (r *run) event(kind EventKind) *Event {
	r.scratch = Event{Kind: kind, Step: r.info.Step}
	return &r.scratch
}

// emit passes an event on if somebody watches. It reports an error once the run has been stopped.
func (r *run) emit(e *Event) error {
	if r.cfg.Observed && !r.stopped && !r.host.Emit(e) {
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

// notify passes on what running tasks say.
func (r *run) notify(n Note) error {
	if n.Custom != nil {
		e := r.event(Custom)
		e.CallID, e.Tool, e.Value = n.Task.Call.ID, n.Task.Call.Tool, n.Custom
		return r.emit(e)
	}
	return r.delta(&n.Delta)
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
		e := r.event(UsageChanged)
		e.Usage = &u
		if err := r.emit(e); err != nil {
			return err
		}
		if err := r.cfg.Limits.tokens(&u); err != nil {
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
	e := r.event(PartDelta)
	e.Part, e.PartKind, e.Text = d.Part, d.Kind, d.Text
	return r.emit(e)
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
	e := r.event(PartStart)
	e.Part, e.PartKind, e.CallID, e.Tool = d.Part, d.Kind, d.CallID, d.Tool
	e.describe(r.frame.tool(d.Tool))
	return r.emit(e)
}

func (r *run) endPart(i int) error {
	p := &r.parts[i]
	if p.ended {
		return nil
	}
	p.ended = true
	e := r.event(PartEnd)
	e.Part, e.PartKind = p.index, p.kind
	return r.emit(e)
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
	e := r.event(UsageChanged)
	e.Usage = &u
	if err := r.emit(e); err != nil {
		return err
	}
	e = r.event(ResponseDone)
	e.Message = resp
	return r.emit(e)
}
