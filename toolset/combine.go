// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Combine returns a toolset that offers the tools of all the given toolsets, in order. Two tools with the same name in
// one step are reported as a [*NameClashError]. Use [Prefixed] or [Renamed] to avoid clashes. Tools with a [Tool.Yield]
// give way instead.
//
// If Open or Tools fails for several toolsets, all their errors are reported.
func Combine[D any](sets ...Toolset[D]) Toolset[D] {
	c := &combined[D]{sets: make([]Toolset[D], 0, len(sets))}
	for _, set := range sets {
		if s, ok := set.(*static[D]); ok {
			c.reserved = append(c.reserved, s.reserved...)
			if s.reserved != nil {
				continue
			}
		}
		c.sets = append(c.sets, set)
	}
	if s := c.static(); s != nil {
		return s
	}
	return c
}

// NameClashError reports that two tools of one step have the same name.
type NameClashError struct {
	// Tool is the name both tools have.
	Tool string
	// First and Second are the names of the toolsets. They are equal if one toolset lists the name twice.
	First, Second string
}

func (e *NameClashError) Error() string {
	if e.First == e.Second {
		return fmt.Sprintf("toolset: toolset %q lists the tool %q twice", e.First, e.Tool)
	}
	return fmt.Sprintf("toolset: toolsets %q and %q both have a tool %q", e.First, e.Second, e.Tool)
}

type combined[D any] struct {
	sets     []Toolset[D]
	reserved []string
}

// static returns the combination if all toolsets are static, or nil.
func (c *combined[D]) static() *static[D] {
	in := combinedInstance[D]{reserved: c.reserved, parts: make([]combinedPart[D], len(c.sets))}
	var errs []error
	for i, set := range c.sets {
		s, ok := set.(*static[D])
		if !ok {
			return nil
		}
		errs = append(errs, s.err)
		in.parts[i] = combinedPart[D]{name: s.name, last: s.listing}
		in.instructions = joinText(in.instructions, s.listing.Instructions)
	}
	all := &static[D]{name: c.Name(), listing: Listing[D]{Instructions: in.instructions}}
	tools, clashes := in.join()
	all.listing.Tools, all.err = tools, errors.Join(append(errs, clashes)...)
	return all
}

func (c *combined[D]) Name() string {
	names := make([]string, len(c.sets))
	for i, s := range c.sets {
		if names[i] = "nil"; s != nil {
			names[i] = s.Name()
		}
	}
	return strings.Join(names, "+")
}

// Check implements [Checker].
func (c *combined[D]) Check() error {
	var errs []error
	for i, s := range c.sets {
		if s == nil {
			errs = append(errs, fmt.Errorf("toolset: toolset %d is nil", i))
			continue
		}
		errs = append(errs, check(s))
	}
	return errors.Join(append(errs, c.clash())...)
}

// clash looks for two fixed tools with the same name. Other tools are only known during a run.
func (c *combined[D]) clash() error {
	in := combinedInstance[D]{reserved: c.reserved}
	for _, s := range c.sets {
		if tools := fixedTools(s); tools != nil {
			in.parts = append(in.parts, combinedPart[D]{name: s.Name(), last: Listing[D]{Tools: tools}})
		}
	}
	_, err := in.join()
	return err
}

// FixedTools implements [Fixed].
func (c *combined[D]) FixedTools() []*Tool[D] {
	var tools []*Tool[D]
	for _, s := range c.sets {
		if fixed, ok := s.(Fixed[D]); ok {
			tools = append(tools, fixed.FixedTools()...)
		}
	}
	return tools
}

func (c *combined[D]) Open(ctx context.Context, run *RunContext[D]) (_ Instance[D], err error) {
	in := &combinedInstance[D]{reserved: c.reserved, parts: make([]combinedPart[D], 0, len(c.sets))}
	opened := false
	defer func() { // even after a panic
		if !opened {
			err = errors.Join(err, in.Close(context.WithoutCancel(ctx)))
		}
	}()
	for i, s := range c.sets {
		if s == nil {
			return nil, fmt.Errorf("toolset: toolset %d is nil", i)
		}
		instance, err := s.Open(ctx, run)
		if err != nil {
			return nil, fmt.Errorf("open toolset %q: %w", s.Name(), err)
		}
		in.parts = append(in.parts, combinedPart[D]{name: s.Name(), instance: instance})
	}
	opened = true
	return in, nil
}

