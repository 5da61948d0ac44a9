// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// Approved makes calls of a toolset's tools need approval before they run. When decides about each call, after its
// arguments have been checked, and says what is to be approved; nil lets the call run at once. Without a function every
// call needs approval.
//
// A tool that asks for approval itself goes first: when is only asked about calls that it would let run.
func Approved[D any](set Toolset[D], when func(ctx context.Context, run *RunContext[D], tool *Tool[D], args any) (*Approval, error)) Toolset[D] {
	if set == nil {
		return incomplete[D]("Approved", set)
	}
	if when == nil {
		when = func(context.Context, *RunContext[D], *Tool[D], any) (*Approval, error) { return &Approval{}, nil }
	}
	return derived(set, same[D], each(func(copied, inner *Tool[D]) {
		copied.Approval = func(ctx context.Context, run *RunContext[D], args any) (*Approval, error) {
			if inner.Approval != nil {
				if own, err := inner.Approval(ctx, run, args); own != nil || err != nil {
					return own, err
				}
			}
			return when(ctx, run, inner, args)
		}
	}))
}
