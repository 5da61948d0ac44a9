// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// Output is the output of a run as an OpOutput gives it, for engines that keep it or take it to another process.
type Output struct {
	// Type names the Go type of the output if an agent has several; otherwise it is empty.
	Type string
	// Data is the output as JSON, or nil if JSON cannot hold it: [MarshalDone] refuses it then.
	Data json.RawMessage
	// Value is the output itself. It never leaves the process.
	Value any
}

// emitted is a value that user code emitted, as JSON.
type emitted struct {
	// Type is the name of the value's Go type.
	Type string `json:"type,omitempty"`
	// Data is the value, or nil if it could not be written.
	Data json.RawMessage `json:"value,omitempty"`
}

func emittedOf(value any) (e emitted) {
	if opaque, ok := value.(OpaqueValue); ok {
		return emitted{Type: opaque.Type}
	}
	defer func() {
		if recover() != nil {
			e = emitted{Type: fmt.Sprintf("%T", value)}
		}
	}()
	data, err := plainjson.Marshal(value)
	if err != nil {
		data = nil
	}
	return emitted{Type: fmt.Sprintf("%T", value), Data: data}
}

// The types that arrive as what they are: events of inner runs, and refusals.
const (
	nestedType  = "engine.Nested"
	refusalType = "engine.Refusal"
)

// value returns the representation of the value in another process.
func (e *emitted) value() any {
	if e.Data == nil {
		return OpaqueValue{Type: e.Type}
	}
	var nested Nested
	if e.Type == nestedType && json.Unmarshal(e.Data, &nested) == nil {
		return nested
	}
	var refusal Refusal
	if e.Type == refusalType && json.Unmarshal(e.Data, &refusal) == nil {
		return refusal
	}
	return e.Data
}
