// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"fmt"
)

// InMemoryError reports a tool that keeps state in memory where the next call may be in another
// process.
type InMemoryError struct {
	// Tool is the name of the tool, and What is what it keeps: see [Options].
	Tool, What string
}

func (e *InMemoryError) Error() string {
	return fmt.Sprintf("toolset: the tool %q keeps state in memory (%s), and its calls may run in "+
		"several processes: leave it out, or run the agent on an engine that stays in one process",
		e.Tool, e.What)
}

// Stateless refuses tools that keep state in memory ([Options].InMemory) with an [*InMemoryError].
// Engines and runners apply it that may execute the calls of a run in several processes. Tools that
// are known before a run are refused by Check, and others when a run lists them, before they are
// offered to the model.
func Stateless[D any](set Toolset[D]) Toolset[D] { return &stateless[D]{Base[D]{set}} }

type stateless[D any] struct{ Base[D] }

// Check implements [Checker].
func (s *stateless[D]) Check() error {
	if err := s.Base.Check(); err != nil {
		return err
	}
	return inMemory(fixedTools(s.Toolset))
}

// Open implements [Toolset].
func (s *stateless[D]) Open(ctx context.Context, run *RunContext[D]) (Instance[D], error) {
	inner, err := s.Base.Open(ctx, run)
	if err != nil {
		return nil, err
	}
	return &statelessInstance[D]{Instance: inner}, nil
}

type statelessInstance[D any] struct {
	Instance[D]
	checked []*Tool[D]
}

// Tools implements [Instance].
func (in *statelessInstance[D]) Tools(ctx context.Context, run *RunContext[D]) (Listing[D], error) {
	l, err := in.Instance.Tools(ctx, run)
	if err != nil || sameSlice(l.Tools, in.checked) {
		return l, err
	}
	if err := inMemory(l.Tools); err != nil {
		return Listing[D]{}, err
	}
	in.checked = l.Tools
	return l, nil
}

// inMemory returns the errors of the tools that keep state in memory.
func inMemory[D any](tools []*Tool[D]) error {
	var errs []error
	for _, t := range tools {
		if t != nil && t.InMemory != "" {
			errs = append(errs, &InMemoryError{Tool: t.Def.Name, What: t.InMemory})
		}
	}
	return errors.Join(errs...)
}
