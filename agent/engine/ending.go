// SPDX-License-Identifier: Apache-2.0

package engine

// EndStrategy decides what happens to tool calls that the model makes together with an output call.
type EndStrategy string

// The end strategies.
const (
	// EndGraceful processes calls in the order of the response: tool calls before the first valid output are executed, those
	// after it are skipped. It is the default.
	EndGraceful EndStrategy = ""
	// EndEarly processes output calls first. The first valid one ends the run. Tool calls are executed only if every output
	// is invalid.
	EndEarly EndStrategy = "early"
	// EndExhaustive executes every call. The first valid output wins.
	EndExhaustive EndStrategy = "exhaustive"
)
