// SPDX-License-Identifier: Apache-2.0

package toolsettest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ponte-go/ponte/toolset"
)

// Rules about runs: opening, closing, cancellation and concurrency.

func (s *suite[D]) isolation(ctx context.Context) error {
	set := s.make()
	first, err := s.open(ctx, set, "first")
	if err != nil {
		return err
	}
	second, err := s.open(ctx, set, "second")
	if err != nil {
		return errors.Join(err, first.close(ctx))
	}
	_, err = first.step(ctx)
	err = errors.Join(err, first.close(ctx))
	l, listErr := second.step(ctx)
	if listErr != nil {
		listErr = fmt.Errorf("after another run was closed: %w", listErr)
		return errors.Join(err, listErr, second.close(ctx))
	}
	for _, c := range s.cases {
		if callErr := second.call(ctx, l, c); callErr != nil {
			err = errors.Join(err, fmt.Errorf("after another run was closed: call of %q: %w", c.Tool, callErr))
		}
	}
	return errors.Join(err, second.close(ctx))
}

func (s *suite[D]) endsEarly(ctx context.Context) error {
	set := s.make()
	run, err := s.open(ctx, set, "run")
	if err != nil {
		return err
	}
	if err := run.close(ctx); err != nil {
		return fmt.Errorf("before its first step: %w", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	if run, err = s.open(cancelled, set, "run"); err != nil {
		return err
	}
	cancel()
	_, _ = run.step(cancelled)
	if err := run.close(cancelled); err != nil {
		return fmt.Errorf("after it was cancelled: %w", err)
	}
	if run, err = s.open(ctx, set, "run"); err != nil {
		return fmt.Errorf("the next run: %w", err)
	}
	return run.close(ctx)
}

func (s *suite[D]) cancelled(ctx context.Context) error {
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	errs := []error{inTime("Open", func() error {
		if run, err := s.open(cancelled, s.make(), "run"); err == nil {
			return run.close(ctx)
		}
		return nil
	})}
	run, err := s.open(ctx, s.make(), "run")
	if err != nil {
		return err
	}
	l, err := run.step(ctx)
	errs = append(errs, err, inTime("Tools", func() error {
		_, _ = run.instance.Tools(cancelled, run.run)
		return nil
	}))
	for _, c := range s.cases {
		errs = append(errs, inTime("a call of "+c.Tool, func() error {
			_ = run.call(cancelled, l, c)
			return nil
		}))
	}
	return errors.Join(append(errs, run.close(ctx))...)
}

// inTime runs a function that must not block. If it blocks, its goroutine is leaked, but the test fails anyway.
func inTime(what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%s blocks after its context is done", what)
	}
}

func (s *suite[D]) accepts(ctx context.Context) error {
	return s.within(ctx, func(run *session[D], l toolset.Listing[D]) error {
		var errs []error
		for _, c := range s.cases {
			if err := run.call(ctx, l, c); err != nil {
				errs = append(errs, fmt.Errorf("call of %q with %s: %w", c.Tool, c.Args, err))
			}
		}
		return errors.Join(errs...)
	})
}

func (s *suite[D]) concurrent(ctx context.Context) error {
	const runs, steps = 8, 3
	set := s.make()
	errs := make([]error, runs)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() { errs[i] = s.wholeRun(ctx, set, fmt.Sprint("run", i), steps) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// wholeRun makes a run with parallel calls.
func (s *suite[D]) wholeRun(ctx context.Context, set toolset.Toolset[D], id string, steps int) (err error) {
	run, err := s.open(ctx, set, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.close(ctx)) }()
	for range steps {
		l, err := run.step(ctx)
		if err != nil {
			return err
		}
		errs := make([]error, len(s.cases))
		var wg sync.WaitGroup
		for i, c := range s.cases {
			wg.Go(func() { errs[i] = run.call(ctx, l, c) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}
