// SPDX-License-Identifier: Apache-2.0

package genkitmodel

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Piece is an addition to a streamed response.
type Piece struct {
	// Kind is [model.PartText], [model.PartThinking] or [model.PartToolCall]. The zero value adds
	// nothing, but starts a new part for the text that follows.
	Kind model.PartKind
	// Text is the added text, thinking, or fragment of arguments.
	Text string
	// Call distinguishes the calls of a response. The first piece of a call has its Tool, and its
	// CallID if the provider sent one.
	Call         int
	CallID, Tool string
}

// deltas records what a sink has been told.
type deltas struct {
	parts []growing
	calls map[int]int // indexes of the parts of calls, by Piece.Call
	ids   adapter.CallIDs
	open  bool // the last part may grow if it is text
}

type growing struct {
	model.Part
	text bytes.Buffer
}

// grow tells the sink what was added. Empty text is not passed on.
func (d *deltas) grow(sink model.Sink, p Piece) error {
	switch {
	case p.Kind == "":
		d.open = false
		return nil
	case p.Kind == model.PartToolCall:
		return d.growCall(sink, p)
	case p.Text == "":
		return nil
	}
	if n := len(d.parts); !d.open || d.parts[n-1].Kind != p.Kind {
		d.parts = append(d.parts, growing{Part: model.Part{Kind: p.Kind}})
	}
	d.open = true
	n := len(d.parts) - 1
	d.parts[n].text.WriteString(p.Text)
	return sink(model.Delta{Part: n, Kind: p.Kind, Text: p.Text})
}

// growLast adds to the last part of a kind.
func (d *deltas) growLast(sink model.Sink, kind model.PartKind, text string) error {
	for n := len(d.parts) - 1; n >= 0 && text != ""; n-- {
		if d.parts[n].Kind == kind {
			d.parts[n].text.WriteString(text)
			return sink(model.Delta{Part: n, Kind: kind, Text: text})
		}
	}
	return d.grow(sink, Piece{Kind: kind, Text: text})
}

func (d *deltas) growCall(sink model.Sink, p Piece) error {
	n, begun := d.calls[p.Call]
	switch {
	case !begun && p.Tool == "":
		return nil // an empty fragment; the response will contain the part
	case !begun:
		if d.calls == nil {
			d.calls = map[int]int{}
		}
		n = len(d.parts)
		d.calls[p.Call] = n
		part := model.Part{Kind: p.Kind, CallID: d.ids.Unique(p.CallID), Tool: p.Tool}
		d.parts = append(d.parts, growing{Part: part})
		d.parts[n].text.WriteString(p.Text)
		d.open = false
		return sink(model.Delta{Part: n, Kind: p.Kind, CallID: part.CallID, Tool: part.Tool, Text: p.Text})
	case p.Text == "":
		return nil
	}
	d.parts[n].text.WriteString(p.Text)
	return sink(model.Delta{Part: n, Kind: p.Kind, Text: p.Text})
}

// rest tells the sink the parts of msg that were not streamed, and the usage. If the response
// differs from what was streamed, msg is changed to match, because the sink cannot be told to
// forget.
func (d *deltas) rest(sink model.Sink, msg *model.Message) error {
	for _, kind := range []model.PartKind{model.PartThinking, model.PartText} {
		streamed, whole := d.joined(kind), joined(msg.Parts, kind)
		missing, ok := strings.CutPrefix(whole, streamed)
		if !ok {
			d.replace(msg, kind)
			continue
		}
		if err := d.growLast(sink, kind, missing); err != nil {
			return err
		}
	}
	if err := d.restOfCalls(sink, msg); err != nil {
		return err
	}
	if msg.Usage == (model.Usage{}) {
		return nil
	}
	usage := msg.Usage
	return sink(model.Delta{Usage: &usage})
}

