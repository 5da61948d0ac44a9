// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// ParseErrorBody exposes the parser of error bodies.
var ParseErrorBody = parseErrorBody

// RequestBody returns the body that m would send.
func RequestBody(m *Model, req *model.Request, stream bool) ([]byte, error) {
	return m.appendRequest(req, m.settings.Merge(req.Settings), stream)
}

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
