// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// check decodes the arguments of calls, and then has the tools check them that do so themselves. The result is nil if all are valid
// as they are.
func (r *agentRun[D, O]) check(ctx context.Context, checks []engine.Check) []engine.Checked {
	var results []engine.Checked
	for i := range checks {
		c := &checks[i]
		decoded, repaired, wrong := r.decode(c.Call, c.Complete)
		c.Call.Decoded = decoded
		if repaired == nil && wrong == nil {
			continue
		}
		if results == nil {
			results = make([]engine.Checked, len(checks))
		}
		results[i].Repaired, results[i].Return = repaired, wrong
	}
	for i := range checks {
		if !checks[i].Own || results != nil && results[i].Return != nil {
			continue
		}
		call := *checks[i].Call
		if results != nil && results[i].Repaired != nil {
			call.Args = results[i].Repaired
		}
		wrong, err := r.ownCheck(ctx, &call)
		if wrong == nil && err == nil {
			continue
		}
		if results == nil {
			results = make([]engine.Checked, len(checks))
		}
		if results[i].Return, results[i].Own, results[i].Err = wrong, true, err; err != nil {
			break
		}
	}
	return results
}

// decode decodes the arguments of a call. They may be repaired if complete is set: the model had
// finished them.
func (r *agentRun[D, O]) decode(c *engine.Call, complete bool) (decoded any, repaired []byte, wrong *engine.Return) {
	defer func() {
		if p := recover(); p != nil {
			decoded, repaired, wrong = nil, nil, forModel(panicked(p))
		}
	}()
	var err error
	if t := r.tool(c.Tool); t == nil {
		a := r.agent.output.alternative(c.Tool)
		if a == nil {
			return nil, nil, forModel(errs.Errorf("%w: %q", ErrToolGone, c.Tool))
		}
		if a.over != nil && !json.Valid(c.Args) {
			decoded, repaired, err = a.prompt(a, c.Args, complete)
		} else {
			decoded, repaired, err = a.decoded(c.Args, complete)
		}
	} else {
		switch {
		case t.Decode == nil:
			return json.RawMessage(c.Args), nil, nil
		case r.agent.config.NoRepair:
			decoded, err = t.Decode(c.Args)
		default:
			decoded, repaired, err = decodeRepaired(t.Decode, c.Args, complete)
		}
	}
	if err != nil {
		return nil, nil, forModel(err)
	}
	return decoded, repaired, nil
}

// ownCheck calls the check of a tool.
func (r *agentRun[D, O]) ownCheck(ctx context.Context, call *engine.Call) (ret *engine.Return, err error) {
	defer recovered(&err)
	wrong := r.tool(call.Tool).Check(ctx, r.looking(call, r.context.Meter), call.Decoded)
	if wrong == nil {
		return nil, nil
	}
	if errs.As(wrong, new(*toolset.ValidationError)) {
		return forModel(wrong), nil
	}
	done := outcome(wrong)
	if done.Err != nil || done.Return.Approval != nil || done.Return.Deferred {
		return nil, wrong
	}
	return &done.Return, nil
}

// preview asks a tool whether a call needs approval.
func (r *agentRun[D, O]) preview(ctx context.Context, call *engine.Call, meter *toolset.Meter) (*toolset.Approval, error) {
	tool := r.tool(call.Tool)
	if tool == nil || tool.Approval == nil {
		return nil, ErrToolGone
	}
	approval, err := tool.Approval(ctx, r.looking(call, meter), call.Decoded)
	if tool.Effects != nil && approval != nil && err == nil && approval.Effects == nil {
		described := *approval
		described.Effects, err = tool.Effects(ctx, r.looking(call, meter), call.Decoded)
		approval = &described
	}
	for i := range r.hooks {
		if hook := r.hooks[i].Approval; hook != nil && approval != nil && err == nil {
			run := r.looking(call, meter)
			run.Host = (*stepHost[D, O])(r)
			approval, err = hook(ctx, run, approval)
		}
	}
	return approval, err
}

// looking is the run context of functions that look at a call before it runs. They cannot turn to the run.
func (r *agentRun[D, O]) looking(call *engine.Call, meter *toolset.Meter) *toolset.RunContext[D] {
	run := r.context
	run.Call, run.Host, run.Meter = call.Call, nil, meter
	return &run
}
