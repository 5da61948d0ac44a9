// SPDX-License-Identifier: Apache-2.0

package toolset

import "context"

// Approved requires approval for the calls of a toolset's tools. When is called for each call,
// after its arguments have been checked. It returns a description for the question, or nil if the
// call needs no approval. If when is nil, every call needs approval.
//
// A tool's own request for approval comes first. When is called only for calls that the tool itself would let run.
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
