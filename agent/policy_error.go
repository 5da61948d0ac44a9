// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// PolicyError names the policy that has refused something. It wraps the policy's error. If the policy
// is one of a run around, the error ends that run as well, as a limit of that run does. A call that
// a policy denies has the policy in the Decision of its result.
type PolicyError struct {
	// Policy is the name of the policy.
	Policy string
	// Err is the error of the policy.
	Err error

	// rules identify the policy, in the process in which it has refused.
	rules *policyRules
}

// Error implements error.
func (e *PolicyError) Error() string {
	if text := e.Err.Error(); strings.HasPrefix(text, e.Policy+": ") {
		return text // of the package that the policy is named after
	}
	return fmt.Sprintf("policy %q: %v", e.Policy, e.Err)
}

// Unwrap returns what the policy says.
func (e *PolicyError) Unwrap() error { return e.Err }

// policyErrors lets the errors of policies keep their names between processes.
func policyErrors() engine.ErrorCodec {
	return engine.ErrorCodec{
		Name: "policy",
		Encode: func(err error) (any, bool) {
			e, ok := err.(*PolicyError)
			if !ok {
				return nil, false
			}
			return e.Policy, true
		},
		Decode: func(data json.RawMessage, text string, wrapped []error) error {
			e := new(PolicyError)
			if len(wrapped) == 0 || json.Unmarshal(data, &e.Policy) != nil {
				return errors.New(text)
			}
			e.Err = wrapped[0]
			return e
		},
	}
}

// refusal returns an error of a function of the policy as one of the policy, unless it comes from
// inside of the function, or from the end of ctx.
func (p *policyRules) refusal(ctx context.Context, at Stage, err, inside error) error {
	switch {
	case err == nil, inside != nil && errors.Is(err, inside):
		return err
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return err
	}
	switch outcome := toolset.Outcome(err).(type) {
	case *toolset.DeniedError:
		if outcome.Decision == nil {
			by := fmt.Sprintf("policy %q", p.name)
			decision := &toolset.Decision{Verdict: toolset.VerdictDeny, By: by}
			err = &toolset.DeniedError{Message: outcome.Message, Decision: decision}
		}
		p.tell(ctx, at)
	case *toolset.ApprovalRequiredError, *toolset.DeferredError, *toolset.PendingError: // it waits
	default:
		p.tell(ctx, at)
	}
	return &PolicyError{Policy: p.name, Err: err, rules: p}
}

// attributed returns doors whose own errors name the policy.
func (p *policyRules) attributed(h Hooks[any]) (made Hooks[any]) {
	type run = *toolset.RunContext[any]
	if h.Run != nil {
		made.Run = func(ctx context.Context, r run, next RunFunc) error {
			var inside error
			err := h.Run(ctx, r, func(ctx context.Context) (summary *Summary, err error) {
				summary, err = next(ctx)
				inside = err
				return summary, err
			})
			return p.refusal(ctx, StagePrepare, err, inside)
		}
	}
	if h.Input != nil {
		made.Input = func(ctx context.Context, r run, parts []model.Part) ([]model.Part, error) {
			parts, err := h.Input(ctx, r, parts)
			return parts, p.refusal(ctx, StagePrepare, err, nil)
		}
	}
	if h.Approval != nil {
		made.Approval = func(ctx context.Context, r run, a *toolset.Approval) (*toolset.Approval, error) {
			a, err := h.Approval(ctx, r, a)
			return a, p.refusal(ctx, StageApproval, err, nil)
		}
	}
	made.Request, made.Call = p.attributedRequest(h.Request), p.attributedCall(h.Call)
	return made
}

func (p *policyRules) attributedRequest(door RequestHook[any]) RequestHook[any] {
	if door == nil {
		return nil
	}
	return func(
		ctx context.Context, run *toolset.RunContext[any], req *model.Request, next RequestFunc,
	) (*model.Message, error) {
		var inside error
		send := func(ctx context.Context, req *model.Request) (resp *model.Message, err error) {
			resp, err = next(ctx, req)
			inside = err
			return resp, err
		}
		resp, err := door(ctx, run, req, send)
		return resp, p.refusal(ctx, StageModel, err, inside)
	}
}

func (p *policyRules) attributedCall(door toolset.CallHook[any]) toolset.CallHook[any] {
	if door == nil {
		return nil
	}
	return func(
		ctx context.Context, run *toolset.RunContext[any], args any, next toolset.CallFunc,
	) (toolset.Result, error) {
		var inside error
		call := func(ctx context.Context, args any) (res toolset.Result, err error) {
			res, err = next(ctx, args)
			inside = err
			return res, err
		}
		res, err := door(ctx, run, args, call)
		return res, p.refusal(ctx, StageTool, err, inside)
	}
}

// refusal implements [governor]. An error of [toolset.WithArgsCheck] is no [PolicyError] until it
// has left the door that has set the check. It tells the user what was refused.
func (r *rules) refusal(err error) bool {
	var told interface {
		error
		Refused() string
	}
	return errs.As(err, new(*PolicyError)) || errs.As(err, &told)
}

// policyBudget is a budget of a policy.
type policyBudget struct {
	toolset.Budget
	rules *policyRules
}

// Reserve implements [toolset.Budget].
func (b *policyBudget) Reserve(
	ctx context.Context, asked model.Info, req *model.Request,
) (settle func(toolset.Spent) (known bool), err error) {
	settle, err = b.Budget.Reserve(ctx, asked, req)
	return settle, b.rules.refusal(ctx, StageModel, err, nil)
}

// Check refuses a request for which another budget with the same key has reserved room.
func (b *policyBudget) Check(ctx context.Context, used toolset.Budget) error {
	c, ok := b.Budget.(interface {
		Check(ctx context.Context, used toolset.Budget) error
	})
	if !ok {
		return nil
	}
	if p, ok := used.(*policyBudget); ok {
		used = p.Budget
	}
	return b.rules.refusal(ctx, StageModel, c.Check(ctx, used), nil)
}

// refused reports whether a policy of the run around has ended a run inside.
func (out *outerRun) refused(err error) bool {
	var refused *PolicyError
	return errs.As(err, &refused) && slices.ContainsFunc(out.policies, func(p *Policy) bool {
		if refused.rules == nil { // it comes from another process
			return p.name == refused.Policy
		}
		own, _ := p.said.(*said)
		return own != nil && own.policyRules == refused.rules
	})
}
