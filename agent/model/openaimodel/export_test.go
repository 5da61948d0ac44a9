// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"io"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Event is an event as tests see it.
type Event struct{ Name, Data string }

// ReadEvents returns the events in r and the error that ended them; limit bounds an event if it is not 0.
func ReadEvents(r io.Reader, limit int) ([]Event, error) {
	e := newEventReader(r)
	if limit > 0 {
		e.limit = limit
	}
	var events []Event
	for {
		ev, err := e.next()
		if err != nil {
			return events, err
		}
		events = append(events, Event{ev.name, string(ev.data)})
	}
}

// ParseErrorBody exposes the parser of error bodies.
var ParseErrorBody = parseErrorBody

// RequestBody returns the body that m would send.
func RequestBody(m *Model, req *model.Request, stream bool) ([]byte, error) {
	return m.appendRequest(req, m.settings.Merge(req.Settings), stream)
}

// AppendJSONString exposes the string encoder.
func AppendJSONString(dst []byte, s string) []byte { return adapter.AppendJSONString(dst, s) }

// Stream is what came of the chunks of a stream, for comparisons.
type Stream struct {
	state  assembler
	Deltas []model.Delta
	Err    error
	// Quick says that the last chunk took the quick way.
	Quick bool
}

// ReadChunks gives chunks to a stream; the last one either takes the quick way if it can, or not.
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
