// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// A part of a run is measured, and the limits of the run apply to it.
func ExampleMeter_Sub() {
	run := toolset.NewMeter(toolset.Limits{TotalTokens: 100})
	run.Add(toolset.Usage{Usage: model.Usage{InputTokens: 70}})
	part := run.Sub()
	part.Add(toolset.Usage{Usage: model.Usage{InputTokens: 40}})
	fmt.Println(part.Own().InputTokens, "of", part.Usage().InputTokens, "tokens")
	fmt.Println(part.Request() != nil)
	// Output:
	// 40 of 110 tokens
	// true
}
