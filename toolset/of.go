// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Of returns a toolset of fixed tools, named after the first of them. Use [Named] to set another name. Errors in the
// definitions of the tools are reported by agent.New, or at the latest by Open.
func Of[D any](tools ...*Tool[D]) Toolset[D] {
	return newStatic(nameAfter("of", tools), Listing[D]{Tools: slices.Clone(tools)})
}

// nameAfter derives a name for a toolset that has none.
func nameAfter[D any](kind string, tools []*Tool[D]) string {
	switch {
	case len(tools) == 0 || tools[0] == nil:
		return kind + "()"
	case len(tools) == 1:
		return kind + "(" + tools[0].Def.Name + ")"
	}
	return kind + "(" + tools[0].Def.Name + ",…)"
}

// static is a toolset that is known before any run and is the same in all runs. A combinator that uses nothing of the run
// turns a static toolset into a static one, which adds no cost to a run. A static toolset with an error also represents a
// toolset that could not be made.
type static[D any] struct {
	name    string
	listing Listing[D]
	// reserved has the names that tools which can give way must not have.
	reserved []string
	// err describes an invalid definition.
	err error
}

// newStatic checks the tools once.
func newStatic[D any](name string, listing Listing[D]) *static[D] {
	var errs []error
	for i, t := range listing.Tools {
		var err error
		if t == nil {
			err = fmt.Errorf("tool %d is nil", i)
		} else if err = t.Err(); err == nil && t.Call == nil && !t.External {
			err = fmt.Errorf("tool %q has no Call function", t.Def.Name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("toolset %s: %w", name, err))
		}
	}
	s := &static[D]{name: name, listing: listing, err: errors.Join(errs...)}
	if s.err != nil { // the others are still looked at, so that all problems are found at once
		s.listing.Tools = slices.DeleteFunc(s.listing.Tools, func(t *Tool[D]) bool { return t == nil })
	}
	return s
}

// broken returns a toolset that agent.New and Open report as invalid.
func broken[D any](name, format string, args ...any) *static[D] {
	return &static[D]{name: name, err: fmt.Errorf("toolset %s: "+format, append([]any{name}, args...)...)}
}

// misused returns a toolset for a combinator that was given something invalid beside a toolset. It reports that, and the problems of the
// toolset.
func misused[D, N any](set Toolset[N], format string, args ...any) *static[D] {
	s := broken[D](set.Name(), format, args...)
	s.err = errors.Join(check(set), s.err)
	if same, ok := any(set).(Toolset[D]); ok {
		s.listing.Tools = fixedTools(same)
	}
	return s
}

func (s *static[D]) Name() string { return s.name }

// Check implements [Checker].
func (s *static[D]) Check() error { return s.err }

// FixedTools implements [Fixed].
func (s *static[D]) FixedTools() []*Tool[D] { return s.listing.Tools }

func (s *static[D]) Open(context.Context, *RunContext[D]) (Instance[D], error) {
	if s.err != nil {
		return nil, s.err
	}
	return s, nil
}

func (s *static[D]) Tools(context.Context, *RunContext[D]) (Listing[D], error) { return s.listing, nil }

func (s *static[D]) Close(context.Context) error { return nil }
