// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"io"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// ParseErrorBody exposes the parser of error bodies.
var ParseErrorBody = parseErrorBody

// RequestBody returns the body that m would send.
func RequestBody(m *Model, req *model.Request, stream bool) ([]byte, error) {
	return m.appendRequest(req, m.settings.Merge(req.Settings), stream)
}

// AudioType tells the type of audio by its first bytes.
func AudioType(data []byte) string { return audioType(data) }

// SizeHint is how long a body is expected to be.
func SizeHint(req *model.Request) int { return sizeHint(req) }

// AppendJSONString exposes the string encoder.
func AppendJSONString(dst []byte, s string) []byte { return adapter.AppendJSONString(dst, s) }

// Stream is the result of the chunks of a stream, for comparison.
type Stream struct {
	state  assembler
	Deltas []model.Delta
	Err    error
	// Quick reports that the last chunk was read by the fast path.
	Quick bool
}

// ReadChunks adds chunks to a stream. quick determines whether the last one may use the fast path.
func ReadChunks(quick bool, chunks ...[]byte) *Stream {
	s := &Stream{}
	a := newAssembler("p", nil, func(d model.Delta) error {
		s.Deltas = append(s.Deltas, d)
		return nil
	})
	a.streamed = true
	for i, chunk := range chunks {
		if s.Quick = false; quick && i == len(chunks)-1 {
			s.Quick, s.Err = a.addTextChunk(chunk)
		}
		if !s.Quick {
			s.Err = a.decode(chunk)
		}
	}
	s.state = *a
	s.state.scratch, s.state.sink = scratch{}, nil
	return s
}

// ReadWithin reads the events of a stream with room for so many bytes, in either protocol. It returns the message and how
// many bytes were counted, or the index of the event that failed.
func ReadWithin(responses bool, room int, events ...string) (msg *model.Message, counted int, err error) {
	var c collector
	var d *deltas
	if responses {
		items := &itemCollector{provider: "p"}
		c, d = items, &items.deltas
	} else {
		a := newAssembler("p", nil, nil)
		c, d = a, &a.deltas
	}
	d.size = maxResponse - room
	for i, event := range events {
		if err = c.event("", []byte(event)); err == io.EOF {
			break
		}
		if err != nil && err != errKeepAlive {
			return nil, i, err
		}
	}
	msg, err = c.result()
	return msg, d.size - maxResponse + room, err
}
