// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// Instructed adds instructions to a toolset that tell the model how to use its tools. They follow the toolset's own
// instructions.
func Instructed[D any](set Toolset[D], instructions string) Toolset[D] {
	if set == nil {
		return incomplete[D]("Instructed", set)
	}
	if s, ok := set.(*static[D]); ok {
		c := *s
		c.listing.Instructions = joinText(s.listing.Instructions, instructions)
		return &c
	}
	return &view[D, D]{set: set, context: same[D], fixed: unchanged[D], begin: func() listFunc[D, D] {
		inside, all := "", instructions
		return func(_ context.Context, _ *RunContext[D], inner Listing[D]) (Listing[D], error) {
			if inner.Instructions != inside {
				inside, all = inner.Instructions, joinText(inner.Instructions, instructions)
			}
			inner.Instructions = all
			return inner, nil
		}
	}}
}
