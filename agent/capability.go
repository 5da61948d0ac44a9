// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Capability bundles what an agent needs for one ability, such as a skill, memory, planning or a
// guardrail. Its fields have the same meaning as in [Config]. [Config.Capabilities] installs it.
//
// All fields are combined in the same order: first the agent's, then each capability's, depth
// first. A capability's own fields come before the fields of the capabilities that it includes. So
// the agent's hooks are outermost, and of two values for one setting the earlier one wins.
//
// A capability is immutable and holds no state, so one value can serve any number of agents and runs. Keep the state of a run
// in the [toolset.Instance] that a toolset opens for it, and the state of a conversation in a store, under
// [toolset.RunInfo.ConversationID].
type Capability[D any] struct {
	// Name identifies the capability in errors. It is required. If equal capabilities are included several times, [New] installs
	// them once. Two different capabilities with one name are an error. Functions and pointers are equal only in copies of one
	// value, so create a capability once and include that value.
	Name string
	// Instructions follow the agent's instructions, after a blank line. They are the same in every
	// request.
	Instructions string
	// Dynamic instructions are made anew for every request. They follow all static instructions.
	Dynamic []InstructionFunc[D]
	// Tools and Toolsets are offered after the agent's own. Their names must be unique among all tools of the agent.
	Tools    []*toolset.Tool[D]
	Toolsets []toolset.Toolset[D]
	// Hooks wrap runs, requests and calls inside the agent's own hooks, the first one outermost.
	Hooks []Hooks[D]
	// Policies hold for all runs of the agent and everything inside them.
	Policies []*Policy
	// History processors run after the agent's own, in order.
	History []HistoryProcessor[D]
	// Settings are used where the agent, or an earlier capability, has none.
	Settings *model.Settings
	// Commands are slash commands. Their names must be unique in the agent.
	Commands []Command[D]
	// Include lists the capabilities that this one needs.
	Include []Capability[D]
}

// Adapt makes a capability for dependencies N usable by an agent with dependencies D. narrow selects the N from a D. It is
// called for each call, request and command, and must be quick and free of side effects. See [toolset.Adapt].
//
//	agent.Adapt(memory.New(store), func(d Deps) memory.User { return d.User })
func Adapt[N, D any](c Capability[N], narrow func(D) N) Capability[D] {
	if narrow == nil { // New reports it, and what else is wrong
		wrong := Adapt(c, func(D) (n N) { return n })
		wrong.Toolsets = append(wrong.Toolsets, toolset.Adapt[N, D](toolset.Of[N](), nil))
		return wrong
	}
	adapted := Capability[D]{Name: c.Name, Instructions: c.Instructions, Settings: c.Settings}
	inside := func(run *toolset.RunContext[D]) *toolset.RunContext[N] {
		return toolset.WithDeps(run, narrow(run.Deps))
	}
	for _, dynamic := range c.Dynamic {
		adapted.Dynamic = append(adapted.Dynamic, unlessNil(dynamic == nil, func(ctx context.Context, run *toolset.RunContext[D]) (string, error) {
			return dynamic(ctx, inside(run))
		}))
	}
	if len(c.Tools) > 0 {
		adapted.Toolsets = append(adapted.Toolsets, toolset.Adapt(toolset.Of(c.Tools...), narrow))
	}
	for _, set := range c.Toolsets {
		adapted.Toolsets = append(adapted.Toolsets, toolset.Adapt(set, narrow))
	}
	for _, hooks := range c.Hooks {
		adapted.Hooks = append(adapted.Hooks, adaptHooks(hooks, inside))
	}
	for _, p := range c.Policies {
		adapted.Policies = append(adapted.Policies, adaptPolicy(p, narrow))
	}
	for _, process := range c.History {
		adapted.History = append(adapted.History, unlessNil(process == nil, func(ctx context.Context, run *toolset.RunContext[D], messages []*model.Message) ([]*model.Message, error) {
			return process(ctx, inside(run), messages)
		}))
	}
	for _, command := range c.Commands {
		adapted.Commands = append(adapted.Commands, adaptCommand(command, narrow))
	}
	for _, included := range c.Include {
		adapted.Include = append(adapted.Include, Adapt(included, narrow))
	}
	return adapted
}

// unlessNil returns f, or nil to let New report what is missing.
func unlessNil[F any](missing bool, f F) F {
	if missing {
		f = *new(F)
	}
	return f
}

// adaptPolicy returns a policy for the dependencies that narrow returns.
func adaptPolicy[N, D any](p *Policy, narrow func(D) N) *Policy {
	if p == nil || p.govern == nil {
		return p // New reports it
	}
	adapted := *p.said.(*said)
	err := checkPolicies([]*Policy{p}, any(*new(N)))
	made := &Policy{name: p.name, err: err, said: &adapted, check: p.check, govern: p.govern}
	before := adapted.narrow
	adapted.narrow = func(deps any) any {
		wide, _ := deps.(D)
		deps = narrow(wide)
		if before != nil {
			deps = before(deps)
		}
		return deps
	}
	return made
}

func adaptHooks[N, D any](h Hooks[N], inside func(*toolset.RunContext[D]) *toolset.RunContext[N]) Hooks[D] {
	var adapted Hooks[D]
	if h.Run != nil {
		adapted.Run = func(ctx context.Context, run *toolset.RunContext[D], next RunFunc) error {
			return h.Run(ctx, inside(run), next)
		}
	}
	if h.Input != nil {
		adapted.Input = func(ctx context.Context, run *toolset.RunContext[D], parts []model.Part) ([]model.Part, error) {
			return h.Input(ctx, inside(run), parts)
		}
	}
	if h.Approval != nil {
		adapted.Approval = func(ctx context.Context, run *toolset.RunContext[D], a *toolset.Approval) (*toolset.Approval, error) {
			return h.Approval(ctx, inside(run), a)
		}
	}
	if h.Request != nil {
		adapted.Request = func(ctx context.Context, run *toolset.RunContext[D], req *model.Request, next RequestFunc) (*model.Message, error) {
			return h.Request(ctx, inside(run), req, next)
		}
	}
	if h.Call != nil {
		adapted.Call = func(ctx context.Context, run *toolset.RunContext[D], args any, next toolset.CallFunc) (toolset.Result, error) {
			return h.Call(ctx, inside(run), args, next)
		}
	}
	return adapted
}
