// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/toolset"
)

// installation adds capabilities to what an agent has itself.
type installation[D any] struct {
	own Capability[D] // what the agent has itself, and then all that is installed
	// sets are all toolsets, with names that tell their owners in errors.
	sets []toolset.Toolset[D]
	labels
	installed []*installed[D]
	commands  []string // owners of own.Commands
	wrong     problems
}

// installed is a capability and who asked for it.
type installed[D any] struct {
	Capability[D]
	by string
}

// theAgent is the owner of what the agent has itself.
const theAgent = "the agent"

// labels name functions in errors, by index.
type labels struct{ dynamic, history []string }

// label names one of an owner's functions.
//
//go:noinline
func label(what string, i int, owner string, isAgent bool) string {
	if isAgent {
		return fmt.Sprintf("%s %d", what, i)
	}
	return fmt.Sprintf("%s %d of %s", what, i, owner)
}

// install merges the capabilities into the configuration and returns the toolsets of the agent. The
// configuration gets its own slices.
func (c *Config[D, O]) install() ([]toolset.Toolset[D], labels, error) {
	in := installation[D]{}
	in.add(theAgent, &Capability[D]{
		Instructions: c.Instructions, Dynamic: c.Dynamic, Tools: c.Tools, Toolsets: c.Toolsets,
		Hooks: c.Hooks, Policies: c.Policies, History: c.History, Settings: c.Settings, Commands: c.Commands, Include: c.Capabilities,
	})
	c.Instructions, c.Dynamic, c.Hooks, c.History = in.own.Instructions, in.own.Dynamic, in.own.Hooks, in.own.History
	c.Settings, c.Commands, c.Policies = in.own.Settings.Clone(), in.own.Commands, in.own.Policies
	return in.sets, in.labels, in.wrong.join()
}

// include installs the capabilities that owner asks for.
//
//go:noinline
func (in *installation[D]) include(owner string, capabilities []Capability[D]) {
	for i := range capabilities {
		c := &capabilities[i]
		if c.Name == "" {
			in.wrong.add("%s: capability %d has no name", owner, i)
			unnamed := *c
			unnamed.Name = fmt.Sprintf("%d of %s", i, owner)
			in.add("capability "+unnamed.Name, &unnamed) // its other problems are reported, too
			continue
		}
		if k := in.known(c.Name); k == nil {
			in.installed = append(in.installed, &installed[D]{*c, owner})
			in.add("capability "+c.Name, c)
		} else if !equalCapabilities(&k.Capability, c) {
			in.wrong.add("two different capabilities are called %q: one is included by %s, the other by %s", c.Name, k.by, owner)
		}
	}
}

func (in *installation[D]) known(name string) *installed[D] {
	for _, k := range in.installed {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// add installs what a capability, or the agent, has itself, and then what it includes.
func (in *installation[D]) add(owner string, c *Capability[D]) {
	isAgent := c.Name == ""
	in.own.Instructions = joined(in.own.Instructions, "\n\n", c.Instructions)
	for i, dynamic := range c.Dynamic {
		if dynamic == nil {
			in.missing(owner, "Dynamic", i)
		}
		in.labels.dynamic = append(in.labels.dynamic, label("instruction", i, owner, isAgent))
	}
	in.own.Dynamic = append(in.own.Dynamic, c.Dynamic...)
	for i, process := range c.History {
		if process == nil {
			in.missing(owner, "History", i)
		}
		in.labels.history = append(in.labels.history, label("history processor", i, owner, isAgent))
	}
	in.own.History = append(in.own.History, c.History...)
	if len(c.Tools) > 0 {
		name := owner
		if isAgent {
			name = "Config.Tools"
		}
		in.sets = append(in.sets, toolset.Named(toolset.Of(c.Tools...), name))
	}
	for i, set := range c.Toolsets {
		if set == nil {
			in.missing(owner, "Toolsets", i)
			continue
		}
		if err := sound(set); err != nil {
			in.wrong.add("%s: Toolsets[%d]: %w", owner, i, err)
			continue
		}
		if !isAgent {
			set = toolset.Named(set, owner+": "+set.Name())
		}
		in.sets = append(in.sets, set)
	}
	in.own.Hooks = append(in.own.Hooks, c.Hooks...)
	in.own.Policies = append(in.own.Policies, c.Policies...)
	in.own.Settings = c.Settings.Merge(in.own.Settings)
	for i := range c.Commands {
		in.command(owner, &c.Commands[i])
	}
	in.include(owner, c.Include)
}

// sound returns an error if a toolset panics, such as a nil pointer.
func sound(set interface{ Name() string }) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	set.Name()
	if c, ok := set.(toolset.Checker); ok {
		_ = c.Check() // it is reported with all others
	}
	return nil
}

func (in *installation[D]) missing(owner, field string, i int) {
	if owner == theAgent {
		owner = "Config"
	}
	in.wrong.add("%s: %s[%d] is nil", owner, field, i)
}

//go:noinline
func (in *installation[D]) command(owner string, c *Command[D]) {
	if err := c.check(); err != nil {
		in.wrong.add("%s: %w", owner, err)
	}
	for i := range in.own.Commands {
		if in.own.Commands[i].Name != c.Name {
			continue
		}
		in.wrong.add("two commands are called %q: one is of %s, the other of %s", c.Name, in.commands[i], owner)
		break
	}
	in.own.Commands, in.commands = append(in.own.Commands, *c), append(in.commands, owner)
}

// equalCapabilities reports whether two capabilities of one name are copies of one value.
func equalCapabilities[D any](a, b *Capability[D]) bool {
	return a.Instructions == b.Instructions && a.Settings == b.Settings &&
		sameMemory(a.Dynamic, b.Dynamic) && sameMemory(a.Tools, b.Tools) && sameMemory(a.Toolsets, b.Toolsets) &&
		sameMemory(a.Hooks, b.Hooks) &&
		sameMemory(a.Policies, b.Policies) && sameMemory(a.History, b.History) && sameMemory(a.Commands, b.Commands) &&
		(sameMemory(a.Include, b.Include) || slices.EqualFunc(a.Include, b.Include, func(x, y Capability[D]) bool {
			return x.Name == y.Name && equalCapabilities(&x, &y)
		}))
}

// sameMemory reports whether two slices are one.
func sameMemory[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
