// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// policyRules has the rules of a policy. Its address identifies the policy.
type policyRules struct {
	name      string
	limits    Limits
	prices    model.PriceTable
	whole     bool
	windows   func(run *toolset.RunContext[any]) []toolset.Budget
	approvals func(next toolset.Asker) toolset.Asker
	doors     Hooks[any]
	output    func(ctx context.Context, run *toolset.RunContext[any], output any) (any, error)
	fits      func(deps any) error
	made      func(
		ctx context.Context, run *toolset.RunContext[any], resp *model.Message,
	) (*model.Message, error)
}

// said has the rules of a policy and the run that it was installed for.
type said struct {
	*policyRules
	// deps belong to that run. They are set once the policy is bound to it.
	deps  any
	bound bool
	// inherited is set if the run around has the policy.
	inherited bool
	// meter has the limits of the policy, if it has any.
	meter *toolset.Meter
	// narrow is set by [Adapt].
	narrow func(deps any) any
}

// dependencies returns those that the functions of the policy get.
func (s *said) dependencies() any {
	if s.narrow != nil {
		return s.narrow(s.deps)
	}
	return s.deps
}

// rules implements [governor]. Its policies are bound, and the outermost comes first.
type rules struct {
	policies []*said
	ruled    *ruled
}

// govern combines the policies of a run: first of the run around it, then of the options, then of
// the agent. Whoever runs an agent has the last word about what its author has installed.
func govern(o *runOptions, own []*Policy, deps any) {
	given, r := o.policies(), new(rules)
	r.ruled = &ruled{says: r, wrong: checkPolicies(given, nil)}
	if o.rule = r.ruled; o.rule.wrong != nil {
		return
	}
	around := func(p *Policy) bool { return p.said.(*said).bound }
	for i, list := range [...][]*Policy{given, given, own} {
		for _, p := range list {
			if i > 0 || around(p) {
				r.fail(r.add(p, *p.said.(*said), o, deps))
			}
		}
	}
}

// check reports what is wrong with policies.
func check(policies []*Policy, deps any) error {
	var errs []error
	for _, p := range policies {
		if errs = append(errs, p.err); p.fits != nil {
			errs = append(errs, p.fits(deps))
		}
	}
	return errors.Join(errs...)
}

// fail notes an error because of which the run does not begin.
func (r *rules) fail(err error) { r.ruled.wrong = errors.Join(r.ruled.wrong, err) }

// add adds a policy to a run with these dependencies, unless the run has it.
func (r *rules) add(p *Policy, own said, o *runOptions, deps any) error {
	same := func(s *said) bool { return s.policyRules == own.policyRules }
	if slices.ContainsFunc(r.policies, same) {
		return nil
	}
	if own.inherited = own.bound; !own.bound {
		if own.narrow == nil {
			if err := own.fits(deps); err != nil {
				return err
			}
		}
		own.bound, own.deps = true, deps
		if own.limits != (Limits{}) {
			own.meter = under(o, own.limits)
		}
	}
	if own.whole {
		o.endings = Endings{NoCut: true}
	}
	r.policies = append(r.policies, &own)
	bound := &Policy{name: p.name, said: &own, check: check, govern: govern}
	r.ruled.policies = append(r.ruled.policies, bound)
	return nil
}

// prices implements [governor]: the outermost policy that has prices wins.
func (r *rules) prices() model.PriceTable {
	for _, s := range r.policies {
		if s.policyRules.prices != nil {
			return s.policyRules.prices
		}
	}
	return nil
}

// dress implements [governor].
func (r *rules) dress(run any, outer []Hooks[any]) {
	inner := []erased{{Hooks[any]{Request: r.limited}, func() any { return nil }}}
	for _, s := range r.policies {
		inner = append(inner, erased{s.policyRules.doors, s.dependencies})
	}
	if r.checksMade() {
		outer = append(slices.Clone(outer), Hooks[any]{Request: r.made})
	}
	run.(dresser).dressed(outer, inner)
}

