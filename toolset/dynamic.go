// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"

	"github.com/ponte-go/ponte/internal/errs"
)

// PerRun returns a toolset that is built at the start of each run, for example from the run's deps. If build returns nil,
// there are no tools.
func PerRun[D any](name string, build func(ctx context.Context, run *RunContext[D]) (Toolset[D], error)) Toolset[D] {
	if build == nil {
		return broken[D](name, "PerRun: the function is nil")
	}
	return &perRun[D]{name, build}
}

type perRun[D any] struct {
	name  string
	build func(ctx context.Context, run *RunContext[D]) (Toolset[D], error)
}

func (p *perRun[D]) Name() string { return p.name }

func (p *perRun[D]) Open(ctx context.Context, run *RunContext[D]) (Instance[D], error) {
	set, err := p.build(ctx, run)
	if err != nil {
		return nil, errs.Errorf("build: %w", err)
	}
	if set == nil {
		return &static[D]{name: p.name}, nil
	}
	return set.Open(ctx, run)
}

// PerStep returns a toolset that is built before each request to the model. The open instance is kept while build returns
// the same toolset. When build returns another one, the old instance is closed before the new one is opened. If build
// returns nil, there are no tools.
//
// Build should choose among toolsets made in advance. Tools that are new in every step cost work and defeat the
// provider's prompt cache.
func PerStep[D any](name string, build func(ctx context.Context, run *RunContext[D]) (Toolset[D], error)) Toolset[D] {
	if build == nil {
		return broken[D](name, "PerStep: the function is nil")
	}
	return &perStep[D]{name, build}
}

type perStep[D any] struct {
	name  string
	build func(ctx context.Context, run *RunContext[D]) (Toolset[D], error)
}

func (p *perStep[D]) Name() string { return p.name }

func (p *perStep[D]) Open(context.Context, *RunContext[D]) (Instance[D], error) {
	return &perStepInstance[D]{perStep: p}, nil
}

type perStepInstance[D any] struct {
	*perStep[D]
	set      Toolset[D]
	instance Instance[D] // nil if there is no toolset
	closeErr error       // of replaced instances
}

func (in *perStepInstance[D]) Tools(ctx context.Context, run *RunContext[D]) (Listing[D], error) {
	set, err := in.build(ctx, run)
	if err != nil {
		return Listing[D]{}, errs.Errorf("build: %w", err)
	}
	if !identical(set, in.set) {
		// Close the old instance first, because the new one may need what it holds.
		if err := in.closeCurrent(context.WithoutCancel(ctx)); err != nil {
			in.closeErr = errors.Join(in.closeErr, err)
		}
		if set != nil {
			instance, err := set.Open(ctx, run)
			if err != nil {
				return Listing[D]{}, errs.Errorf("open toolset %q: %w", set.Name(), err)
			}
			in.set, in.instance = set, instance
		}
	}
	if in.instance == nil {
		return Listing[D]{}, nil
	}
	return in.instance.Tools(ctx, run)
}

// Close also returns the errors of instances that were closed earlier.
func (in *perStepInstance[D]) Close(ctx context.Context) error {
	return errors.Join(in.closeErr, in.closeCurrent(ctx))
}

func (in *perStepInstance[D]) closeCurrent(ctx context.Context) error {
	instance := in.instance
	if instance == nil {
		return nil
	}
	name := in.set.Name()
	in.set, in.instance = nil, nil
	if err := instance.Close(ctx); err != nil {
		return errs.Errorf("close toolset %q: %w", name, err)
	}
	return nil
}

// identical reports whether two toolsets are the same value. Toolsets of types that Go cannot compare are never the same:
// comparing them panics.
func identical[D any](a, b Toolset[D]) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}
