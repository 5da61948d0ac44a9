// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// tap is between the deltas of a response and those who watch. It passes on what no guard has to
// see first, and text as guards allow. Like the model's sink it belongs to one goroutine.
type tap struct {
	sink model.Sink // nil unless the response is streamed
	// text, thinking and calls are the parts that are held back. tail is how much of a growing text
	// is held back; 0 is all of it.
	text, thinking, calls bool
	tail                  int
	// grown asks the guards about a text so far.
	grown func(text string, thinking, partial bool) (*decision, error)
	// wire is closed when the input has passed, or nil. Until then everything waits in the queue.
	wire  <-chan struct{}
	queue []model.Delta

	// passed is set if a part of the response was shown.
	passed bool
	// written is the text so far, looked how much of it the guards have seen, shown what was shown
	// of what they left.
	written strings.Builder
	looked  int
	shown   string
	// thoughts is the thinking so far; thought is thinking that has been checked, and told how much
	// of it was shown. dropThought is set if it must not be kept.
	thoughts    strings.Builder
	thought     string
	told        int
	dropThought bool
	// rest is the text that is left to be shown.
	rest string
	// used is the usage that the model reported last, until the loop is told.
	used *model.Usage
}

// tap returns the tap for a request.
func (g *guardrails[D]) tap(ctx context.Context, run *toolset.RunContext[D], wire <-chan struct{}) *tap {
	t := &tap{wire: wire}
	whole := false // a guard wants to see whole texts
	for i := range g.guards {
		c := &g.guards[i]
		if c.On&Output != 0 {
			t.text, t.calls = true, true
			t.thinking = t.thinking || !c.SkipThinking
			t.tail = max(t.tail, c.Stream)
			whole = whole || c.Stream == 0
		}
		t.calls = t.calls || c.On&Call != 0
	}
	if whole {
		t.tail = 0
	}
	t.grown = func(text string, thinking, partial bool) (*decision, error) {
		return g.decide(ctx, run, &Subject{Stage: Output, Text: text, Thinking: thinking, Partial: partial}, nil)
	}
	return t
}

// wrap returns the sink for the model.
func (t *tap) wrap(sink model.Sink) model.Sink {
	t.sink = sink
	return t.take
}

// take takes a delta of the model.
func (t *tap) take(d model.Delta) error {
	if d.Usage != nil {
		t.used, d.Usage = d.Usage, nil
	}
	if d.Kind != "" { // the response goes on
		if err := t.tellUsed(); err != nil {
			return err
		}
	}
	kind := d.Kind
	if kind == "" && d.Whole != nil {
		kind = d.Whole.Kind
	}
	switch {
	case kind == "":
		return nil
	case kind == model.PartText && t.text:
		if t.tail > 0 {
			return t.grow(d.Text)
		}
		return nil
	case kind == model.PartThinking && t.thinking:
		t.thoughts.WriteString(d.Text)
		return nil
	case kind == model.PartToolCall && t.calls:
		return nil
	case kind != model.PartText && kind != model.PartThinking && kind != model.PartToolCall && t.text:
		return nil // it may quote the text
	}
	return t.pass(d)
}

// tellUsed tells the loop the last usage.
func (t *tap) tellUsed() error {
	u := t.used
	if u == nil {
		return nil
	}
	t.used = nil
	return t.sink(model.Delta{Usage: u})
}

// pass passes a delta on, when the input has passed.
func (t *tap) pass(d model.Delta) error {
	if t.wire != nil {
		select {
		case <-t.wire:
			if err := t.flush(); err != nil {
				return err
			}
		default:
			t.queue = append(t.queue, d)
			return nil
		}
	}
	t.passed = true
	return t.sink(d)
}

// flush passes on what waits for the input. The caller knows that it has passed, or that the
// request has failed otherwise.
func (t *tap) flush() error {
	t.wire = nil
	queue := t.queue
	t.queue = nil
	for _, d := range queue {
		t.passed = true
		if err := t.sink(d); err != nil {
			return err
		}
	}
	return nil
}

// step is the minimum growth of a text before guards check it again. It grows with the text, which
// keeps the work proportional.
const step = 64

// grow takes more text, and shows what the guards allow.
func (t *tap) grow(text string) error {
	if err := t.tellThought(); err != nil {
		return err
	}
	t.written.WriteString(text)
	if n := t.written.Len(); n-t.looked < max(step, t.looked/8) {
		return nil
	}
	t.looked = t.written.Len()
	if t.shown == "" && mayBeJSON(t.written.String()) {
		return nil
	}
	d, err := t.grown(t.written.String(), false, true)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(d.text, t.shown) {
		return blocked(d.by, &Subject{Stage: Output}, "", errShown)
	}
	end := len(d.text) - t.tail
	for end > 0 && end < len(d.text) && !utf8.RuneStart(d.text[end]) {
		end--
	}
	if end <= len(t.shown) {
		return nil
	}
	more := d.text[len(t.shown):end]
	t.shown = d.text[:end]
	return t.pass(model.Delta{Part: ownPart, Kind: model.PartText, Text: more})
}

// tellThought shows the thinking before more text, if the guards allow it. A model may think again
// after some text: the guards see all of its thinking, and only what is new is shown.
func (t *tap) tellThought() error {
	text := t.thoughts.String()
	if text == "" || text == t.thought {
		return nil
	}
	d, err := t.grown(text, true, false)
	if err != nil {
		return err
	}
	if t.thought, t.dropThought = text, d.replaced; d.replaced {
		return nil
	}
	more := text[t.told:]
	t.told = len(text)
	return t.pass(model.Delta{Part: ownPart - 1, Kind: model.PartThinking, Text: more})
}

// ownPart is the index of the part with the text that was checked. Models number their parts from
// 0.
const ownPart = 1 << 30

// finish shows what is left of a response that has passed. If nothing was shown, the loop shows the
// response.
func (t *tap) finish(m *model.Message) error {
	if t.sink == nil {
		return nil
	}
	defer func() { _ = t.tellUsed() }() // last, because the response is complete; the loop checks the limits then
	if err := t.flush(); err != nil || !t.passed {
		return err
	}
	told := t.told
	for i := range m.Parts {
		p := &m.Parts[i]
		d := model.Delta{Part: ownPart + 1 + i, Kind: p.Kind, Text: p.Text, CallID: p.CallID, Tool: p.Tool}
		switch {
		case p.Kind == model.PartThinking && t.thinking:
			n := min(told, len(d.Text))
			if d.Text, told = d.Text[n:], told-n; d.Text == "" && t.told > 0 {
				continue
			}
		case p.Kind == model.PartText && t.text:
			if d.Text, t.rest = t.rest, ""; d.Text == "" {
				continue
			}
			d.Part = ownPart
		case p.Kind == model.PartToolCall && t.calls:
			d.Text = string(p.Args)
		default:
			continue
		}
		if err := t.sink(d); err != nil {
			return err
		}
	}
	return nil
}
