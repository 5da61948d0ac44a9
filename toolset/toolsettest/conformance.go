// SPDX-License-Identifier: Apache-2.0

package toolsettest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Case is a call that a toolset must accept. The conformance suite makes it many times, and in several runs at once.
type Case struct {
	// Tool is the tool's name. Args holds valid arguments, as JSON.
	Tool, Args string
}

// Conformance checks that a toolset keeps the contract of [toolset.Toolset] and [toolset.Instance], one rule per subtest.
// NewToolset returns a new toolset. Deps is passed to its runs. Without cases, arguments are decoded but no tool is
// called. Run the test with the race detector, because much of the contract is about concurrent runs.
func Conformance[D any](t *testing.T, newToolset func() toolset.Toolset[D], deps D, cases ...Case) {
	t.Helper()
	s := &suite[D]{make: newToolset, deps: deps, cases: cases}
	for _, r := range s.rules() {
		t.Run(r.name, func(t *testing.T) {
			s.warn = t.Log
			if err := r.check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// suite checks a toolset. A broken rule is an error. Something that is only slow is a warning.
type suite[D any] struct {
	make  func() toolset.Toolset[D]
	deps  D
	cases []Case
	warn  func(...any)
}

type rule struct {
	name  string
	check func(context.Context) error
}

func (s *suite[D]) rules() []rule {
	return []rule{
		{"toolsets inside are checked before a run", s.forwards}, // looks into fields, so nothing may run
		{"the name does not change", s.name},
		{"fixed tools are listed", s.fixed},
		{"tool names are valid and unique", s.toolNames},
		{"every schema describes an object", s.schemas},
		{"every tool can be called", s.callable},
		{"the order of tools is stable", s.order},
		{"unchanged tools are listed in the same slice", s.sameSlice},
		{"tools are not modified", s.immutable},
		{"invalid arguments are errors for the model", s.garbage},
		{"closing one run does not affect another", s.isolation},
		{"a run that ends early can be closed", s.endsEarly},
		{"nothing blocks after cancellation", s.cancelled},
		{"the cases succeed", s.accepts},
		{"concurrent runs work", s.concurrent},
	}
}

// patience is how long a call that must not block may take.
const patience = time.Minute

// session is a run made by the suite.
type session[D any] struct {
	instance toolset.Instance[D]
	run      *toolset.RunContext[D]
}

func (s *suite[D]) open(ctx context.Context, set toolset.Toolset[D], id string) (*session[D], error) {
	run := &toolset.RunContext[D]{Deps: s.deps}
	run.RunID, run.ConversationID, run.Step = id, "conformance", 1
	run.Messages = []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.User("go")}, RunID: id, ConversationID: "conformance"}}
	instance, err := set.Open(ctx, run)
	switch {
	case err != nil:
		return nil, fmt.Errorf("open: %w", err)
	case instance == nil:
		return nil, errors.New("open returned neither an instance nor an error")
	}
	return &session[D]{instance, run}, nil
}

// step lists the tools and advances to the next step.
func (s *session[D]) step(ctx context.Context) (toolset.Listing[D], error) {
	l, err := s.instance.Tools(ctx, s.run)
	if err != nil {
		return l, fmt.Errorf("tools in step %d: %w", s.run.Step, err)
	}
	next := *s.run
	next.Step++
	s.run = &next
	for i, t := range l.Tools {
		if t == nil {
			return toolset.Listing[D]{}, fmt.Errorf("tool %d is nil", i)
		}
	}
	return l, nil
}

func (s *session[D]) close(ctx context.Context) error {
	if err := s.instance.Close(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// within runs fn in a run of a new toolset.
func (s *suite[D]) within(ctx context.Context, fn func(*session[D], toolset.Listing[D]) error) (err error) {
	run, err := s.open(ctx, s.make(), "run")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.close(ctx)) }()
	l, err := run.step(ctx)
	if err != nil {
		return err
	}
	return fn(run, l)
}

// call runs a case.
func (s *session[D]) call(ctx context.Context, l toolset.Listing[D], c Case) error {
	for _, t := range l.Tools {
		if t.Def.Name != c.Tool {
			continue
		}
		run := begin(s.run, c.Tool, c.Args)
		run.Call.Approved = true
		_, err := call(ctx, t, run, c.Args)
		if _, deferred := toolset.Outcome(err).(*toolset.DeferredError); deferred {
			return nil
		}
		return err
	}
	return fmt.Errorf("unknown tool %q; available tools: %v", c.Tool, names(l))
}
