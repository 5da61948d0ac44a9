// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// maxResponse limits the total size of one response, in bytes.
const maxResponse = 64 << 20

var errResponseTooLong = exceeds("the response is longer than %d MiB", maxResponse>>20)

// deltas passes the growing parts of a response to the sink and counts their size.
type deltas struct {
	sink     model.Sink // may be nil
	told     bool       // the sink has been called
	nextPart int
	size     int
}

// growing is a text part that is still being streamed.
type growing struct {
	content []byte
	part    int
	began   bool
}

func (d *deltas) grow(g *growing, kind model.PartKind, text string) error {
	if text == "" {
		return nil
	}
	if err := d.reserve(len(text)); err != nil {
		return err
	}
	if !g.began {
		g.began = true
		g.part = d.newPart()
	}
	g.content = append(g.content, text...)
	return d.emit(model.Delta{Part: g.part, Kind: kind, Text: text})
}

// rest returns what text adds if it begins with what is there, or text.
//
//go:noinline
func (g *growing) rest(text string) string {
	if n := len(g.content); n <= len(text) && text[:n] == string(g.content) {
		return text[n:]
	}
	return text
}

// appendPart appends a part of a response. Not inlined, it keeps programs smaller.
//
//go:noinline
func appendPart(parts []model.Part, kind model.PartKind, text, data []byte, provider, id string) []model.Part {
	return append(parts, model.Part{Kind: kind, Text: string(text), Data: data, Provider: provider, ID: id})
}

func (d *deltas) newPart() int {
	d.nextPart++
	return d.nextPart - 1
}

func (d *deltas) reserve(n int) error {
	if d.size += n; d.size > maxResponse {
		return errResponseTooLong
	}
	return nil
}

func (d *deltas) emit(delta model.Delta) error {
	if d.sink == nil {
		return nil
	}
	d.told = true
	if err := d.sink(delta); err != nil {
		return adapter.FromSink(err)
	}
	return nil
}

func (d *deltas) emitted() bool { return d.told }
