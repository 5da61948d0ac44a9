// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"github.com/ponte-go/ponte/agent/model"
)

// Usage is the usage of a run. It can be stored as JSON.
type Usage struct {
	// Requests counts the requests to models.
	Requests int `json:"requests,omitempty"`
	// ToolCalls counts the tool calls that returned a value. Output tools never count.
	ToolCalls int `json:"tool_calls,omitempty"`
	model.Usage
	// Cost is the cost of the responses, in the currency of the run's prices, rounded to billionths for each response. It is 0 without
	// prices.
	Cost float64 `json:"cost,omitempty"`
	// Unpriced counts the requests whose cost is unknown. Under a limit on cost, Cost has what was reserved for them, otherwise
	// nothing. It is 0 without prices and windows of cost.
	Unpriced int `json:"unpriced,omitempty"`
}
