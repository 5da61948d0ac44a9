// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
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

// Value is a value that user code emitted, on its way from another process.
type Value struct {
	// Type is the name of the value's Go type.
	Type string
	// Data is the value as JSON, or nil if it could not be written.
	Data json.RawMessage
}

func valueOf(value any) (v *Value) {
	defer func() {
		if recover() != nil {
			v = &Value{Type: fmt.Sprintf("%T", value)}
		}
	}()
	data, err := marshal(value)
	if err != nil {
		return &Value{Type: fmt.Sprintf("%T", value)}
	}
	return &Value{Type: fmt.Sprintf("%T", value), Data: data}
}
