// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Capability is something an agent can do, as one value: a skill, memory, planning, a guardrail. It has the fields that
// [Config] has for the same things; [Config.Capabilities] installs it.
//
// One order holds for all fields. The agent's own come first, then those of each capability in turn. A capability's own
// come before those of the capabilities that it includes, and all of these before the next capability's. So the agent's
// own hooks are outermost, and where two set the same setting the earlier one wins.
//
// A capability is immutable: one value serves any number of agents and runs at the same time. It holds no state. State of a
// run belongs in the [toolset.Instance] that a toolset opens for the run. State of a conversation belongs in a store, under
// [toolset.RunInfo.ConversationID].
type Capability[D any] struct {
	// Name identifies the capability in errors. It is required. [New] installs equal capabilities of one name once, however
	// often they are included. Two different ones of one name are an error. Functions and pointers are equal only if they
	// come from copies of one value, so make a capability once and include that.
	Name string
	// Instructions follow those of the agent, after a blank line. They are the same in every request.
	Instructions string
	// Dynamic instructions are made anew for every request. They follow all static instructions.
	Dynamic []InstructionFunc[D]
	// Tools and Toolsets are offered after the agent's own. Their names must be unique among all tools of the agent.
	Tools    []*toolset.Tool[D]
	Toolsets []toolset.Toolset[D]
	// Hooks wrap runs, requests and calls inside the agent's own hooks, the first one outermost.
	Hooks []Hooks[D]
	// History processors run after the agent's own, in order.
	History []HistoryProcessor[D]
	// Settings are used where the agent, or an earlier capability, has none.
	Settings *model.Settings
	// Commands are slash commands. Their names must be unique in the agent.
	Commands []Command[D]
	// Include lists the capabilities that this one needs.
	Include []Capability[D]
}

// Adapt lets a capability for narrower dependencies serve an agent with wider ones: narrow picks what the capability needs
// out of them. It is called for each call, request and command, and should only pick. See [toolset.Adapt].
//
//	agent.Adapt(memory.New(store), func(d Deps) memory.User { return d.User })
func Adapt[N, D any](c Capability[N], narrow func(D) N) Capability[D] {
	adapted := Capability[D]{Name: c.Name, Instructions: c.Instructions, Settings: c.Settings}
	if narrow == nil {
		adapted.Toolsets = []toolset.Toolset[D]{toolset.Adapt[N, D](toolset.Of[N](), nil)} // New reports it
		return adapted
	}
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

// unlessNil returns f, or nil so that New finds what is missing.
func unlessNil[F any](missing bool, f F) F {
	if missing {
		f = *new(F)
	}
	return f
}

func adaptHooks[N, D any](h Hooks[N], inside func(*toolset.RunContext[D]) *toolset.RunContext[N]) Hooks[D] {
	var adapted Hooks[D]
	if h.Run != nil {
		adapted.Run = func(ctx context.Context, run *toolset.RunContext[D], next RunFunc) error {
			return h.Run(ctx, inside(run), next)
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
