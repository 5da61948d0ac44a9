// SPDX-License-Identifier: Apache-2.0

package subagents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
)

// The names of the tools.
const (
	ToolDelegate = "delegate"
	ToolWait     = "wait_for_agents"
	ToolCancel   = "cancel_agent"
)

const (
	// MaxAgents is how many sub-agents a run may choose from.
	MaxAgents = 50
	// MaxBackground is how many sub-agents of a run may be in the background at a time.
	MaxBackground = 8

	maxResult = 64 << 10
)

// Agent is a sub-agent. See [Of] and [FromTool].
type Agent[D any] struct {
	name, description string
	tool              *toolset.Tool[D]
	// background runs it outside of a call. It is nil if tool is all there is.
	background func(ctx context.Context, d D, t *task, prompt string) (string, error)
	err        error
}

// Name returns the name of the sub-agent.
func (a *Agent[D]) Name() string { return a.name }

// Of returns a sub-agent. name and description are for the model that delegates. deps makes the
// sub-agent's dependencies of the outer run's.
func Of[D, N, O any](name, description string, inner *agent.Agent[N, O], deps func(D) N) Agent[D] {
	if inner == nil || deps == nil {
		return Agent[D]{name: name, err: errors.New("the agent or the function is nil")}
	}
	return Agent[D]{
		name: name, description: description, tool: agent.AsTool(name, description, inner, deps),
		background: func(ctx context.Context, d D, t *task, prompt string) (string, error) {
			s := inner.Stream(ctx, deps(d), prompt, append(t.run.Options(), agent.WithAsker(t))...)
			for e := range s.Events() {
				t.show(agent.Nested{Agent: name, Event: e})
			}
			res, err := s.Result()
			if err != nil {
				return "", err
			}
			if text, ok := any(res.Output).(string); ok {
				if res.Cut != "" {
					text += "\n\n[This answer is not complete: it was cut off.]"
				}
				return text, nil
			}
			data, err := json.Marshal(res.Output)
			return string(data), err
		},
	}
}

// FromTool returns a sub-agent that is a tool whose arguments have one field, prompt. It has the
// name and description of the tool. Its calls are approved as usual.
func FromTool[D any](t *toolset.Tool[D]) Agent[D] {
	if t == nil {
		return Agent[D]{err: errors.New("the tool is nil")}
	}
	a := Agent[D]{name: t.Def.Name, description: t.Def.Description, tool: t, err: t.Err()}
	if t.External || t.Call == nil {
		a.err = errors.Join(a.err, errors.New("an external tool is not a sub-agent"))
	}
	return a
}

// Options configures [New].
type Options[D any] struct {
	// Agents are the sub-agents of all runs.
	Agents []Agent[D]
	// Load returns further sub-agents for a run, when it begins. It may be nil. One with the name
	// of an earlier one is an error.
	Load func(ctx context.Context, deps D) ([]Agent[D], error)
	// NoBackground offers no sub-agents in the background.
	NoBackground bool
}

// New returns the capability. agent.New reports sub-agents that are not valid.
func New[D any](o Options[D]) agent.Capability[D] {
	o.Agents = slices.Clone(o.Agents)
	return agent.Capability[D]{Name: "subagents", Toolsets: []toolset.Toolset[D]{&delegation[D]{o}}}
}

// delegation is the toolset.
type delegation[D any] struct{ options Options[D] }

func (d *delegation[D]) Name() string { return "subagents" }

// Check implements [toolset.Checker].
func (d *delegation[D]) Check() error {
	if len(d.options.Agents) == 0 && d.options.Load == nil {
		return errors.New("subagents: Options has neither Agents nor Load")
	}
	return check(d.options.Agents)
}

func check[D any](agents []Agent[D]) error {
	var errs []error
	for i := range agents {
		a := &agents[i]
		switch {
		case a.err != nil || a.tool == nil:
			errs = append(errs, fmt.Errorf("subagents: agent %d (%q): %w", i, a.name, cmpErr(a.err)))
		case checkName(a.name) != nil:
			errs = append(errs, fmt.Errorf("subagents: agent %d: %w", i, checkName(a.name)))
		case strings.TrimSpace(a.description) == "":
			errs = append(errs, fmt.Errorf("subagents: agent %q has no description", a.name))
		case slices.ContainsFunc(agents[:i], func(b Agent[D]) bool { return b.name == a.name }):
			errs = append(errs, fmt.Errorf("subagents: two agents are called %q", a.name))
		}
	}
	if len(agents) > MaxAgents {
		errs = append(errs, fmt.Errorf("subagents: there are %d agents, at most %d are allowed", len(agents), MaxAgents))
	}
	return errors.Join(errs...)
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("use Of or FromTool")
	}
	return err
}

// checkName returns what is wrong with the name of an agent.
func checkName(name string) error {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return fmt.Errorf("the name %q must have 1 to 64 letters, digits, hyphens and underscores", name)
	}
	return nil
}

func (d *delegation[D]) Open(ctx context.Context, run *toolset.RunContext[D]) (toolset.Instance[D], error) {
	agents := d.options.Agents
	if d.options.Load != nil {
		more, err := d.options.Load(ctx, run.Deps)
		if err != nil {
			return nil, fmt.Errorf("subagents: %w", err)
		}
		agents = slices.Concat(agents, more)
	}
	if err := check(agents); err != nil {
		return nil, err
	}
	o := &opened[D]{agents: agents, background: background{
		tasks: map[string]*task{}, count: map[string]int{}, taken: map[string]bool{}, told: map[string]bool{},
	}}
	if len(agents) > 0 {
		o.listing = toolset.Listing[D]{Tools: o.tools(!d.options.NoBackground), Instructions: instructions(agents, !d.options.NoBackground)}
	}
	return o, nil
}

func instructions[D any](agents []Agent[D], canWait bool) string {
	var b strings.Builder
	b.WriteString("You can delegate tasks to other agents with " + ToolDelegate + ". They see the task and nothing of this conversation, so say all that they need. Delegate tasks that do not depend on each other in one response: they run in parallel.")
	if canWait {
		b.WriteString(" Set background to continue your own work in the meantime, and get the results with " + ToolWait + " before you finish.")
	}
	b.WriteString("\n")
	for i := range agents {
		b.WriteString("\n- " + agents[i].name + ": " + clean.Short(agents[i].description, 1024))
	}
	return b.String()
}

// opened is the toolset in one run.
type opened[D any] struct {
	agents  []Agent[D]
	listing toolset.Listing[D]
	background
}

func (o *opened[D]) Tools(context.Context, *toolset.RunContext[D]) (toolset.Listing[D], error) {
	return o.listing, nil
}

// find returns an agent by its name. The error is for the model.
func (o *opened[D]) find(name string) (*Agent[D], error) {
	names := make([]string, len(o.agents))
	for i := range o.agents {
		if names[i] = o.agents[i].name; names[i] == name {
			return &o.agents[i], nil
		}
	}
	return nil, toolset.Retry("unknown agent %q. Agents: %s", clean.Short(name, 100), strings.Join(names, ", "))
}
