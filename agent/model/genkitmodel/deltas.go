package genkitmodel

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// deltas is what a sink has been told.
type deltas struct {
	parts []model.Part
	text  []strings.Builder // of the parts; parts has it when the stream is over
	open  bool              // the last part may grow
}

// grow tells the sink that text was added. Empty text says nothing, so it is not passed on.
func (d *deltas) grow(sink model.Sink, kind model.PartKind, text string) error {
	if text == "" {
		return nil
	}
	if n := len(d.parts); !d.open || d.parts[n-1].Kind != kind {
		d.parts = append(d.parts, model.Part{Kind: kind})
		d.text = append(d.text, strings.Builder{})
	}
	d.open = true
	n := len(d.parts) - 1
	d.text[n].WriteString(text)
	return sink(model.Delta{Part: n, Kind: kind, Text: text})
}

// end makes what comes next a part of its own.
func (d *deltas) end() { d.open = false }

// rest tells the sink what of msg it has not been told: what the plugin kept for the response, the calls, and the usage.
// Text that was streamed and that the response has otherwise stands as it was streamed: msg is corrected.
func (d *deltas) rest(sink model.Sink, msg *model.Message) error {
	for i := range d.parts {
		d.parts[i].Text = d.text[i].String()
	}
	for _, kind := range []model.PartKind{model.PartThinking, model.PartText} {
		streamed, whole := joined(d.parts, kind), joined(msg.Parts, kind)
		missing, ok := strings.CutPrefix(whole, streamed)
		if !ok {
			replace(msg, kind, d.parts)
			continue
		}
		if err := d.grow(sink, kind, missing); err != nil {
			return err
		}
	}
	n := len(d.parts)
	for i := range msg.Parts {
		p := &msg.Parts[i]
		if p.Kind != model.PartToolCall {
			continue
		}
		if err := sink(model.Delta{Part: n, Kind: p.Kind, CallID: p.CallID, Tool: p.Tool, Text: string(p.Args)}); err != nil {
			return err
		}
		n++
	}
	if msg.Usage == (model.Usage{}) {
		return nil
	}
	usage := msg.Usage
	return sink(model.Delta{Usage: &usage})
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

// replace puts the parts of a kind as they were streamed where the first of that kind is. Signatures go with what they
// signed.
func replace(msg *model.Message, kind model.PartKind, streamed []model.Part) {
	is := func(p model.Part) bool { return p.Kind == kind }
	at := max(slices.IndexFunc(msg.Parts, is), 0)
	msg.Parts = slices.DeleteFunc(msg.Parts, is)
	for _, p := range streamed {
		if is(p) {
			if kind == model.PartThinking {
				p.Provider = msg.Provider
			}
			msg.Parts = slices.Insert(msg.Parts, min(at, len(msg.Parts)), p)
			at++
		}
	}
}