// names implements [governor].
func (r *rules) names() (all []engine.Policy) {
	for _, s := range r.policies {
		doors := &s.policyRules.doors
		calls := doors.Call != nil || doors.Approval != nil || s.approvals != nil
		all = append(all, engine.Policy{Name: s.name, Calls: calls})
	}
	return all
}

// under puts a run under a meter with the limits of a policy.
func under(o *runOptions, l Limits) *toolset.Meter {
	if n := l.Requests; n > 0 { // which bounds the steps as well
		if o.limits = bounds(o.limits); o.limits.Requests <= 0 || n < o.limits.Requests {
			o.limits.Requests = n
		}
	}
	more := o.more()
	if more.meter == nil {
		more.meter = toolset.NewMeter(l)
	} else {
		more.meter = more.meter.Child(l)
	}
	return more.meter
}

// named implements [governor].
func (r *rules) named(err error) error {
	if p := r.limit(err, nil); p != nil {
		return &PolicyError{Policy: p.name, Err: err, rules: p}
	}
	return err
}

// limit returns the policy whose limit an error is about, unless the error names a policy already.
// m is the meter of a run that may be in another process, or nil. Its levels are in the order of
// the policies then.
func (r *rules) limit(err error, m *toolset.Meter) *policyRules {
	var limit interface {
		error
		Level(m *toolset.Meter) int
	}
	if !errs.As(err, &limit) || errs.As(err, new(*PolicyError)) {
		return nil
	}
	level := 0
	for _, s := range slices.Backward(r.policies) {
		if s.meter == nil {
			continue
		}
		if level++; limit.Level(s.meter) == 0 || m != nil && m.Copied() && limit.Level(m) == level {
			return s.policyRules
		}
	}
	return nil
}

// seat implements [governor]. A run inside asks the person of the run around, and has all approvals
// before that: those of the run around come first.
func (r *rules) seat(place, asking *seat) *seat {
	asker, inherits := place.asker, asking != nil && asking != place
	if inherits {
		asker = asking.asker
		if a, ok := asker.(*approved); ok {
			asker = a.behind
		}
	}
	if asker == nil {
		asker = toolset.AskerFuncs{}
	}
	behind, own := asker, false
	for _, p := range slices.Backward(r.policies) {
		if p.approvals == nil {
			continue
		}
		var err error
		if asker, err = p.over(asker); err != nil {
			r.fail(err)
			return asking
		}
		own = own || !inherits || !p.inherited
	}
	if !own {
		return asking
	}
	if place.asker = (&approved{asker, behind}); inherits { // the questions of both wait for one another
		place.turn = asking.queue()
	}
	return place
}

// over returns the asker of the policy before another one.
func (s *said) over(next toolset.Asker) (asker toolset.Asker, err error) {
	defer recovered(&err)
	if asker = s.approvals(next); asker == nil {
		asker = next
	}
	return asker, nil
}

// budget implements [governor].
func (r *rules) budget(info *toolset.RunInfo) {
	for _, p := range r.policies {
		if p.windows == nil {
			continue
		}
		all := p.windows(&toolset.RunContext[any]{Deps: p.dependencies(), RunInfo: *info})
		for i := range all {
			all[i] = &policyBudget{all[i], p.policyRules}
		}
		info.Meter.SetBudgets(p.policyRules, all...)
	}
}

// output implements [governor].
func (r *rules) output(
	ctx context.Context, info *toolset.RunInfo, host toolset.Host, t *engine.Task, done *engine.Done,
) {
	back := done.HandOver != nil && done.HandOver.Back
	if done.Err != nil || done.Return.Retry || done.Return.Pending != nil || back {
		return
	}
	for _, p := range slices.Backward(r.policies) {
		if p.policyRules.output == nil {
			continue
		}
		run := &toolset.RunContext[any]{Deps: p.dependencies(), RunInfo: *info, Host: host}
		if t.Call != nil {
			run.Call = t.Call.Call
		}
		value, err := p.policyRules.output(ctx, run, done.Output)
		if err != nil {
			done.Output = nil
			refused(t, p.refusal(ctx, StageOutput, err, nil), done)
			return
		}
		done.Output = value
	}
}
