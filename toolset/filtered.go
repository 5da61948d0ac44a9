// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"

	"github.com/ponte-go/ponte/internal/errs"
)

// Filtered offers the tools of a toolset for which keep returns true. Keep is called for every tool in every step, so the
// selection can depend on the run: the user, the mode of a session, the history so far.
func Filtered[D any](set Toolset[D], keep func(ctx context.Context, run *RunContext[D], tool *Tool[D]) (bool, error)) Toolset[D] {
	if set == nil || keep == nil {
		return incomplete[D]("Filtered", set)
	}
	return &view[D, D]{set: set, context: same[D], begin: func() listFunc[D, D] {
		var kept steady[D]
		return func(ctx context.Context, run *RunContext[D], inner Listing[D]) (Listing[D], error) {
			kept.begin()
			for _, t := range inner.Tools {
				ok, err := keep(ctx, run, t)
				if err != nil {
					return Listing[D]{}, errs.Errorf("filter tool %q: %w", t.Def.Name, err)
				}
				if ok {
					kept.add(t)
				}
			}
			return Listing[D]{Tools: kept.end(), Instructions: inner.Instructions}, nil
		}
	}}
}