// restOfCalls matches the calls of the response with those that were streamed. Calls may have been
// streamed late or not at all, so they are matched by content, and the remaining ones by order.
func (d *deltas) restOfCalls(sink model.Sink, msg *model.Message) error {
	var begun []int
	for i := range d.parts {
		if d.parts[i].Kind == model.PartToolCall {
			begun = append(begun, i)
		}
	}
	streamed := make(map[*model.Part]int, len(begun))
	match := func(same func(streamed *growing, p *model.Part) bool) {
		for i := range msg.Parts {
			p := &msg.Parts[i]
			if _, matched := streamed[p]; matched || p.Kind != model.PartToolCall {
				continue
			}
			if at := slices.IndexFunc(begun, func(n int) bool { return same(&d.parts[n], p) }); at >= 0 {
				streamed[p] = begun[at]
				begun = slices.Delete(begun, at, at+1)
			}
		}
	}
	match(func(s *growing, p *model.Part) bool { return s.Tool == p.Tool && bytes.Equal(s.text.Bytes(), p.Args) })
	match(func(s *growing, p *model.Part) bool {
		return s.Tool == p.Tool && bytes.HasPrefix(p.Args, s.text.Bytes())
	})
	match(func(s *growing, p *model.Part) bool { return s.Tool == p.Tool })
	for i := range msg.Parts {
		p := &msg.Parts[i]
		if p.Kind != model.PartToolCall {
			continue
		}
		if n, matched := streamed[p]; matched {
			if err := d.restOfCall(sink, p, n); err != nil {
				return err
			}
			continue
		}
		p.CallID = d.ids.Unique(p.CallID)
		if err := sink(model.Delta{Part: len(d.parts), Kind: p.Kind, CallID: p.CallID, Tool: p.Tool, Text: string(p.Args)}); err != nil {
			return err
		}
		d.parts = append(d.parts, growing{Part: model.Part{Kind: p.Kind}})
	}
	for _, n := range begun { // missing in the response, but known to the sink
		call := d.parts[n].Part
		call.Args = orEmpty(d.parts[n].text.Bytes())
		msg.Parts = append(msg.Parts, call)
	}
	return nil
}

// restOfCall tells the sink what is missing of a call that was streamed as part n.
func (d *deltas) restOfCall(sink model.Sink, p *model.Part, n int) error {
	streamed := &d.parts[n]
	p.CallID = streamed.CallID
	missing, ok := bytes.CutPrefix(p.Args, streamed.text.Bytes())
	switch {
	case !ok:
		p.Args = orEmpty(streamed.text.Bytes())
	case len(missing) > 0:
		return sink(model.Delta{Part: n, Kind: p.Kind, Text: string(missing)})
	}
	return nil
}

func (d *deltas) joined(kind model.PartKind) string {
	var b strings.Builder
	for i := range d.parts {
		if d.parts[i].Kind == kind {
			b.Write(d.parts[i].text.Bytes())
		}
	}
	return b.String()
}

func joined(parts []model.Part, kind model.PartKind) string {
	var b strings.Builder
	for i := range parts {
		if parts[i].Kind == kind {
			b.WriteString(parts[i].Text)
		}
	}
	return b.String()
}

// replace replaces the parts of a kind by the streamed ones, at the place of the first, without
// signatures, which would not match.
func (d *deltas) replace(msg *model.Message, kind model.PartKind) {
	is := func(p model.Part) bool { return p.Kind == kind }
	at := max(slices.IndexFunc(msg.Parts, is), 0)
	msg.Parts = slices.DeleteFunc(msg.Parts, is)
	for i := range d.parts {
		if !is(d.parts[i].Part) {
			continue
		}
		p := model.Part{Kind: kind, Text: d.parts[i].text.String()}
		if kind == model.PartThinking {
			p.Provider = msg.Provider
		}
		at = min(at, len(msg.Parts))
		msg.Parts = slices.Insert(msg.Parts, at, p)
		at++
	}
}
