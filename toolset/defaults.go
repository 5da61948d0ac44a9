// SPDX-License-Identifier: Apache-2.0

package toolset

import "cmp"

// Defaults sets options for the tools of a toolset that do not set them. A tool's own options come first, the agent's
// come last. [Sequential] makes every tool a barrier, and [Idempotent] lets calls of every tool be
// repeated.
func Defaults[D any](set Toolset[D], opts ...Option) Toolset[D] {
	if set == nil {
		return incomplete[D]("Defaults", set)
	}
	var defaults Options
	for _, o := range opts {
		o(&defaults)
	}
	switch {
	case defaults.typed != nil:
		return misused[D](set, "Defaults: Approve and Check apply to a single tool; use Approved for a toolset")
	case defaults.Timeout < 0:
		return misused[D](set, "Defaults: timeout %v must not be negative", defaults.Timeout)
	case defaults.Retries != nil && *defaults.Retries < 0:
		return misused[D](set, "Defaults: retries %d must not be negative", *defaults.Retries)
	}
	return derived(set, same[D], each(func(copied, _ *Tool[D]) {
		o := &copied.Options
		o.Sequential = o.Sequential || defaults.Sequential
		o.Idempotent = o.Idempotent || defaults.Idempotent
		o.External = o.External || defaults.External
		o.InMemory = cmp.Or(o.InMemory, defaults.InMemory)
		o.Timeout = cmp.Or(o.Timeout, defaults.Timeout)
		o.Retries = cmp.Or(o.Retries, defaults.Retries)
		o.Kind, o.Title = cmp.Or(o.Kind, defaults.Kind), cmp.Or(o.Title, defaults.Title)
	}))
}