type combinedPart[D any] struct {
	name     string
	instance Instance[D]
	last     Listing[D]
}

type combinedInstance[D any] struct {
	parts        []combinedPart[D]
	reserved     []string
	tools        []*Tool[D]
	instructions string
	begun        bool
}

func (in *combinedInstance[D]) Tools(ctx context.Context, run *RunContext[D]) (Listing[D], error) {
	toolsChanged, textChanged := !in.begun, !in.begun
	in.begun = false // even on error
	var failed error
	for i := range in.parts {
		p := &in.parts[i]
		l, err := p.instance.Tools(ctx, run)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("tools of toolset %q: %w", p.name, err))
			continue
		}
		toolsChanged = toolsChanged || !sameSlice(l.Tools, p.last.Tools)
		textChanged = textChanged || l.Instructions != p.last.Instructions
		p.last = l
	}
	if failed != nil {
		return Listing[D]{}, failed
	}
	if toolsChanged {
		tools, err := in.join()
		if err != nil {
			return Listing[D]{}, err
		}
		in.tools = tools
	}
	if textChanged {
		in.instructions = ""
		for i := range in.parts {
			in.instructions = joinText(in.instructions, in.parts[i].last.Instructions)
		}
	}
	in.begun = true
	return Listing[D]{Tools: in.tools, Instructions: in.instructions}, nil
}

func (in *combinedInstance[D]) join() ([]*Tool[D], error) {
	if len(in.parts) == 1 {
		tools := in.parts[0].last.Tools
		return settleNames(tools, in.reserved), in.clash(tools)
	}
	n := 0
	for i := range in.parts {
		n += len(in.parts[i].last.Tools)
	}
	all := make([]*Tool[D], 0, n)
	for i := range in.parts {
		all = append(all, in.parts[i].last.Tools...)
	}
	return settleNames(all, in.reserved), in.clash(all)
}

// clash looks for tools with the same name that cannot give way. A small number of tools is compared pair by pair,
// which needs no memory.
func (in *combinedInstance[D]) clash(tools []*Tool[D]) error {
	var clashes []error
	var seen map[string]int
	if len(tools) > 16 {
		seen = make(map[string]int, len(tools))
	}
	for i, t := range tools {
		if t.Yield != nil {
			continue
		}
		first, clash := seen[t.Def.Name]
		for k := 0; seen == nil && k < i && !clash; k++ {
			first, clash = k, tools[k].Yield == nil && tools[k].Def.Name == t.Def.Name
		}
		if clash {
			clashes = append(clashes, &NameClashError{Tool: t.Def.Name, First: in.owner(first), Second: in.owner(i)})
			continue
		}
		if seen != nil {
			seen[t.Def.Name] = i
		}
	}
	if len(clashes) == 1 {
		return clashes[0]
	}
	return errors.Join(clashes...)
}

func (in *combinedInstance[D]) owner(index int) string {
	for i := range in.parts {
		if n := len(in.parts[i].last.Tools); index >= n {
			index -= n
			continue
		}
		return in.parts[i].name
	}
	return ""
}

// Close closes all parts, the last one first, even if some of them fail.
func (in *combinedInstance[D]) Close(ctx context.Context) (err error) {
	if len(in.parts) == 0 {
		return nil
	}
	p := in.parts[len(in.parts)-1]
	in.parts = in.parts[:len(in.parts)-1]
	defer func() { err = errors.Join(err, in.Close(ctx)) }() // even after a panic
	if err := p.instance.Close(ctx); err != nil {
		return fmt.Errorf("close toolset %q: %w", p.name, err)
	}
	return nil
}

// joinText joins two instructions with a blank line between them.
func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
