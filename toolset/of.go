package toolset

import (
	"context"
	"errors"
	"fmt"
)

// Of makes a toolset of fixed tools, named after the first of them; [Named] gives it another name. Definition errors of
// the tools are reported by agent.New, or by Open at the latest.
func Of[D any](tools ...*Tool[D]) Toolset[D] {
	name := "of()"
	if len(tools) > 0 && tools[0] != nil {
		name = "of(" + tools[0].Def.Name
		if len(tools) > 1 {
			name += ",…"
		}
		name += ")"
	}
	return &static[D]{name: name, listing: Listing[D]{Tools: tools}}
}

type static[D any] struct {
	name    string
	listing Listing[D]
}

func (s *static[D]) Name() string { return s.name }

// Check reports definition errors; agent.New calls it.
func (s *static[D]) Check() error {
	var errs []error
	for i, t := range s.listing.Tools {
		switch {
		case t == nil:
			errs = append(errs, fmt.Errorf("toolset %s: tool %d is nil", s.name, i))
		case t.err != nil:
			errs = append(errs, fmt.Errorf("toolset %s: %w", s.name, t.err))
		case t.Def.Name == "" || t.Call == nil && !t.External:
			errs = append(errs, fmt.Errorf("toolset %s: tool %d (%q) needs a name and a Call function", s.name, i, t.Def.Name))
		}
	}
	return errors.Join(errs...)
}

func (s *static[D]) Open(context.Context, *RunContext[D]) (Instance[D], error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *static[D]) Tools(context.Context, *RunContext[D]) (Listing[D], error) { return s.listing, nil }

func (s *static[D]) Close(context.Context) error { return nil }
