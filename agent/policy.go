// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Policy bounds and checks a run and everything inside it: sub-agents, also in the background,
// agents that the run is handed over to, and for its limits, windows and prices also guards by
// models, judges and summaries. A run inside another one keeps the policies of that run and can
// only add to them. A policy that is installed several times works once.
//
// [NewPolicy] makes one. [Config.Policies], [Capability.Policies] and [WithPolicies] install it. A
// policy is immutable and serves any number of agents and runs. Packages guardrails and spend have
// policies.
type Policy struct {
	name string
	err  error
	// said is a *said. check and govern are the functions of these names. Programs without policies
	// link none of them.
	said   any
	fits   func(deps any) error
	check  func(policies []*Policy, deps any) error
	govern func(o *runOptions, own []*Policy, deps any)
}

// Name returns the name of the policy.
func (p *Policy) Name() string { return p.name }

// PolicyConfig configures [NewPolicy]. D are the dependencies of the agent that the policy is
// installed in; any fits all agents. Functions get the dependencies of the run that the policy was
// installed for, and the rest of the run that it holds for, which may be an inner one. They must be
// safe for concurrent use.
type PolicyConfig[D any] struct {
	// Name identifies the policy in errors, events and traces. It is required.
	Name string
	// Limits bound the run together with everything inside it. The limits of the agent and of the run hold as well: the tightest applies.
	Limits Limits
	// Prices take the place of the prices of the agents in the run.
	Prices model.PriceTable
	// Windows returns budgets for the requests of the run and of everything inside it. It is called
	// several times, in each process that executes tasks of the run, and must be quick. run has no
	// ids before the first step, and no host. It must not be modified. The budgets may keep it.
	Windows func(run *toolset.RunContext[D]) []toolset.Budget
	// Whole refuses outputs that were cut off, whatever [Endings] allow.
	Whole bool
	// Approvals returns an asker that decides about calls, such as approval.Layered(next, …), and
	// asks next about the others. It is called for each asker in the run. The asker of the
	// outermost policy decides first.
	Approvals func(next toolset.Asker) toolset.Asker
	// Doors wrap the prompts, requests, approvals and calls of each run, inside of all hooks of
	// agents. The doors of inner runs are inside of outer doors.
	Doors Hooks[D]
	// Output checks each output of a run after the validators, and may replace it by another value
	// of the same type. An error made with [toolset.Retry] is reported to the model. Any other
	// error ends the run. The policies of the runs around have the last word. An output that a
	// hand-over passes on is checked for both runs, so Output must leave what it has returned as it
	// is.
	Output func(ctx context.Context, run *toolset.RunContext[D], output any) (any, error)
	// Made checks a response that a hook of an agent has made or changed, which the doors have not
	// seen, before anything but hooks has it. It may return another one. If it is nil, such
	// responses pass.
	Made func(
		ctx context.Context, run *toolset.RunContext[D], resp *model.Message,
	) (*model.Message, error)
	// Check reports what is wrong with the policy when an agent is made. It may be nil.
	Check func() error
}

// NewPolicy returns a policy. [New], or a run with [WithPolicies], reports its mistakes.
func NewPolicy[D any](c PolicyConfig[D]) *Policy {
	inside := func(run *toolset.RunContext[any]) *toolset.RunContext[D] {
		deps, _ := run.Deps.(D) // fits has seen them
		return toolset.WithDeps(run, deps)
	}
	says := &policyRules{
		name: c.Name, limits: c.Limits, prices: c.Prices, whole: c.Whole, approvals: c.Approvals,
	}
	says.doors = says.attributed(adaptHooks(c.Doors, inside))
	says.fits = func(deps any) error {
		if _, ok := deps.(D); ok || deps == nil {
			return nil
		}
		const text = "policy %q is for dependencies of type %v, the run has %T"
		return fmt.Errorf(text, c.Name, reflect.TypeFor[D](), deps)
	}
	if c.Windows != nil {
		says.windows = func(run *toolset.RunContext[any]) []toolset.Budget {
			return c.Windows(inside(run))
		}
	}
	if c.Output != nil {
		says.output = func(
			ctx context.Context, run *toolset.RunContext[any], output any,
		) (any, error) {
			return c.Output(ctx, inside(run), output)
		}
	}
	if c.Made != nil {
		says.made = func(
			ctx context.Context, run *toolset.RunContext[any], resp *model.Message,
		) (*model.Message, error) {
			return c.Made(ctx, inside(run), resp)
		}
	}
	var wrong problems
	if c.Name == "" {
		wrong.add("a policy has no name")
	}
	if c.Check != nil {
		wrong = append(wrong, c.Check())
	}
	return &Policy{
		name: c.Name, err: wrong.join(checkLimits(c.Limits)), said: &said{policyRules: says},
		fits: says.fits, check: check, govern: govern,
	}
}

// WithPolicies adds policies to the agent's, which are inside of them: whoever runs an agent has the
// last word.
func WithPolicies(policies ...*Policy) RunOption {
	return runOption(func(o *runOptions) { o.addPolicies(policies) })
}

// addPolicies adds policies of the run around, which are bound, or of an option.
func (o *runOptions) addPolicies(policies []*Policy) {
	if len(policies) > 0 {
		o.rule = &ruled{policies: slices.Concat(o.policies(), policies), govern: govern}
	}
}

// policies returns the policies that hold for a run that has begun.
func (o *runOptions) policies() []*Policy {
	if o.rule == nil {
		return nil
	}
	return o.rule.policies
}

// checkPolicies reports what is wrong with policies, for an agent with these dependencies; nil fits
// all.
func checkPolicies(policies []*Policy, deps any) (wrong error) {
	var made []*Policy
	for _, p := range policies {
		if p == nil || p.govern == nil {
			wrong = errNoPolicy
			continue
		}
		made = append(made, p)
	}
	if made == nil {
		return wrong
	}
	return errors.Join(wrong, made[0].check(made, deps))
}

var errNoPolicy = errors.New("a policy is nil or empty: make it with NewPolicy")

// ruled are the policies of a run.
type ruled struct {
	// policies come from the options. Once the run has begun, all policies are here.
	policies []*Policy
	wrong    error // about them
	// govern sets the rest. It is a field because programs without policies need not link it.
	govern func(o *runOptions, own []*Policy, deps any)
	says   governor
}

// governor combines the policies of a run. It is an interface because programs without
// policies do not link [rules].
type governor interface {
	// prices returns the prices of the policies, or nil.
	prices() model.PriceTable
	// seat returns where the questions of the run go. place is the run's own seat, and asking is
	// that, or the one of the run around it.
	seat(place, asking *seat) *seat
	// budget sets the budgets of the policies on the meter of a run or task.
	budget(info *toolset.RunInfo)
	// output checks the output of a task.
	output(
		ctx context.Context, info *toolset.RunInfo, host toolset.Host, t *engine.Task, done *engine.Done,
	)
	// dress gives a run hooks around its own, and the doors of the policies inside of them.
	dress(run any, outer []Hooks[any])
	// named returns an error that is about a limit of a policy as one of that policy.
	named(err error) error
	// refusal reports whether an error of a tool says what a policy has refused.
	refusal(err error) bool
	// watch returns a context for a task, and a function that tells l at its end what policies have
	// refused in it. l is nil if the run is not streamed.
	watch(ctx context.Context, t *engine.Task, l engine.Listener) (context.Context, func())
	// names describes the policies to engines.
	names() []engine.Policy
}
