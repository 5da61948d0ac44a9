// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"

	"github.com/ponte-go/ponte/toolset"
)

// By is the [toolset.Decision.By] of a decision that a policy made.
const By = "policy"

// Remember returns an asker that asks only about calls that the policy has no rule for. A decision with Always becomes a rule for
// the call's tool, its source and its scope, and a rule about any scope that the call covers applies (see [toolset.Approval]). One question
// is open at a time for each policy, so that of two equal calls the second finds the answer to the first.
//
// A rule never covers more than the question said: nothing is remembered of a decision that changes the arguments, because the scope
// is that of the arguments before the change. Decisions that defer, or that were made after ctx had ended, are not remembered either. A request with Once set is
// not allowed by a rule, and makes none that allows.
//
// Questions that tools ask in the middle of a call go to asker as they are. With a nil asker, no
// person is asked: what the policy has no rule for stays pending. A nil policy remembers nothing.
func Remember(policy *Policy, asker toolset.Asker) toolset.Asker {
	if asker == nil {
		asker = toolset.AskerFuncs{}
	}
	return &remembering{policy, asker}
}

type remembering struct {
	policy *Policy
	asker  toolset.Asker
}

// Approve implements [toolset.Asker].
func (r *remembering) Approve(ctx context.Context, req toolset.ApprovalRequest) (toolset.Decision, error) {
	req.Once = req.Once || mustAsk(&req.Approval)
	return r.approve(ctx, &req)
}

// approve implements checked.
func (r *remembering) approve(ctx context.Context, req *toolset.ApprovalRequest) (toolset.Decision, error) {
	decision := toolset.Defer()
	decide := func() toolset.Verdict {
		v := r.policy.DecideApproval(req.Tool, &req.Approval)
		if req.Once && v == toolset.VerdictAllow {
			return toolset.VerdictDefer
		}
		return v
	}
	known, err := r.policy.askOnce(ctx, decide, func(ctx context.Context) (_ toolset.Verdict, err error) {
		decision, err = approve(ctx, r.asker, req)
		if err == nil && decision.Always && len(decision.Args) == 0 && ctx.Err() == nil && (!req.Once || decision.Verdict == toolset.VerdictDeny) {
			r.policy.RememberDecision(req.Tool, &req.Approval, decision)
		}
		return toolset.VerdictDefer, err
	})
	switch {
	case err != nil:
		return toolset.Decision{}, err
	case known == toolset.VerdictAllow:
		return toolset.Decision{Verdict: known, By: By}, nil
	case known == toolset.VerdictDeny:
		return remembered, nil
	}
	return decision, nil
}

// remembered is the decision of a rule that denies.
var remembered = toolset.Decision{Verdict: toolset.VerdictDeny, By: By, Reason: "The user denied this and asked not to be asked again."}

// denied implements denier.
func (r *remembering) denied(ctx context.Context, req *toolset.ApprovalRequest) (toolset.Decision, bool, error) {
	if r.policy.DecideApproval(req.Tool, &req.Approval) == toolset.VerdictDeny {
		return remembered, true, nil
	}
	if d, ok := r.asker.(denier); ok {
		return d.denied(ctx, req)
	}
	return toolset.Decision{}, false, nil
}

// insists implements denier.
func (r *remembering) insists(ctx context.Context, req *toolset.ApprovalRequest) (bool, error) {
	return insists(ctx, r.asker, req)
}

// Answer implements [toolset.Asker].
func (r *remembering) Answer(ctx context.Context, q toolset.Question) (toolset.Reply, error) {
	return r.asker.Answer(ctx, q)
}
