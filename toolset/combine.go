package toolset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Combine joins toolsets into one that offers all their tools, in order. Two tools of one name in a step are a
// [*NameClashError]: wrap one of the toolsets to rename its tools.
func Combine[D any](sets ...Toolset[D]) Toolset[D] { return combined[D](sets) }

// NameClashError says that two tools of one step have the same name.
type NameClashError struct {
	Tool string
	// First and Second are the names of the toolsets; they are the same if one toolset lists the name twice.
	First, Second string
}

func (e *NameClashError) Error() string {
	if e.First == e.Second {
		return fmt.Sprintf("toolset: toolset %q lists the tool %q twice", e.First, e.Tool)
	}
	return fmt.Sprintf("toolset: toolsets %q and %q both have a tool %q", e.First, e.Second, e.Tool)
}

type combined[D any] []Toolset[D]

func (c combined[D]) Name() string {
	names := make([]string, len(c))
	for i, s := range c {
		names[i] = s.Name()
	}
	return strings.Join(names, "+")
}

// Check reports definition errors; agent.New calls it.
func (c combined[D]) Check() error {
	var errs []error
	for i, s := range c {
		if s == nil {
			errs = append(errs, fmt.Errorf("toolset: toolset %d is nil", i))
			continue
		}
		errs = append(errs, check(s))
	}
	return errors.Join(errs...)
}

func (c combined[D]) Open(ctx context.Context, run *RunContext[D]) (Instance[D], error) {
	in := &combinedInstance[D]{parts: make([]combinedPart[D], 0, len(c))}
	for _, s := range c {
		instance, err := s.Open(ctx, run)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open toolset %q: %w", s.Name(), err), in.Close(context.WithoutCancel(ctx)))
		}
		in.parts = append(in.parts, combinedPart[D]{name: s.Name(), instance: instance})
	}
	return in, nil
}

type combinedPart[D any] struct {
	name     string
	instance Instance[D]
	last     Listing[D]
}

type combinedInstance[D any] struct {
	parts  []combinedPart[D]
	listed Listing[D]
	fresh  bool
}

func (in *combinedInstance[D]) Tools(ctx context.Context, run *RunContext[D]) (Listing[D], error) {
	changed := !in.fresh
	for i := range in.parts {
		p := &in.parts[i]
		l, err := p.instance.Tools(ctx, run)
		if err != nil {
			return Listing[D]{}, fmt.Errorf("tools of toolset %q: %w", p.name, err)
		}
		changed = changed || l.Instructions != p.last.Instructions || !sameSlice(l.Tools, p.last.Tools)
		p.last = l
	}
	if !changed {
		return in.listed, nil
	}
	listed, err := in.join()
	if err != nil {
		return Listing[D]{}, err
	}
	in.listed, in.fresh = listed, true
	return listed, nil
}

func (in *combinedInstance[D]) join() (Listing[D], error) {
	var all Listing[D]
	if len(in.parts) == 1 {
		all = in.parts[0].last
		return all, in.clash(all.Tools)
	}
	n := 0
	for i := range in.parts {
		n += len(in.parts[i].last.Tools)
	}
	all.Tools = make([]*Tool[D], 0, n)
	for i := range in.parts {
		l := &in.parts[i].last
		all.Tools = append(all.Tools, l.Tools...)
		if l.Instructions != "" {
			if all.Instructions != "" {
				all.Instructions += "\n\n"
			}
			all.Instructions += l.Instructions
		}
	}
	return all, in.clash(all.Tools)
}

// clash looks for two tools of one name. Few tools are compared pair by pair, which needs no memory.
func (in *combinedInstance[D]) clash(tools []*Tool[D]) error {
	if len(tools) > 16 {
		seen := make(map[string]int, len(tools))
		for i, t := range tools {
			if first, ok := seen[t.Def.Name]; ok {
				return in.clashError(t.Def.Name, first, i)
			}
			seen[t.Def.Name] = i
		}
		return nil
	}
	for i, t := range tools {
		first := slices.IndexFunc(tools[:i], func(o *Tool[D]) bool { return o.Def.Name == t.Def.Name })
		if first >= 0 {
			return in.clashError(t.Def.Name, first, i)
		}
	}
	return nil
}

func (in *combinedInstance[D]) clashError(tool string, first, second int) error {
	return &NameClashError{Tool: tool, First: in.owner(first), Second: in.owner(second)}
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

func (in *combinedInstance[D]) Close(ctx context.Context) error {
	var errs []error
	for _, p := range slices.Backward(in.parts) {
		if err := p.instance.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close toolset %q: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}

func sameSlice[T any](a, b []*T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
