// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

// Usage is what a run has used. It can be stored as JSON.
type Usage struct {
	// Requests counts the requests to models.
	Requests int `json:"requests,omitempty"`
	// ToolCalls counts the tool calls that returned a value. Output tools never count.
	ToolCalls int `json:"tool_calls,omitempty"`
	model.Usage
	// Cost is what the responses cost, in the currency of the run's prices. Without prices it is 0.
	Cost float64 `json:"cost,omitempty"`
	// Unpriced counts the responses whose cost is not known, and so is not in Cost. Without prices it is 0.
	Unpriced int `json:"unpriced,omitempty"`
}

// UnmarshalJSON reads the form that [json.Marshal] writes. It also reads what earlier versions wrote, with Go's names of the
// fields.
func (u *Usage) UnmarshalJSON(data []byte) error {
	type fields Usage // has no methods
	read := struct {
		*fields
		ToolCalls *int `json:"ToolCalls"` // the name of earlier versions; the other names differ in case only
	}{fields: (*fields)(u)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if read.ToolCalls != nil {
		u.ToolCalls = *read.ToolCalls
	}
	return nil
}
