// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// openPart is a part that is still being streamed.
type openPart struct {
	index  int // by which the model names it
	number int // by which observers know it
	kind   model.PartKind
	callID string
	tool   string
	// whole is the complete part, once the model has sent it.
	whole *model.Part
	ended bool
	// absorbed is set if the text is in the whole part.
	absorbed bool
}

// segment marks where text of a part begins in the text of the response.
type segment struct{ part, from int }

// streamed is the part of the current response that has been read.
type streamed struct {
	parts []openPart
	// growing is set while a part grows: the one that the model names by index and observers by
	// number.
	growing       bool
	index, number int
	// shown is how many parts observers know of.
	shown int
	// text is the text of all parts in the order of arrival. A delta only appends to it.
	text     []byte
	segments []segment
	// usage is the usage that the model reported last.
	usage model.Usage
}

func (s *streamed) reset() { *s = streamed{text: s.text[:0], segments: s.segments[:0]} }

// Scratch is memory for a streamed response. Consecutive runs may share it, so streaming allocates no memory per run.
type Scratch struct{ streamed }

// maxScratch bounds the memory for text that is kept for the next run.
const maxScratch = 256 << 10

// giveBack clears the scratch and drops memory that is larger than most runs need.
func (s *streamed) giveBack() {
	if cap(s.text) > maxScratch {
		s.text = nil
	}
	s.reset()
}

// switchTo makes a part the current one.
//
//go:noinline
func (s *streamed) switchTo(at int) {
	s.growing, s.index, s.number = true, s.parts[at].index, s.parts[at].number
	s.segments = append(s.segments, segment{at, len(s.text)})
}

// textOf returns a copy of a part's text.
//
//go:noinline
func (s *streamed) textOf(part int) []byte {
	var text []byte
	for i := range s.segments {
		end := len(s.text)
		if i+1 < len(s.segments) {
			end = s.segments[i+1].from
		}
		if s.segments[i].part == part {
			text = append(text, s.text[s.segments[i].from:end]...)
		}
	}
	return text
}

// streamed is the part of the current response read so far; nil if responses are not streamed.
func (r *run) streamed() *streamed {
	if r.cfg.Scratch == nil {
		return nil
	}
	return &r.cfg.Scratch.streamed
}

// delta turns a model's delta into events, and keeps it in case that the response is cut off. A part starts with the first
// delta of its index. Text and thinking end when another part starts; if they grow again, it is a new part to the observer.
// Tool calls, whose fragments may be interleaved, end with the response.
func (r *run) delta(d *model.Delta) error {
	s := r.streamed()
	if d.Usage != nil {
		s.usage = *d.Usage
		u := r.cfg.Meter.Usage()
		u.Usage.Add(*d.Usage)
		u.Cost += r.cfg.Meter.Cost(r.asked(), &model.Message{Usage: *d.Usage, Time: r.last().Time})
		if err := r.emit(&engine.Event{Kind: engine.EventUsage, Usage: &u}); err != nil {
			return err
		}
	}
	if d.Kind == "" {
		if d.Whole != nil {
			s.complete(d)
		}
		return r.stopError()
	}
	if !s.growing || s.index != d.Part {
		if err := r.switchPart(d); err != nil {
			return err
		}
	}
	if d.Whole != nil {
		s.complete(d)
	}
	if d.Text == "" {
		return r.stopError()
	}
	s.text = append(s.text, d.Text...)
	return r.grow(d)
}

// grow emits a PartDelta. There are thousands of them, so only what differs from the last one is set.
func (r *run) grow(d *model.Delta) error {
	if !r.cfg.Observed || r.stopped {
		return r.stopError()
	}
	e := r.event
	if e.Kind != engine.EventPartDelta || e.PartKind != d.Kind {
		*e = engine.Event{Kind: engine.EventPartDelta, PartKind: d.Kind}
	}
	e.Step, e.Part, e.Text = r.info.Step, r.streamed().number, d.Text
	if !r.observer.Emit(e) {
		return r.stop()
	}
	return nil
}

