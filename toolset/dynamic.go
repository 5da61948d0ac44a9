// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"fmt"
)

// PerRun makes a toolset that is built at the beginning of each run, for example from what is in its deps. Nil stands for
// no tools.
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
		return nil, fmt.Errorf("build: %w", err)
	}
	if set == nil {
		return &static[D]{name: p.name}, nil
	}
	return set.Open(ctx, run)
}

// PerStep makes a toolset that is built anew before each request to the model. While build returns the same toolset, the
// instance that was opened for it stays; when it returns another one the old instance is closed and the new one opened. Nil
// stands for no tools.
//
// Make the toolsets that build chooses from beforehand: tools that are new in each step cost a step of work and defeat a
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
	closeErr error       // of those that were replaced
}

func (in *perStepInstance[D]) Tools(ctx context.Context, run *RunContext[D]) (Listing[D], error) {
	set, err := in.build(ctx, run)
	if err != nil {
		return Listing[D]{}, fmt.Errorf("build: %w", err)
	}
	if !identical(set, in.set) {
		// Closed first, so that the new one may have what the old one holds.
		if err := in.closeCurrent(context.WithoutCancel(ctx)); err != nil {
			in.closeErr = errors.Join(in.closeErr, err)
		}
		if set != nil {
			instance, err := set.Open(ctx, run)
			if err != nil {
				return Listing[D]{}, fmt.Errorf("open toolset %q: %w", set.Name(), err)
			}
			in.set, in.instance = set, instance
		}
	}
	if in.instance == nil {
		return Listing[D]{}, nil
	}
	return in.instance.Tools(ctx, run)
}

// Close also returns the errors of the instances that were closed before.
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
		return fmt.Errorf("close toolset %q: %w", name, err)
	}
	return nil
}

// identical compares toolsets of any type. Those that Go cannot compare, for which it panics, are never the same.
func identical[D any](a, b Toolset[D]) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}