// switchPart continues the part of a delta, or begins it.
func (r *run) switchPart(d *model.Delta) error {
	s := r.streamed()
	for i := range s.parts {
		if p := &s.parts[i]; p.index == d.Part && !p.ended {
			s.switchTo(i)
			return nil
		}
	}
	for i := range s.parts {
		if s.parts[i].kind == model.PartToolCall {
			continue
		}
		if err := r.endPart(i); err != nil {
			return err
		}
	}
	p := openPart{index: d.Part, number: s.shown, kind: d.Kind, tool: d.Tool}
	if d.Kind == model.PartToolCall {
		p.callID = s.callID(d.CallID, r.info.Step)
	}
	s.shown++
	s.parts = append(s.parts, p)
	s.switchTo(len(s.parts) - 1)
	e := &engine.Event{Kind: engine.EventPartStart, Part: p.number, PartKind: d.Kind, CallID: p.callID, Tool: d.Tool}
	describe(e, r.offer.Tool(d.Tool))
	return r.emit(e)
}

func (r *run) endPart(i int) error {
	p := &r.streamed().parts[i]
	if p.ended {
		return nil
	}
	p.ended = true
	return r.emit(&engine.Event{Kind: engine.EventPartEnd, Part: p.number, PartKind: p.kind})
}

// responseEvents emits the events of a complete response.
func (r *run) responseEvents(resp *model.Message) error {
	if !r.cfg.Observed {
		return nil
	}
	if r.cfg.Stream {
		if err := r.partEvents(resp); err != nil {
			return err
		}
	}
	u := r.cfg.Meter.Usage()
	if err := r.emit(&engine.Event{Kind: engine.EventUsage, Usage: &u}); err != nil {
		return err
	}
	return r.emit(&engine.Event{Kind: engine.EventResponse, Message: resp})
}

// partEvents ends the parts that are still open. If the model did not stream, it emits all events of the parts.
func (r *run) partEvents(resp *model.Message) error {
	s := r.streamed()
	defer s.reset()
	if len(s.parts) == 0 {
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
			d := model.Delta{Part: i, Kind: p.Kind, Text: text, CallID: p.CallID, Tool: p.Tool}
			if err := r.switchPart(&d); err != nil {
				return err
			}
			if d.Text == "" {
				continue
			}
			if err := r.grow(&d); err != nil {
				return err
			}
		}
	}
	for i := range s.parts {
		if err := r.endPart(i); err != nil {
			return err
		}
	}
	return nil
}

// complete takes a part as the message will have it.
func (s *streamed) complete(d *model.Delta) {
	found := false
	for i := range s.parts {
		p := &s.parts[i]
		switch {
		case d.Kind == "" || p.index != d.Part || p.kind != d.Whole.Kind:
		case found:
			p.absorbed = true
		default:
			p.whole, found = d.Whole, true
		}
	}
	if !found { // observers are not told of it
		s.parts = append(s.parts, openPart{index: d.Part, whole: d.Whole, ended: true})
	}
}

// callID returns the id of the next call.
func (s *streamed) callID(given string, step int) string {
	calls := 0
	for i := range s.parts {
		if s.parts[i].kind == model.PartToolCall {
			calls++
		}
	}
	return callID(given, step, calls, func(id string) bool {
		return slices.ContainsFunc(s.parts, func(p openPart) bool { return p.callID == id })
	})
}

// cutOff keeps what was read of a response that ended with an error: its text, signed thinking and complete calls, and the
// reported usage.
func (r *run) cutOff() {
	s := r.streamed()
	if s == nil { // nobody has read anything
		return
	}
	resp := &model.Message{Kind: model.KindResponse, Interrupted: true, Usage: s.usage}
	if r.cfg.Model != nil {
		resp.Provider, resp.Model = r.cfg.Model.Provider, r.cfg.Model.Name
	}
	for i := range s.parts {
		if p, ok := s.kept(i); ok {
			resp.Parts = append(resp.Parts, p)
		}
	}
	if resp.Parts != nil {
		r.append(resp)
	}
	s.reset()
}

// kept returns a part that can be kept in a history: a part that the model has completed, text, or a call with complete
// arguments. Providers cannot use unsigned thinking or incomplete calls.
func (s *streamed) kept(i int) (model.Part, bool) {
	p := &s.parts[i]
	part := model.Part{Kind: p.kind}
	switch {
	case p.absorbed:
	case p.whole != nil:
		part = *p.whole
		if part.Kind == model.PartToolCall {
			part.CallID = p.callID
		}
		return part, part.Kind != model.PartThinking || len(part.Signature) > 0
	case p.kind == model.PartText:
		part.Text = string(s.textOf(i))
		return part, strings.TrimSpace(part.Text) != ""
	case p.kind == model.PartToolCall:
		part.CallID, part.Tool, part.Args = p.callID, p.tool, s.textOf(i)
		return part, part.Tool != "" && len(part.Args) > 0 && part.Args[0] == '{' && json.Valid(part.Args)
	}
	return part, false
}
